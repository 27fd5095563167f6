// RUN: rondo-opt %s --pipe-resolve-stages | FileCheck %s

// Times of two sizes: those of others lie on the line between them.

// CHECK: pipe.layer @h0 block costs<samples = [2, 8], forward_ns = [1000, 2800], input_grad_ns = [2000, 8000], weight_grad_ns = [500, 400]>
pipe.model @gpt gpt<vocab = 16, sequence = 8, hidden = 8, heads = 2, ffn = 32, batch = 4, tied = false> {
  pipe.layer @wte embedding costs<forward_ns = 400, weight_grad_ns = 800>
  pipe.layer @h0 block costs<samples = [2, 8], forward_ns = [1000, 2800], input_grad_ns = [2000, 8000], weight_grad_ns = [500, 400]>
  pipe.layer @h1 head costs<forward_ns = 0>
}
pipe.cluster @machine {
  pipe.device @r0
  pipe.device @r1
}

// CHECK-LABEL: pipe.plan @between
// CHECK-NEXT: pipe.stage @s0 {{.*}} costs<forward_ns = 1900, input_grad_ns = 5000, weight_grad_ns = 450,
pipe.plan @between of @gpt on @machine microbatches(2) samples(5) {
  pipe.stage @s0 [@h0] on 0
  pipe.stage @s1 [@h1] on 1
}

// A smaller task takes no more than the smallest and no less than its part.
// CHECK-LABEL: pipe.plan @below
// CHECK-NEXT: pipe.stage @s0 {{.*}} costs<forward_ns = 700, input_grad_ns = 1000, weight_grad_ns = 500,
pipe.plan @below of @gpt on @machine microbatches(2) samples(1) {
  pipe.stage @s0 [@h0] on 0
  pipe.stage @s1 [@h1] on 1
}

// A larger one takes no less than the largest.
// CHECK-LABEL: pipe.plan @above
// CHECK-NEXT: pipe.stage @s0 {{.*}} costs<forward_ns = 5200, input_grad_ns = 16000, weight_grad_ns = 400,
pipe.plan @above of @gpt on @machine microbatches(2) samples(16) {
  pipe.stage @s0 [@h0] on 0
  pipe.stage @s1 [@h1] on 1
}

// Two devices share the samples: each takes as long as for four. Times of one
// size are in proportion.
// CHECK-LABEL: pipe.plan @shared
// CHECK-NEXT: pipe.stage @s0 {{.*}} costs<forward_ns = 4000, input_grad_ns = 8000, weight_grad_ns = 2534,
pipe.plan @shared of @gpt on @machine microbatches(2) samples(8) {
  pipe.stage @s0 [@wte, @h0, @h1] on [0, 1]
}

// Times of one stated size are in proportion to it.
pipe.model @once gpt<vocab = 16, sequence = 8, hidden = 8, heads = 2, ffn = 32, batch = 4, tied = false> {
  pipe.layer @wte embedding costs<forward_ns = 400, weight_grad_ns = 800>
  pipe.layer @h0 block costs<samples = [2], forward_ns = [1000], input_grad_ns = [2000], weight_grad_ns = [500]>
  pipe.layer @h1 head costs<forward_ns = 0>
}
// CHECK-LABEL: pipe.plan @proportion
// CHECK-NEXT: pipe.stage @s0 {{.*}} costs<forward_ns = 3000, input_grad_ns = 6000, weight_grad_ns = 1500,
pipe.plan @proportion of @once on @machine microbatches(2) samples(6) {
  pipe.stage @s0 [@h0] on 0
  pipe.stage @s1 [@h1] on 1
}
