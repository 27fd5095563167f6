// RUN: rondo-opt %s | rondo-opt | FileCheck %s
// Stages that recompute, in the language.

pipe.cluster @lab { pipe.device @d0 pipe.device @d1 }
pipe.model @gpt gpt<vocab = 16, sequence = 4, hidden = 8, heads = 2, ffn = 16, batch = 4> {
  pipe.layer @wte embedding
  pipe.layer @h0 block
  pipe.layer @h1 block
  pipe.layer @lm_head head
}
// CHECK-LABEL: pipe.plan @step
pipe.plan @step of @gpt on @lab microbatches(2) {
  // CHECK-NEXT: pipe.stage @s0 [@wte, @h0] on 0 recompute{{$}}
  pipe.stage @s0 [@wte, @h0] on 0 recompute
  // CHECK-NEXT: pipe.stage @s1 [@h1, @lm_head] on 1 recompute [@h1] from [@s0] costs<forward_ns = 1, input_grad_ns = 1, weight_grad_ns = 1, activation_bytes = 8, input_grad_frees_bytes = 2, output_bytes = 0, recompute_ns = 1, recomputed_bytes = 6, checkpoint_bytes = 2> buffers<checkpoints = 64, recomputed_for_input_grad = 64, recomputed_for_weight_grad = 64>
  pipe.stage @s1 [@h1, @lm_head] on 1 recompute [@h1] from [@s0]
      costs<forward_ns = 1, input_grad_ns = 1, weight_grad_ns = 1, activation_bytes = 8, input_grad_frees_bytes = 2,
            output_bytes = 0, recompute_ns = 1, recomputed_bytes = 6, checkpoint_bytes = 2>
      buffers<checkpoints = 64, recomputed_for_input_grad = 64, recomputed_for_weight_grad = 64>
}
// CHECK-LABEL: pipe.schedule @mine
pipe.schedule @mine of @step {
  pipe.rank 0 {
    // CHECK: pipe.for %[[I:.*]] = 0 to 2 {
    pipe.for %i = 0 to 2 {
      pipe.forward @s0[%i]
      // CHECK: pipe.recompute @s0[%[[I]]]
      pipe.recompute @s0[%i]
      pipe.backward @s0[%i]
    }
  }
  pipe.rank 1 {
    pipe.forward @s1[0]
    // CHECK: pipe.recompute @s1[0]
    pipe.recompute @s1[0]
    pipe.backward @s1[0]
    pipe.forward @s1[1]
    pipe.recompute @s1[1]
    pipe.backward @s1[1]
  }
}
