// RUN: rondo-opt %s --pipe-schedule --split-input-file --verify-diagnostics

pipe.cluster @lab {
  // expected-error @+1 {{bytes_per_us of host_link is -1; the minimum is 0}}
  pipe.device @d0 <host_link = <bytes_per_us = -1>>
}

// -----

pipe.cluster @lab {
  // expected-error @+1 {{host_memory_bytes is -1; the minimum is 0}}
  pipe.device @d0 <host_memory_bytes = -1>
}

// -----

pipe.cluster @lab {
  // expected-error @+1 {{expected one of full, half, not 'both'}}
  pipe.device @d0 <host_link = <bytes_per_us = 1, duplex = both>>
}

// -----

pipe.cluster @lab {
  pipe.device @d0 <host_link = <bytes_per_us = 1>>
  // expected-error @+1 {{the host link lists device @d0 twice}}
  pipe.host_link [@d0, @d0] <bytes_per_us = 1>
}

// -----

pipe.cluster @lab {
  pipe.device @d0 <host_link = <bytes_per_us = 1>>
  // expected-note @+1 {{the other host link is here}}
  pipe.host_link [@d0] <bytes_per_us = 1>
  // expected-error @+1 {{device @d0 is on another host link already; a device is on at most one}}
  pipe.host_link [@d0] <bytes_per_us = 2>
}

// -----

pipe.cluster @lab {
  // expected-note @+1 {{device @d0 is here}}
  pipe.device @d0
  // expected-error @+1 {{device @d0 has no host_link of its own, which says how long its copies take}}
  pipe.host_link [@d0] <bytes_per_us = 1>
}

// -----

pipe.cluster @lab {
  pipe.device @d0
  // expected-error @+1 {{latency_ns is 3; a copy has the latency of its device's host_link: leave it out here}}
  pipe.host_link [@d0] <latency_ns = 3>
}

// -----

pipe.cluster @lab {
  pipe.device @d0
  // expected-error @+1 {{the host link has no devices; list those that share it}}
  pipe.host_link [] <bytes_per_us = 3>
}

// -----

// expected-note @+1 {{cluster @lab is here}}
pipe.cluster @lab {
  pipe.device @d0
  // expected-error @+1 {{device @d7 is not in cluster @lab}}
  pipe.host_link [@d7] <bytes_per_us = 3>
}

// -----

pipe.cluster @lab {
  // expected-note @+1 {{add host_link = <latency_ns = ..., bytes_per_us = ...> here}}
  pipe.device @d0
}
pipe.model @timed { pipe.layer @l0 synthetic<forward_ns = 1, input_grad_ns = 1, weight_grad_ns = 1> }
pipe.plan @step of @timed on @lab microbatches(1) {
  // expected-error @+1 {{stage @s0 offloads, but device @d0 of rank 0 has no host_link}}
  pipe.stage @s0 [@l0] on 0 offload
}

// -----

pipe.cluster @lab { pipe.device @d0 <host_link = <bytes_per_us = 1>> }
pipe.model @gpt gpt<vocab = 16, sequence = 4, hidden = 8, heads = 2, ffn = 16, batch = 4> {
  pipe.layer @wte embedding
  pipe.layer @h0 block
  pipe.layer @lm_head head
}
pipe.plan @step of @gpt on @lab microbatches(2) {
  // expected-error @+1 {{stage @s0 offloads layer @h1, which is not one of its layers}}
  pipe.stage @s0 [@wte, @h0, @lm_head] on 0 offload [@h1]
}

// -----

pipe.cluster @lab { pipe.device @d0 <host_link = <bytes_per_us = 1>> }
pipe.model @gpt gpt<vocab = 16, sequence = 4, hidden = 8, heads = 2, ffn = 16, batch = 4> {
  pipe.layer @wte embedding
  // expected-note @+1 {{layer @h0 is here}}
  pipe.layer @h0 block
  pipe.layer @lm_head head
}
pipe.plan @part of @gpt on @lab microbatches(2) {
  // expected-error @+1 {{stage @s0 offloads @h0.keys, but layer @h0 saves no such part; its parts are saved_for_input_grad, saved_for_weight_grad, statistics, norm1, qkv, attention, norm2, ffn, activation, gradients}}
  pipe.stage @s0 [@wte, @h0, @lm_head] on 0 offload [@h0.keys]
}

