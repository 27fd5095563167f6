// Costs and buffers of stages come from their layers and devices; a stage's own
// figures are kept.
// RUN: rondo-opt %s --pipe-resolve-stages | FileCheck %s

pipe.cluster @lab {
  pipe.device @slow <flops_per_us = 1000>
  pipe.device @fast <flops_per_us = 4000>
  pipe.device @unknown
}

// Floating-point operations of one micro-batch: the blocks are alike, so their
// times follow their devices' speeds. A device without a figure does 10,000
// operations per microsecond.
pipe.model @gpt gpt<vocab = 16, sequence = 4, hidden = 8, heads = 2, ffn = 16, batch = 1, tied = true> {
  pipe.layer @wte embedding
  pipe.layer @h0 block
  pipe.layer @h1 block
  pipe.layer @h2 block costs<forward_ns = 11, input_grad_ns = 22, weight_grad_ns = 33>
  pipe.layer @lm_head head
}
pipe.plan @estimated of @gpt on @lab microbatches(2) {
  pipe.stage @s0 [@wte, @h0] on 0
  pipe.stage @s1 [@h1] on 1
  pipe.stage @s2 [@h2] on 0
  pipe.stage @s3 [@lm_head] on 2
}

pipe.model @timed {
  pipe.layer @l0 synthetic<forward_ns = 3, input_grad_ns = 4, weight_grad_ns = 2, activation_bytes = 100, input_grad_frees_bytes = 60, output_bytes = 7, weight_bytes = 1000>
  pipe.layer @l1 synthetic<forward_ns = 30, input_grad_ns = 40, weight_grad_ns = 20, activation_bytes = 200, output_bytes = 9>
  pipe.layer @l2 synthetic<forward_ns = 1, input_grad_ns = 1, weight_grad_ns = 1>
}
pipe.plan @summed of @timed on @lab microbatches(2) {
  pipe.stage @s0 [@l0, @l1] on 0
  pipe.stage @s1 [@l2] on 1 costs<forward_ns = 5, input_grad_ns = 6, weight_grad_ns = 7, activation_bytes = 8, input_grad_frees_bytes = 1, output_bytes = 0>
}

// CHECK-LABEL: pipe.plan @estimated
// CHECK-NEXT: pipe.stage @s0 [@wte, @h0] on 0
// CHECK-SAME: costs<forward_ns = 4448, input_grad_ns = 4896, weight_grad_ns = 4160, activation_bytes = 2048, input_grad_frees_bytes = 192, output_bytes = 128>
// The first stage reads data, sends outputs and receives their gradients.
// CHECK-SAME: buffers<weights = 3264, gradients = 3264, moments = 6528, control = 320, data = 64, workspace = 704, output = 128, output_grad = 128, saved_for_input_grad = 192, saved_for_weight_grad = 1856>
// A block alone: its matrices take 4096 operations in each direction, causal
// attention 320 forward and 800 backward; 4 operations per ns.
// CHECK-NEXT: pipe.stage @s1 [@h1] on 1
// CHECK-SAME: costs<forward_ns = 1104, input_grad_ns = 1224, weight_grad_ns = 1024,
// A layer's measured times take precedence over an estimate.
// CHECK-NEXT: pipe.stage @s2 [@h2] on 0
// CHECK-SAME: costs<forward_ns = 11, input_grad_ns = 22, weight_grad_ns = 33, activation_bytes = 1856,
// CHECK-NEXT: pipe.stage @s3 [@lm_head] on 2
// CHECK-SAME: costs<forward_ns = 102, input_grad_ns = 102, weight_grad_ns = 102,
// The last stage has the targets as data, and sends only gradients.
// CHECK-SAME: data = 64, workspace = 128, input = 128, input_grad = 128,

// Times and activations of layers add up, the output is the last layer's;
// buffers are multiples of 64 bytes.
// CHECK-LABEL: pipe.plan @summed
// CHECK-NEXT: pipe.stage @s0 [@l0, @l1] on 0
// CHECK-SAME: costs<forward_ns = 33, input_grad_ns = 44, weight_grad_ns = 22, activation_bytes = 300, input_grad_frees_bytes = 60, output_bytes = 9>
// CHECK-SAME: weights = 1024,
// CHECK-SAME: output = 64, output_grad = 64, saved_for_input_grad = 64, saved_for_weight_grad = 320>
// Own costs are kept, buffers are filled in.
// CHECK-NEXT: pipe.stage @s1 [@l2] on 1
// CHECK-SAME: costs<forward_ns = 5, input_grad_ns = 6, weight_grad_ns = 7, activation_bytes = 8, input_grad_frees_bytes = 1, output_bytes = 0>
// CHECK-SAME: buffers<control = 192, input = 64, input_grad = 64>
