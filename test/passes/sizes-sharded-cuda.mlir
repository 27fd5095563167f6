// Buffers of stages sharded on GPUs, checked by hand: fp32 shards, and the copies
// in bf16 after the gathered weights. 656 weights of a block are 2624 bytes in
// fp32, and their copies 1344; layers that are synthetic have none.
// RUN: rondo-opt %s --pipe-schedule | FileCheck %s

pipe.cluster @lab link<latency_ns = 10, bytes_per_us = 1000> { pipe.device @d0 pipe.device @d1 pipe.device @d2 pipe.device @d3 pipe.device @d4 }
pipe.model @gpt gpt<vocab = 16, sequence = 4, hidden = 8, heads = 2, ffn = 16, batch = 6, tied = true> {
  pipe.layer @wte embedding
  pipe.layer @h0 block
  pipe.layer @lm_head head
}

// Three shards of 224 elements, 219 rounded up to 32: 896 bytes.
// CHECK: pipe.plan @bf16
// CHECK: pipe.stage @s0
// CHECK: pipe.stage @s1
// CHECK-SAME: sharded<weights>
// CHECK-SAME: buffers[<weights = 896, gradients = 896, moments = 1792
// CHECK-SAME: gathered_weights = 4032, unreduced_gradients = 2688>
// CHECK: pipe.stage @s2
pipe.plan @bf16 of @gpt on @lab microbatches(2) target<cuda, bf16> {
  pipe.stage @s0 [@wte] on 3
  pipe.stage @s1 [@h0] on [0, 1, 2] sharded<weights>
  pipe.stage @s2 [@lm_head] on 4
}
pipe.schedule @half of @bf16 family<"1f1b">

// CHECK: pipe.plan @fp32
// CHECK: pipe.stage @s1
// CHECK-SAME: buffers[<weights = 896, gradients = 896, moments = 1792
// CHECK-SAME: gathered_weights = 2688, unreduced_gradients = 2688>
pipe.plan @fp32 of @gpt on @lab microbatches(2) target<cuda, fp32> {
  pipe.stage @s0 [@wte] on 3
  pipe.stage @s1 [@h0] on [0, 1, 2] sharded<weights>
  pipe.stage @s2 [@lm_head] on 4
}
pipe.schedule @full of @fp32 family<"1f1b">

// CHECK: pipe.plan @toy
// CHECK: pipe.stage @s0
// CHECK-SAME: gathered_weights = 256, unreduced_gradients = 256>
pipe.model @plain { pipe.layer @l0 synthetic<forward_ns = 2, input_grad_ns = 2, weight_grad_ns = 2, weight_bytes = 256> }
pipe.plan @toy of @plain on @lab microbatches(2) samples(2) target<cuda, bf16> {
  pipe.stage @s0 [@l0] on [0, 1] sharded<weights>
}
pipe.schedule @small of @toy family<"gpipe">