// -----

pipe.cluster @lab { pipe.device @d0 <host_link = <bytes_per_us = 1>> }
pipe.model @timed {
  // expected-note @+1 {{layer @l0 is here}}
  pipe.layer @l0 synthetic<forward_ns = 1, input_grad_ns = 1, weight_grad_ns = 1>
}
pipe.plan @timed_part of @timed on @lab microbatches(2) {
  // expected-error @+1 {{stage @s0 offloads @l0.qkv, but layer @l0 saves no such part; its parts are saved_for_input_grad, saved_for_weight_grad}}
  pipe.stage @s0 [@l0] on 0 offload [@l0.qkv]
}

// -----

pipe.cluster @lab { pipe.device @d0 <host_link = <bytes_per_us = 1>> }
pipe.model @gpt gpt<vocab = 16, sequence = 4, hidden = 8, heads = 2, ffn = 16, batch = 4> {
  pipe.layer @wte embedding
  pipe.layer @h0 block
  pipe.layer @lm_head head
}
pipe.plan @both of @gpt on @lab microbatches(2) {
  // expected-error @+1 {{stage @s0 offloads layer @h0 and its part @h0.qkv: list the layer or its parts}}
  pipe.stage @s0 [@wte, @h0, @lm_head] on 0 offload [@h0, @h0.qkv]
}

// -----

pipe.cluster @lab { pipe.device @d0 <host_link = <bytes_per_us = 1>> }
pipe.model @gpt gpt<vocab = 16, sequence = 4, hidden = 8, heads = 2, ffn = 16, batch = 4> {
  pipe.layer @wte embedding
  pipe.layer @h0 block
  pipe.layer @lm_head head
}
pipe.plan @part_twice of @gpt on @lab microbatches(2) {
  // expected-error @+1 {{stage @s0 lists @h0.qkv twice to offload}}
  pipe.stage @s0 [@wte, @h0, @lm_head] on 0 offload [@h0.qkv, @h0.qkv]
}

// -----

pipe.cluster @lab { pipe.device @d0 <host_link = <bytes_per_us = 1>> }
pipe.model @gpt gpt<vocab = 16, sequence = 4, hidden = 8, heads = 2, ffn = 16, batch = 4> {
  pipe.layer @wte embedding
  pipe.layer @h0 block
  pipe.layer @lm_head head
}
pipe.plan @twice of @gpt on @lab microbatches(2) {
  // expected-error @+1 {{stage @s0 lists layer @h0 twice to offload}}
  pipe.stage @s0 [@wte, @h0, @lm_head] on 0 offload [@h0, @h0]
}

// -----

pipe.cluster @lab { pipe.device @d0 <host_link = <bytes_per_us = 1>> }
pipe.model @gpt gpt<vocab = 16, sequence = 4, hidden = 8, heads = 2, ffn = 16, batch = 4> {
  pipe.layer @wte embedding
  pipe.layer @h0 block
  pipe.layer @lm_head head
}
pipe.plan @again of @gpt on @lab microbatches(2) {
  // expected-error @+1 {{stage @s0 offloads layer @h0, which it recomputes: such a layer keeps nothing that could leave}}
  pipe.stage @s0 [@wte, @h0, @lm_head] on 0 recompute [@h0] offload [@h0]
}

// -----

pipe.cluster @lab { pipe.device @d0 <host_link = <bytes_per_us = 1>> }
pipe.model @gpt gpt<vocab = 16, sequence = 4, hidden = 8, heads = 2, ffn = 16, batch = 4> {
  pipe.layer @wte embedding
  pipe.layer @h0 block
  pipe.layer @lm_head head
}
pipe.plan @all of @gpt on @lab microbatches(2) {
  // expected-error @+1 {{stage @s0 offloads, but recomputes all of its layers, which keep nothing but checkpoints: write before(recompute) to let these leave}}
  pipe.stage @s0 [@wte, @h0, @lm_head] on 0 recompute offload
}

