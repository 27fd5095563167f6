// Buffers and arenas of a plan for GPUs in bf16, checked by hand. Regions are
// multiples of 64 bytes; a token's 8 numbers in bf16 take 16 bytes, the 4 tokens
// of a micro-batch 64.
// RUN: rondo-opt %s --pipe-schedule --pipe-lower | FileCheck %s

pipe.cluster @lab { pipe.device @d0 pipe.device @d1 pipe.device @d2 }
pipe.model @gpt gpt<vocab = 16, sequence = 4, hidden = 8, heads = 2, ffn = 16, batch = 1, tied = true> {
  pipe.layer @wte embedding
  pipe.layer @h0 block
  pipe.layer @lm_head head
}
pipe.plan @step of @gpt on @lab microbatches(1) target<cuda, bf16> {
  pipe.stage @s0 [@wte] on 0
  pipe.stage @s1 [@h0] on 1
  pipe.stage @s2 [@lm_head] on 2
}
pipe.schedule @main of @step family<"1f1b">

// 160 weights: fp32 masters and bf16 copies, 640 + 320 bytes. Gradients and the
// two moments are fp32. Saved: 4 tokens of 4 bytes, and the output's gradient.
// CHECK: pipe.stage @s0
// CHECK-SAME: activation_bytes = 128,
// CHECK-SAME: output_bytes = 64>
// CHECK-SAME: buffers<weights = 960, gradients = 640, moments = 1280, control = 192, data = 64, output = 64, output_grad = 64, saved_for_weight_grad = 128>

// 656 weights, 2624 + 1312 bytes, the copies rounded up to 1344. Saved for I: 4
// scales of each norm and 8 sums of attention, 64 bytes each. For W: two norms,
// attention and two gradients of 64, q, k and v of 192, two of 128 at the width
// of the MLP, and 192 of vectors' gradients. Workspace: 6144 for cuBLASLt (16
// partial results of 4 x 24 numbers) and 192 for its alignment to 256, 128 at the
// width of the MLP, 64 of q's gradient, 64 of row sums, 192 of partial sums.
// CHECK: pipe.stage @s1
// CHECK-SAME: buffers<weights = 3968, gradients = 2624, moments = 5248, control = 192, workspace = 6784, input = 64, output = 64, output_grad = 64, input_grad = 64, saved_for_input_grad = 192, saved_for_weight_grad = 960>

// Rows of logits are padded to 64: 4 of them take 512 bytes in bf16.
// CHECK: pipe.stage @s2
// CHECK-SAME: buffers<weights = 960, gradients = 640, moments = 1280, control = 256, data = 64, workspace = 2432, input = 64, input_grad = 64, saved_for_input_grad = 64, saved_for_weight_grad = 640>

// State, then slots. Rank 0: 960 + 640 + 1280 + 192 + 64, output and gradient
// 128, saved 128. Rank 1: 3968 + 2624 + 5248 + 192 + 6784, three messages at
// once 192, saved 192 + 960. Rank 2: 960 + 640 + 1280 + 256 + 64 + 2432, two
// slots of 64 for input, its gradient and what I needs, saved 640. Each has 512
// more for what collectives receive and add: the 16 values of the norm from each
// of three ranks and once more, 8 bytes each; the tied weight takes less.
// CHECK: pipe.program @main_lowered of @main pipeline arena [3904, 20672, 6912]
