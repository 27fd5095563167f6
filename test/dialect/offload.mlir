// RUN: rondo-opt %s | rondo-opt | FileCheck %s
// Stages whose activations may leave, links to hosts, and copies in orders.

// CHECK-LABEL: pipe.cluster @lab
pipe.cluster @lab {
  // CHECK-NEXT: pipe.device @d0 <memory_bytes = 100000, host_link = <latency_ns = 10, bytes_per_us = 24000>, host_memory_bytes = 4096>
  pipe.device @d0 <memory_bytes = 100000, host_link = <latency_ns = 10, bytes_per_us = 24000>, host_memory_bytes = 4096>
  // CHECK-NEXT: pipe.device @d1 <host_link = <bytes_per_us = 8000, duplex = half>>
  pipe.device @d1 <host_link = <duplex = half, bytes_per_us = 8000>>
  // CHECK-NEXT: pipe.host_link [@d0, @d1] <bytes_per_us = 20000, duplex = half>
  pipe.host_link [@d0, @d1] <bytes_per_us = 20000, duplex = half>
}
pipe.model @gpt gpt<vocab = 16, sequence = 4, hidden = 8, heads = 2, ffn = 16, batch = 4> {
  pipe.layer @wte embedding
  pipe.layer @h0 block
  pipe.layer @h1 block
  pipe.layer @lm_head head
}
// CHECK-LABEL: pipe.plan @step
pipe.plan @step of @gpt on @lab microbatches(2) {
  // CHECK-NEXT: pipe.stage @s0 [@wte, @h0] on 0 offload{{$}}
  pipe.stage @s0 [@wte, @h0] on 0 offload before(input_grad)
  // CHECK-NEXT: pipe.stage @s1 [@h1, @lm_head] on 1 recompute [@lm_head] offload [@h1] from [@s0] costs<forward_ns = 1, input_grad_ns = 1, weight_grad_ns = 1, activation_bytes = 8, input_grad_frees_bytes = 2, output_bytes = 0, offload_bytes = 4> buffers<offloaded_for_input_grad = 64, loaded_for_input_grad = 64, on_host = 64>
  pipe.stage @s1 [@h1, @lm_head] on 1 recompute [@lm_head] offload [@h1] from [@s0]
      costs<forward_ns = 1, input_grad_ns = 1, weight_grad_ns = 1, activation_bytes = 8, input_grad_frees_bytes = 2,
            output_bytes = 0, offload_bytes = 4>
      buffers<offloaded_for_input_grad = 64, loaded_for_input_grad = 64, on_host = 64>
}
// Parts of what layers save; what W alone reads; checkpoints.
// CHECK-LABEL: pipe.plan @parts
pipe.plan @parts of @gpt on @lab microbatches(2) {
  // CHECK-NEXT: pipe.stage @s0 [@wte, @h0] on 0 offload [@wte, @h0.qkv, @h0.saved_for_input_grad]{{$}}
  pipe.stage @s0 [@wte, @h0] on 0 offload [@wte, @h0.qkv, @h0.saved_for_input_grad]
  // CHECK-NEXT: pipe.stage @s1 [@h1, @lm_head] on 1 offload [@h1.activation] before(weight_grad){{$}}
  pipe.stage @s1 [@h1, @lm_head] on 1 offload [@h1.activation] before(weight_grad)
}
// Named parts of a custom layer.
// CHECK-LABEL: pipe.model @custom
pipe.model @custom gpt<vocab = 16, sequence = 4, hidden = 8, heads = 2, ffn = 16, batch = 4> {
  pipe.layer @wte embedding
  pipe.layer @mlp custom<body = "mlp", output_bytes = 512,
                         saved = [part<name = "x", bytes = 64, read_by = weight_grad>, part<name = "mid.u", bytes = 64>]>
  pipe.layer @lm_head head
}
// CHECK-LABEL: pipe.plan @custom_parts
pipe.plan @custom_parts of @custom on @lab microbatches(2) {
  // CHECK-NEXT: pipe.stage @s0 [@wte] on 0{{$}}
  pipe.stage @s0 [@wte] on 0
  // CHECK-NEXT: pipe.stage @s1 [@mlp, @lm_head] on 1 offload [@mlp.mid.u, @mlp.x, @lm_head.logits]{{$}}
  pipe.stage @s1 [@mlp, @lm_head] on 1 offload [@mlp.mid.u, @mlp.x, @lm_head.logits]
}
// CHECK-LABEL: pipe.plan @checkpoints
pipe.plan @checkpoints of @gpt on @lab microbatches(2) {
  // CHECK-NEXT: pipe.stage @s0 [@wte, @h0] on 0 offload before(weight_grad){{$}}
  pipe.stage @s0 [@wte, @h0] on 0 offload before(weight_grad)
  // CHECK-NEXT: pipe.stage @s1 [@h1, @lm_head] on 1 recompute offload before(recompute){{$}}
  pipe.stage @s1 [@h1, @lm_head] on 1 recompute offload before(recompute)
}
// CHECK-LABEL: pipe.schedule @mine
pipe.schedule @mine of @step {
  pipe.rank 0 {
    // CHECK: pipe.for %[[I:.*]] = 0 to 2 {
    pipe.for %i = 0 to 2 {
      pipe.forward @s0[%i]
      // CHECK: pipe.save @s0[%[[I]]]
      pipe.save @s0[%i]
      // CHECK-NEXT: pipe.load @s0[%[[I]]]
      pipe.load @s0[%i]
      pipe.backward @s0[%i]
    }
  }
  pipe.rank 1 {
    pipe.for %i = 0 to 2 {
      pipe.forward @s1[%i]
      pipe.recompute @s1[%i]
      pipe.backward @s1[%i]
    }
  }
}
// CHECK-LABEL: pipe.model @timed
pipe.model @timed {
  pipe.layer @l0 synthetic<forward_ns = 1, input_grad_ns = 1, weight_grad_ns = 1>
  pipe.layer @l1 synthetic<forward_ns = 1, input_grad_ns = 1, weight_grad_ns = 1>
}
// CHECK-LABEL: pipe.plan @late
pipe.plan @late of @timed on @lab microbatches(2) {
  // CHECK-NEXT: pipe.stage @s0 [@l0] on 0 offload before(weight_grad)
  pipe.stage @s0 [@l0] on 0 offload before(weight_grad)
  // CHECK-NEXT: pipe.stage @s1 [@l1] on 1 recompute offload before(recompute)
  pipe.stage @s1 [@l1] on 1 recompute offload before(recompute)
}
// Families with copies.
// CHECK: pipe.schedule @fit of @step family<"1f1b", offload = fit>
pipe.schedule @fit of @step family<"1f1b", offload = fit>
// CHECK: pipe.schedule @first of @step family<"kfkb", k = 2, offload = all, offload_chunks = 1>
pipe.schedule @first of @step family<"kfkb", k = 2, offload = all, offload_chunks = 1>