// -----

pipe.cluster @lab { pipe.device @d0 <host_link = <bytes_per_us = 1>> }
pipe.model @gpt gpt<vocab = 16, sequence = 4, hidden = 8, heads = 2, ffn = 16, batch = 4> {
  pipe.layer @wte embedding
  pipe.layer @h0 block
  pipe.layer @lm_head head
}
pipe.plan @alone of @gpt on @lab microbatches(2) {
  // expected-error @+1 {{stage @s0 has before(weight_grad), but no offload}}
  pipe.stage @s0 [@wte, @h0, @lm_head] on 0 before(weight_grad)
}

// -----

pipe.cluster @lab { pipe.device @d0 <host_link = <bytes_per_us = 1>> }
pipe.model @gpt gpt<vocab = 16, sequence = 4, hidden = 8, heads = 2, ffn = 16, batch = 4> {
  pipe.layer @wte embedding
  pipe.layer @h0 block
  pipe.layer @lm_head head
}
pipe.plan @keeps of @gpt on @lab microbatches(2) {
  // expected-error @+1 {{stage @s0 has before(recompute), but does not recompute}}
  pipe.stage @s0 [@wte, @h0, @lm_head] on 0 offload before(recompute)
}

// -----

pipe.cluster @lab { pipe.device @d0 <host_link = <bytes_per_us = 1>> }
pipe.model @gpt gpt<vocab = 16, sequence = 4, hidden = 8, heads = 2, ffn = 16, batch = 4> {
  pipe.layer @wte embedding
  pipe.layer @h0 block
  pipe.layer @lm_head head
}
pipe.plan @checkpoints of @gpt on @lab microbatches(2) {
  // expected-error @+1 {{stage @s0 has before(recompute): its checkpoints leave, so leave out the list of layers}}
  pipe.stage @s0 [@wte, @h0, @lm_head] on 0 recompute offload [@h0] before(recompute)
}

// -----

pipe.cluster @lab { pipe.device @d0 <host_link = <bytes_per_us = 1>> }
pipe.model @gpt gpt<vocab = 16, sequence = 4, hidden = 8, heads = 2, ffn = 16, batch = 4> {
  pipe.layer @wte embedding
  pipe.layer @h0 block
  pipe.layer @lm_head head
}
pipe.plan @bytes of @gpt on @lab microbatches(2) {
  // expected-error @+1 {{stage @s0 offloads some layers, and its costs state no offload_bytes}}
  pipe.stage @s0 [@wte, @h0, @lm_head] on 0 offload [@h0]
      costs<forward_ns = 1, input_grad_ns = 1, weight_grad_ns = 1, activation_bytes = 8, input_grad_frees_bytes = 2, output_bytes = 0>
}

// -----

pipe.cluster @lab { pipe.device @d0 <host_link = <bytes_per_us = 1>> }
pipe.model @gpt gpt<vocab = 16, sequence = 4, hidden = 8, heads = 2, ffn = 16, batch = 4> {
  pipe.layer @wte embedding
  pipe.layer @h0 block
  pipe.layer @lm_head head
}
pipe.plan @none of @gpt on @lab microbatches(2) {
  // expected-error @+1 {{stage @s0 has offload_bytes, but no offload}}
  pipe.stage @s0 [@wte, @h0, @lm_head] on 0
      costs<forward_ns = 1, input_grad_ns = 1, weight_grad_ns = 1, activation_bytes = 8, input_grad_frees_bytes = 2, output_bytes = 0, offload_bytes = 1>
}

// -----

pipe.cluster @lab { pipe.device @d0 <host_link = <bytes_per_us = 1>> }
pipe.model @gpt gpt<vocab = 16, sequence = 4, hidden = 8, heads = 2, ffn = 16, batch = 4> {
  pipe.layer @wte embedding
  pipe.layer @lm_head head
}
pipe.plan @step of @gpt on @lab microbatches(2) {
  pipe.stage @s0 [@wte] on 0
  // expected-error @+1 {{stage @s1 has before(weight_grad), but the input gradients of its layers read all that these save: write before(input_grad)}}
  pipe.stage @s1 [@lm_head] on 0 offload before(weight_grad)
}

