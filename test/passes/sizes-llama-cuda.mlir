// Buffers of a Llama's block on GPUs in bf16, checked by hand. Regions are
// multiples of 64 bytes; a token's 8 numbers in bf16 take 16 bytes, the 4 tokens
// of a micro-batch 64.
// RUN: rondo-opt %s --pipe-schedule --pipe-lower | FileCheck %s

pipe.cluster @lab { pipe.device @d0 pipe.device @d1 pipe.device @d2 }
pipe.model @llama llama<vocab = 16, sequence = 4, hidden = 8, heads = 2, kv_heads = 1, ffn = 16, batch = 1, tied = true,
                        qkv_bias = true, head_norm = true> {
  pipe.layer @embed_tokens embedding
  pipe.layer @model.layers.0 block
  pipe.layer @lm_head head
}
pipe.plan @step of @llama on @lab microbatches(1) target<cuda, bf16> {
  pipe.stage @s0 [@embed_tokens] on 0
  pipe.stage @s1 [@model.layers.0] on 1
  pipe.stage @s2 [@lm_head] on 2
}
pipe.schedule @main of @step family<"1f1b">

// No positions: 128 weights, 512 bytes and copies of 256.
// CHECK: pipe.stage @s0
// CHECK-SAME: buffers<weights = 768, gradients = 512,

// 688 weights, 2752 bytes, the copies rounded up to 1408. Saved for I: 4 scales
// of each norm and 8 sums of attention, 64 bytes each, 12 heads of 4 numbers in
// 128 and their scales in 64. For W: two norms, attention and two gradients of
// 64; q, k and v at columns 0, 8 and 16 of 24, 192; gate and up 256, their product
// 128; 24 gradients of gains 128. Workspace: 8192 for cuBLASLt (16 partial results
// of 4 x 32 numbers) and 192 for its alignment to 256, 128 at the width of the
// MLP, 64 of q's gradient, 64 of row sums, 64 of partial sums.
// CHECK: pipe.stage @s1
// CHECK-SAME: buffers<weights = 4160, gradients = 2752, moments = 5504, control = 192, workspace = 8704, input = 64, output = 64, output_grad = 64, input_grad = 64, saved_for_input_grad = 384, saved_for_weight_grad = 1024>

// The norm has no bias: 16 weights of it and 128 of the vocabulary.
// CHECK: pipe.stage @s2
// CHECK-SAME: buffers<weights = 896, gradients = 576, moments = 1152, control = 256, data = 64, workspace = 2432, input = 64, input_grad = 64, saved_for_input_grad = 64, saved_for_weight_grad = 640>
