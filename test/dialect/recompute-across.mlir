// RUN: rondo-opt %s | rondo-opt | FileCheck %s
// Stages whose R begins with what the R of others makes, in the language.

pipe.cluster @lab { pipe.device @d0 pipe.device @d1 }
pipe.model @gpt gpt<vocab = 16, sequence = 4, hidden = 8, heads = 2, ffn = 16, batch = 4> {
  pipe.layer @wte embedding
  pipe.layer @h0 block
  pipe.layer @h1 block
  pipe.layer @lm_head head
}
// CHECK-LABEL: pipe.plan @step
pipe.plan @step of @gpt on @lab microbatches(2) {
  // CHECK-NEXT: pipe.stage @s0 [@wte, @h0] on 0 recompute buffers<recomputed_output = 64>
  pipe.stage @s0 [@wte, @h0] on 0 recompute buffers<recomputed_output = 64>
  // CHECK-NEXT: pipe.stage @s1 [@h1, @lm_head] on 1 recompute across from [@s0] buffers<recomputed_input = 64>
  pipe.stage @s1 [@h1, @lm_head] on 1 recompute across from [@s0] buffers<recomputed_input = 64>
}
// CHECK-LABEL: pipe.schedule @mine of @step versions<forward = live, backward = extrapolated, activations = extrapolated>
pipe.schedule @mine of @step versions<forward = live, backward = extrapolated, activations = extrapolated> {
  pipe.rank 0 {
    pipe.repeat %t {
      pipe.for %i = 0 to 2 { pipe.forward @s0[%t * 2 + %i] }
      pipe.for %i = 0 to 2 {
        pipe.recompute @s0[%t * 2 + %i]
        pipe.backward @s0[%t * 2 + %i]
      }
      pipe.step @s0[%t]
    }
  }
  pipe.rank 1 {
    pipe.repeat %t {
      pipe.for %i = 0 to 2 {
        pipe.forward @s1[%t * 2 + %i]
        pipe.recompute @s1[%t * 2 + %i]
        pipe.backward @s1[%t * 2 + %i]
      }
      pipe.step @s1[%t]
    }
  }
}