// -----

pipe.cluster @lab { pipe.device @d0 <host_link = <bytes_per_us = 1>> }
pipe.model @gpt gpt<vocab = 16, sequence = 4, hidden = 8, heads = 2, ffn = 16, batch = 4> {
  pipe.layer @wte embedding
  // expected-note @+1 {{layer @h0 is here}}
  pipe.layer @h0 block
  pipe.layer @lm_head head
}
pipe.plan @read of @gpt on @lab microbatches(2) {
  // expected-error @+1 {{stage @s0 has before(weight_grad), but the input gradient of layer @h0 reads @h0.qkv; its weight gradient alone reads activation}}
  pipe.stage @s0 [@wte, @h0, @lm_head] on 0 offload [@h0.activation, @h0.qkv] before(weight_grad)
}

// -----

pipe.cluster @lab { pipe.device @d0 <host_link = <bytes_per_us = 1>> }
pipe.model @gpt gpt<vocab = 16, sequence = 4, hidden = 8, heads = 2, ffn = 16, batch = 4> {
  pipe.layer @wte embedding
  // expected-note @+1 {{layer @mlp is here}}
  pipe.layer @mlp custom<body = "mlp", parameters = [16], weight_bytes = 1216, saved_for_weight_grad_bytes = 1024,
                         kept_for_weight_grad_bytes = 1024, output_bytes = 512>
  pipe.layer @lm_head head
}
pipe.plan @custom of @gpt on @lab microbatches(2) {
  // expected-error @+1 {{stage @s0 has before(weight_grad), but the input gradient of layer @mlp reads what it saves; leave it out of the list of `offload`}}
  pipe.stage @s0 [@wte, @mlp, @lm_head] on 0 offload [@wte, @mlp] before(weight_grad)
}

// -----

pipe.cluster @lab { pipe.device @d0 <host_link = <bytes_per_us = 1>> }
pipe.model @gpt gpt<vocab = 16, sequence = 4, hidden = 8, heads = 2, ffn = 16, batch = 4> {
  pipe.layer @wte embedding
  pipe.layer @h0 block
  pipe.layer @lm_head head
}
pipe.plan @data of @gpt on @lab microbatches(2) {
  // expected-error @+1 {{stage @s0 has before(recompute), but keeps no checkpoint that could leave: its R begins with the data of the model; leave out offload}}
  pipe.stage @s0 [@wte, @h0, @lm_head] on 0 recompute offload before(recompute)
}

// -----

pipe.cluster @lab { pipe.device @d0 <host_link = <bytes_per_us = 1>> pipe.device @d1 <host_link = <bytes_per_us = 1>> }
pipe.model @gpt gpt<vocab = 16, sequence = 4, hidden = 8, heads = 2, ffn = 16, batch = 4> {
  pipe.layer @wte embedding
  pipe.layer @h0 block
  pipe.layer @lm_head head
}
pipe.plan @fed of @gpt on @lab microbatches(2) {
  pipe.stage @s0 [@wte, @h0] on 0 recompute
  // expected-error @+1 {{stage @s1 has before(recompute), but keeps no checkpoint that could leave: its R begins with what the stages that feed it recompute; leave out offload}}
  pipe.stage @s1 [@lm_head] on 1 recompute across offload before(recompute)
}

// -----

// Rules S10 and S3 at the ops that break them.

pipe.cluster @lab { pipe.device @d0 <host_link = <bytes_per_us = 1>> }
pipe.model @timed { pipe.layer @l0 synthetic<forward_ns = 1, input_grad_ns = 1, weight_grad_ns = 1, activation_bytes = 4> }
pipe.plan @step of @timed on @lab microbatches(1) { pipe.stage @s0 [@l0] on 0 offload }
pipe.schedule @mine of @step {
  pipe.rank 0 {
    pipe.forward @s0[0]
    // expected-error @+1 {{0SAVE0 at position 1 of rank 0 has no 0LOAD0; a micro-batch has both SAVE and LOAD or neither [S10]}}
    pipe.save @s0[0]
    pipe.backward @s0[0]
  }
}

