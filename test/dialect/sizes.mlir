// A custom layer with a list of sizes, and one number that holds for all.

// RUN: rondo-opt %s -verify-roundtrip | FileCheck %s

// CHECK: pipe.layer @own custom<body = "own", samples = [1, 2, 4], by_sample = true, weight_bytes = 64,
// CHECK-SAME: saved_for_weight_grad_bytes = [64, 128, 256], output_bytes = [128, 256, 512], workspace_bytes = 64>
pipe.model @gpt gpt<vocab = 16, sequence = 4, hidden = 8, heads = 2, ffn = 16, batch = 4> {
  pipe.layer @wte embedding
  pipe.layer @own custom<body = "own", weight_bytes = 64, by_sample = true, samples = [1, 2, 4],
      saved_for_weight_grad_bytes = [64, 128, 256], output_bytes = [128, 256, 512], workspace_bytes = [64]>
  pipe.layer @lm_head head
}