// -----

pipe.cluster @lab { pipe.device @d0 <host_link = <bytes_per_us = 1>> }
pipe.model @timed { pipe.layer @l0 synthetic<forward_ns = 1, input_grad_ns = 1, weight_grad_ns = 1, activation_bytes = 4> }
pipe.plan @step of @timed on @lab microbatches(1) { pipe.stage @s0 [@l0] on 0 }
pipe.schedule @mine of @step {
  pipe.rank 0 {
    pipe.forward @s0[0]
    // expected-error @+1 {{0SAVE0 at position 1 of rank 0 has nothing to copy: the costs of stage 0 have no SAVE and LOAD [S10]}}
    pipe.save @s0[0]
    pipe.load @s0[0]
    pipe.backward @s0[0]
  }
}

// -----

// Families with copies.

pipe.cluster @lab { pipe.device @d0 <host_link = <bytes_per_us = 1>> }
pipe.model @timed { pipe.layer @l0 synthetic<forward_ns = 1, input_grad_ns = 1, weight_grad_ns = 1, activation_bytes = 4> }
pipe.plan @step of @timed on @lab microbatches(1) { pipe.stage @s0 [@l0] on 0 offload }
// expected-error @+1 {{a family cannot offload 'most'; write all, fit}}
pipe.schedule @word of @step family<"1f1b", offload = most>

// -----

pipe.cluster @lab { pipe.device @d0 <host_link = <bytes_per_us = 1>> }
pipe.model @timed { pipe.layer @l0 synthetic<forward_ns = 1, input_grad_ns = 1, weight_grad_ns = 1, activation_bytes = 4> }
pipe.plan @step of @timed on @lab microbatches(1) { pipe.stage @s0 [@l0] on 0 offload }
// expected-error @+1 {{'1f1b' has offload_chunks without offload; add offload=all or offload=fit}}
pipe.schedule @chunks of @step family<"1f1b", offload_chunks = 1>

// -----

pipe.cluster @lab { pipe.device @d0 <host_link = <bytes_per_us = 1>> }
pipe.model @timed { pipe.layer @l0 synthetic<forward_ns = 1, input_grad_ns = 1, weight_grad_ns = 1, activation_bytes = 4> }
// expected-note @+1 {{this is the plan}}
pipe.plan @step of @timed on @lab microbatches(1) { pipe.stage @s0 [@l0] on 0 }
// expected-error @+1 {{family '1f1b' does not apply: family 1f1b with offload=fit: no stage may copy to the host}}
pipe.schedule @none of @step family<"1f1b", offload = fit>

// -----

// Copies end with their iteration.

pipe.cluster @lab { pipe.device @d0 <host_link = <bytes_per_us = 1>> }
pipe.model @timed { pipe.layer @l0 synthetic<forward_ns = 1, input_grad_ns = 1, weight_grad_ns = 1, activation_bytes = 4> }
pipe.plan @step of @timed on @lab microbatches(1) { pipe.stage @s0 [@l0] on 0 offload }
pipe.schedule @without of @step family<"pipedream">
// expected-error @+1 {{iterations of @with overlap, so its order cannot copy activations to the host yet, since copies end with their iteration; leave out offload, or let iterations drain, as with family<"1f1b">}}
pipe.schedule @with of @step family<"pipedream", offload = all>

// -----

pipe.cluster @lab { pipe.device @d0 <host_link = <bytes_per_us = 1>> }
pipe.model @timed { pipe.layer @l0 synthetic<forward_ns = 1, input_grad_ns = 1, weight_grad_ns = 1, activation_bytes = 4> }
pipe.plan @step of @timed on @lab microbatches(1) { pipe.stage @s0 [@l0] on 0 offload }
pipe.schedule @mine of @step versions<"pipedream"> {
  pipe.rank 0 {
    pipe.repeat %t {
      pipe.forward @s0[%t]
      // expected-error @+1 {{iterations of @mine overlap, so its order cannot copy activations to the host yet, since copies end with their iteration; leave out pipe.save and pipe.load, or let iterations drain, as with family<"1f1b">}}
      pipe.save @s0[%t]
      pipe.load @s0[%t]
      pipe.backward @s0[%t]
      pipe.step @s0[%t]
    }
  }
}

// -----

// Copy orders, rule S12.

pipe.cluster @lab {
  pipe.device @d0 <host_link = <bytes_per_us = 1>>
  pipe.device @d1 <host_link = <bytes_per_us = 1>>
  pipe.host_link [@d0, @d1] <>
}
pipe.model @timed { pipe.layer @l0 synthetic<forward_ns = 1, input_grad_ns = 1, weight_grad_ns = 1, activation_bytes = 4> }
pipe.plan @step of @timed on @lab microbatches(2) { pipe.stage @s0 [@l0] on [0, 1] round_robin offload }
pipe.schedule @missing of @step {
  pipe.rank 0 { pipe.forward @s0[0] pipe.save @s0[0] pipe.load @s0[0] pipe.backward @s0[0] }
  pipe.rank 1 { pipe.forward @s0[1] pipe.save @s0[1] pipe.load @s0[1] pipe.backward @s0[1] }
  // expected-error @+1 {{0LOAD1 is missing from the copy order 0 [S12]}}
  pipe.copy_order 0 { pipe.save @s0:1[1] pipe.save @s0[0] pipe.load @s0[0] }
}

// -----

pipe.cluster @lab {
  pipe.device @d0 <host_link = <bytes_per_us = 1>>
  pipe.device @d1 <host_link = <bytes_per_us = 1>>
  pipe.host_link [@d0, @d1] <>
}
pipe.model @timed { pipe.layer @l0 synthetic<forward_ns = 1, input_grad_ns = 1, weight_grad_ns = 1, activation_bytes = 4> }
pipe.plan @step of @timed on @lab microbatches(2) { pipe.stage @s0 [@l0] on [0, 1] round_robin offload }
pipe.schedule @twice of @step {
  pipe.rank 0 { pipe.forward @s0[0] pipe.save @s0[0] pipe.load @s0[0] pipe.backward @s0[0] }
  pipe.rank 1 { pipe.forward @s0[1] pipe.backward @s0[1] }
  pipe.copy_order 0 {
    pipe.save @s0[0]
    // expected-error @+1 {{0SAVE1 at position 1 of the copy order 0 is not a copy of the schedule over that host link, or appears twice [S12]}}
    pipe.save @s0[1]
    pipe.load @s0[0]
  }
}

// -----

pipe.cluster @lab { pipe.device @d0 <host_link = <bytes_per_us = 1>> }
pipe.model @timed { pipe.layer @l0 synthetic<forward_ns = 1, input_grad_ns = 1, weight_grad_ns = 1, activation_bytes = 4> }
pipe.plan @step of @timed on @lab microbatches(1) { pipe.stage @s0 [@l0] on 0 offload }
pipe.schedule @none of @step {
  pipe.rank 0 { pipe.forward @s0[0] pipe.save @s0[0] pipe.load @s0[0] pipe.backward @s0[0] }
  // expected-error @+1 {{the copy order 1 names no host link; there are 0 host links, numbered from 0 [S12]}}
  pipe.copy_order 1 { pipe.save @s0[0] pipe.load @s0[0] }
}

// -----

pipe.cluster @lab { pipe.device @d0 <host_link = <bytes_per_us = 1>> }
pipe.model @timed { pipe.layer @l0 synthetic<forward_ns = 1, input_grad_ns = 1, weight_grad_ns = 1, activation_bytes = 4> }
pipe.plan @step of @timed on @lab microbatches(1) { pipe.stage @s0 [@l0] on 0 offload }
pipe.schedule @below of @step {
  // expected-error @+1 {{host link -1 does not exist; host links are numbered from 0}}
  pipe.copy_order -1 { pipe.save @s0[0] }
}

// -----

pipe.cluster @lab { pipe.device @d0 <host_link = <bytes_per_us = 1>> }
pipe.model @timed { pipe.layer @l0 synthetic<forward_ns = 1, input_grad_ns = 1, weight_grad_ns = 1, activation_bytes = 4> }
pipe.plan @step of @timed on @lab microbatches(1) { pipe.stage @s0 [@l0] on 0 offload }
pipe.schedule @task of @step {
  // expected-error @+1 {{'pipe.forward' is no copy; a copy order names save and load}}
  pipe.copy_order 0 { pipe.forward @s0[0] }
}

// -----

pipe.cluster @lab { pipe.device @d0 <host_link = <bytes_per_us = 1>> }
pipe.model @timed { pipe.layer @l0 synthetic<forward_ns = 1, input_grad_ns = 1, weight_grad_ns = 1, activation_bytes = 4> }
pipe.plan @step of @timed on @lab microbatches(1) { pipe.stage @s0 [@l0] on 0 offload }
pipe.schedule @again of @step {
  // expected-note @+1 {{first given here}}
  pipe.copy_order 0 { pipe.save @s0[0] }
  // expected-error @+1 {{the copy order of host link 0 is given twice}}
  pipe.copy_order 0 { pipe.load @s0[0] }
}

// -----

pipe.cluster @lab { pipe.device @d0 <host_link = <bytes_per_us = 1>> }
pipe.model @gpt gpt<vocab = 16, sequence = 4, hidden = 8, heads = 2, ffn = 16, batch = 4> {
  pipe.layer @wte embedding
  // expected-note @+1 {{layer @h0 is here}}
  pipe.layer @h0 custom<body = "mlp", output_bytes = 512, saved = [part<name = "x", bytes = 64, read_by = weight_grad>, part<name = "slope", bytes = 64, read_by = input_grad>, part<name = "mid.u", bytes = 64>]>
  pipe.layer @lm_head head
}
pipe.plan @unknown of @gpt on @lab microbatches(2) {
  // expected-error @+1 {{stage @s0 offloads @h0.y, but layer @h0 saves no such part; its parts are saved_for_input_grad, saved_for_weight_grad, x, slope, mid.u}}
  pipe.stage @s0 [@wte, @h0, @lm_head] on 0 offload [@h0.mid.u, @h0.y]
}

// -----

pipe.cluster @lab { pipe.device @d0 <host_link = <bytes_per_us = 1>> }
pipe.model @gpt gpt<vocab = 16, sequence = 4, hidden = 8, heads = 2, ffn = 16, batch = 4> {
  pipe.layer @wte embedding
  // expected-note @+1 {{layer @h0 is here}}
  pipe.layer @h0 custom<body = "mlp", output_bytes = 512, saved = [part<name = "x", bytes = 64, read_by = weight_grad>, part<name = "slope", bytes = 64, read_by = input_grad>, part<name = "mid.u", bytes = 64>]>
  pipe.layer @lm_head head
}
pipe.plan @of_blocks of @gpt on @lab microbatches(2) {
  // expected-error @+1 {{stage @s0 offloads @h0.qkv, but layer @h0 saves no such part; its parts are saved_for_input_grad, saved_for_weight_grad, x, slope, mid.u}}
  pipe.stage @s0 [@wte, @h0, @lm_head] on 0 offload [@h0.qkv]
}

// -----

pipe.cluster @lab { pipe.device @d0 <host_link = <bytes_per_us = 1>> }
pipe.model @gpt gpt<vocab = 16, sequence = 4, hidden = 8, heads = 2, ffn = 16, batch = 4> {
  pipe.layer @wte embedding
  // expected-note @+1 {{layer @h0 is here}}
  pipe.layer @h0 custom<body = "mlp", output_bytes = 512, saved = [part<name = "x", bytes = 64, read_by = weight_grad>, part<name = "slope", bytes = 64, read_by = input_grad>, part<name = "mid.u", bytes = 64>]>
  pipe.layer @lm_head head
}
pipe.plan @read_by_both of @gpt on @lab microbatches(2) {
  // expected-error @+1 {{stage @s0 has before(weight_grad), but the input gradient of layer @h0 reads @h0.mid.u; its weight gradient alone reads x}}
  pipe.stage @s0 [@wte, @h0, @lm_head] on 0 offload [@h0.x, @h0.mid.u] before(weight_grad)
}
