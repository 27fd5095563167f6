// RUN: rondo-opt %s --pipe-schedule --split-input-file --verify-diagnostics

pipe.cluster @lab { pipe.device @d0 }
pipe.model @gpt gpt<vocab = 8, sequence = 16, hidden = 8, heads = 2, ffn = 8, batch = 1> {
  pipe.layer @wte embedding
  pipe.layer @head head
}
// expected-error @+1 {{documents has lists for 2 micro-batches; microbatches is 3: write one list for each}}
pipe.plan @p of @gpt on @lab microbatches(3) documents [[4], [5, 6]] {
  pipe.stage @s0 [@wte, @head] on 0
}

// -----

pipe.cluster @lab { pipe.device @d0 }
pipe.model @gpt gpt<vocab = 8, sequence = 16, hidden = 8, heads = 2, ffn = 8, batch = 1> {
  pipe.layer @wte embedding
  pipe.layer @head head
}
// expected-error @+1 {{micro-batch 1 has no documents; it must have 1 or more}}
pipe.plan @p of @gpt on @lab microbatches(2) documents [[4], []] {
  pipe.stage @s0 [@wte, @head] on 0
}

// -----

pipe.cluster @lab { pipe.device @d0 }
pipe.model @gpt gpt<vocab = 8, sequence = 16, hidden = 8, heads = 2, ffn = 8, batch = 1> {
  pipe.layer @wte embedding
  pipe.layer @head head
}
// expected-error @+1 {{a document of micro-batch 0 has 0 tokens; it must have 1 or more}}
pipe.plan @p of @gpt on @lab microbatches(2) documents [[4, 0], [3]] {
  pipe.stage @s0 [@wte, @head] on 0
}

// -----

pipe.cluster @lab { pipe.device @d0 }
// expected-note @+1 {{model @gpt is here}}
pipe.model @gpt gpt<vocab = 8, sequence = 16, hidden = 8, heads = 2, ffn = 8, batch = 1> {
  pipe.layer @wte embedding
  pipe.layer @head head
}
// expected-error @+1 {{a document of micro-batch 1 has 17 tokens; the model's sequence is 16: cut the document, or raise sequence}}
pipe.plan @p of @gpt on @lab microbatches(2) documents [[16, 16], [17]] {
  pipe.stage @s0 [@wte, @head] on 0
}

// -----

pipe.cluster @lab { pipe.device @d0 }
pipe.model @gpt gpt<vocab = 8, sequence = 16, hidden = 8, heads = 2, ffn = 8, batch = 1> {
  pipe.layer @wte embedding
  pipe.layer @head head
}
// expected-error @+1 {{plan @p has both samples and documents: a micro-batch is one row of documents; leave out samples}}
pipe.plan @p of @gpt on @lab microbatches(2) samples(2) documents [[4], [5]] {
  pipe.stage @s0 [@wte, @head] on 0
}

// -----

pipe.cluster @lab { pipe.device @d0 }
// expected-note @+1 {{model @timed is here}}
pipe.model @timed {
  pipe.layer @l0 synthetic<forward_ns = 1, input_grad_ns = 1, weight_grad_ns = 1>
}
// expected-error @+1 {{plan @p lists documents, but the layers of its model take no tokens: write gpt<...> or llama<...> after the model's name, or lists of figures in its layers}}
pipe.plan @p of @timed on @lab microbatches(2) documents [[4], [5]] {
  pipe.stage @s0 [@l0] on 0
}

// -----

pipe.cluster @lab { pipe.device @d0 }
pipe.model @gpt gpt<vocab = 8, sequence = 16, hidden = 8, heads = 2, ffn = 8, batch = 1> {
  pipe.layer @wte embedding
  // expected-note @+1 {{layer @mlp is here}}
  pipe.layer @mlp custom<body = "mlp", output_bytes = 512>
  pipe.layer @head head
}
// expected-error @+1 {{plan @p lists documents, but layer @mlp does not say that its body takes rows of documents: write documents = true into the layer if it does}}
pipe.plan @p of @gpt on @lab microbatches(2) documents [[4], [5]] {
  pipe.stage @s0 [@wte, @mlp, @head] on 0
}

// -----

pipe.cluster @lab { pipe.device @d0 }
pipe.model @timed {
  // expected-error @+1 {{forward_ns of layer @l0 has 2 entries; plan @p has 3 micro-batches: write one entry for each}}
  pipe.layer @l0 synthetic<forward_ns = [1, 2], input_grad_ns = 1, weight_grad_ns = 1>
}
// expected-note @+1 {{plan @p is here}}
pipe.plan @p of @timed on @lab microbatches(3) {
  pipe.stage @s0 [@l0] on 0
}

// -----

pipe.model @timed {
  // expected-error @+1 {{[] has no figures; write one number, or one for each micro-batch}}
  pipe.layer @l0 synthetic<forward_ns = [], input_grad_ns = 1, weight_grad_ns = 1>
}

// -----

pipe.model @timed {
  // expected-error @+1 {{weight_grad_ns is -2; the minimum is 0}}
  pipe.layer @l0 synthetic<forward_ns = 1, input_grad_ns = 1, weight_grad_ns = [1, -2]>
}

// -----

pipe.model @timed {
  // expected-error @+1 {{input_grad_frees_bytes is 3, more than the activation_bytes of 2}}
  pipe.layer @l0 synthetic<forward_ns = 1, input_grad_ns = 1, weight_grad_ns = 1,
                           activation_bytes = [4, 2], input_grad_frees_bytes = 3>
}

// -----

pipe.cluster @lab { pipe.device @d0 }
pipe.model @timed {
  pipe.layer @l0 synthetic<forward_ns = 1, input_grad_ns = 1, weight_grad_ns = 1>
}
// expected-note @+1 {{plan @p is here}}
pipe.plan @p of @timed on @lab microbatches(3) {
  // expected-error @+1 {{output_bytes of stage @s0 has 2 entries; plan @p has 3 micro-batches: write one entry for each}}
  pipe.stage @s0 [@l0] on 0
      costs<forward_ns = 1, input_grad_ns = 1, weight_grad_ns = 1, activation_bytes = 0,
            input_grad_frees_bytes = 0, output_bytes = [1, 2]>
}

// -----

pipe.cluster @lab { pipe.device @d0 pipe.device @d1 }
pipe.model @timed {
  pipe.layer @l0 synthetic<forward_ns = [1, 2], input_grad_ns = 1, weight_grad_ns = 1>
}
// expected-note @+1 {{plan @p is here}}
pipe.plan @p of @timed on @lab microbatches(2) samples(2) {
  // expected-error @+1 {{the micro-batches of plan @p differ, but stage @s0 divides the samples of each over its replicas: write `on [0, 1] round_robin`, or put the stage on one rank}}
  pipe.stage @s0 [@l0] on [0, 1]
}

// -----

pipe.cluster @lab { pipe.device @d0 pipe.device @d1 }
pipe.model @timed {
  pipe.layer @l0 synthetic<forward_ns = [1, 2], input_grad_ns = 1, weight_grad_ns = 1>
}
// expected-note @+1 {{plan @p is here}}
pipe.plan @p of @timed on @lab microbatches(2) samples(2) {
  // expected-error @+1 {{the micro-batches of plan @p differ, but stage @s0 divides the samples of each over its replicas: write `on [0, 1] round_robin`, or put the stage on one rank}}
  pipe.stage @s0 [@l0] on [0, 1] sharded<moments>
}

// -----

pipe.cluster @lab { pipe.device @d0 pipe.device @d1 }
pipe.model @timed {
  pipe.layer @l0 synthetic<forward_ns = [1, 2], input_grad_ns = 1, weight_grad_ns = 1>
}
// expected-note @+1 {{plan @p is here}}
pipe.plan @p of @timed on @lab microbatches(2) samples(2) {
  // expected-error @+1 {{stage @s0 divides the samples of each over its replicas: leave out `sharded` and write `on [0, 1] round_robin`, or put the stage on one rank}}
  pipe.stage @s0 [@l0] on [0, 1] sharded<weights>
}

// -----

pipe.cluster @lab { pipe.device @d0 }
pipe.model @timed {
  pipe.layer @l0 synthetic<forward_ns = [1, 2], input_grad_ns = 1, weight_grad_ns = 1, weight_bytes = 64>
}
// expected-note @+1 {{plan @p is here}}
pipe.plan @p of @timed on @lab microbatches(2) {
  pipe.stage @s0 [@l0] on 0
}
// expected-error @+1 {{iterations of @a overlap, but the micro-batches of plan @p differ, which do not go together yet: let iterations drain, as with family<"1f1b">}}
pipe.schedule @a of @p family<"pipedream">

// -----

pipe.cluster @lab { pipe.device @d0 }
pipe.model @timed {
  pipe.layer @l0 synthetic<forward_ns = [1, 2], input_grad_ns = 1, weight_grad_ns = 1>
}
pipe.plan @p of @timed on @lab microbatches(2) {
  pipe.stage @s0 [@l0] on 0
}
// expected-error @+1 {{accumulate lists micro-batch 2; the plan has micro-batches 0 to 1 [S7]}}
pipe.schedule @a of @p accumulate([1, 2]) {
  pipe.rank 0 {
    pipe.forward @s0[1] pipe.backward @s0[1] pipe.forward @s0[0] pipe.backward @s0[0]
  }
}

// -----

pipe.cluster @lab { pipe.device @d0 }
pipe.model @timed {
  pipe.layer @l0 synthetic<forward_ns = [1, 2], input_grad_ns = 1, weight_grad_ns = 1>
}
pipe.plan @p of @timed on @lab microbatches(2) {
  pipe.stage @s0 [@l0] on 0
}
// expected-error @+1 {{accumulate lists micro-batch 1 twice [S7]}}
pipe.schedule @a of @p accumulate([1, 1]) {
  pipe.rank 0 {
    pipe.forward @s0[1] pipe.backward @s0[1] pipe.forward @s0[0] pipe.backward @s0[0]
  }
}

// -----

pipe.cluster @lab { pipe.device @d0 }
pipe.model @timed {
  pipe.layer @l0 synthetic<forward_ns = [1, 2], input_grad_ns = 1, weight_grad_ns = 1>
}
pipe.plan @p of @timed on @lab microbatches(2) {
  pipe.stage @s0 [@l0] on 0
}
// expected-error @+1 {{accumulate lists 1 of 2 micro-batches; every stage adds the gradients of each [S7]}}
pipe.schedule @a of @p accumulate([1]) {
  pipe.rank 0 {
    pipe.forward @s0[1] pipe.backward @s0[1] pipe.forward @s0[0] pipe.backward @s0[0]
  }
}

// -----

pipe.cluster @lab { pipe.device @d0 pipe.device @d1 }
pipe.model @timed {
  pipe.layer @l0 synthetic<forward_ns = [1, 2, 3], input_grad_ns = 1, weight_grad_ns = 1>
  pipe.layer @l1 synthetic<forward_ns = 1, input_grad_ns = 1, weight_grad_ns = 1>
}
pipe.plan @p of @timed on @lab microbatches(3) {
  // expected-error @+1 {{output_without_grad_bytes is 50, more than the output_bytes of 10}}
  pipe.stage @s0 [@l0] on 0 costs<forward_ns = 1, input_grad_ns = 1, weight_grad_ns = 1, activation_bytes = 0, input_grad_frees_bytes = 0, output_bytes = [100, 10, 10], output_without_grad_bytes = 50>
  pipe.stage @s1 [@l1] on 1
}

// -----

pipe.cluster @lab { pipe.device @d0 pipe.device @d1 }
pipe.model @timed {
  pipe.layer @l0 synthetic<forward_ns = [1, 2, 3], input_grad_ns = 1, weight_grad_ns = 1>
  pipe.layer @l1 synthetic<forward_ns = 1, input_grad_ns = 1, weight_grad_ns = 1>
}
pipe.plan @p of @timed on @lab microbatches(3) {
  // expected-error @+1 {{output is -64}}
  pipe.stage @s0 [@l0] on 0 buffers[<output = 100>, <output = -64>, <output = 5>]
  pipe.stage @s1 [@l1] on 1
}

// -----

pipe.cluster @lab { pipe.device @d0 pipe.device @d1 }
pipe.model @timed {
  pipe.layer @l0 synthetic<forward_ns = [1, 2], input_grad_ns = 1, weight_grad_ns = 1>
  pipe.layer @l1 synthetic<forward_ns = 1, input_grad_ns = 1, weight_grad_ns = 1>
}
pipe.plan @p of @timed on @lab microbatches(2) {
  pipe.stage @s0 [@l0] on 0
  pipe.stage @s1 [@l1] on 1
}
// expected-error @+1 {{schedule @s lists the order of its sums, which its family chooses: leave the list out, or write order into the family}}
pipe.schedule @s of @p family<"1f1b"> accumulate([1, 0])

// -----

pipe.cluster @lab { pipe.device @d0 pipe.device @d1 }
pipe.model @timed {
  pipe.layer @l0 synthetic<forward_ns = [1, 2], input_grad_ns = 1, weight_grad_ns = 1>
}
pipe.plan @p of @timed on @lab microbatches(2) {
  // expected-error @+1 {{stage @s0 lists buffers of 3 replicas, but it has 2}}
  pipe.stage @s0 [@l0] on [0, 1] round_robin
      buffers [<output = 1>, <output = 1>, <output = 2>]
}

// -----

pipe.cluster @lab { pipe.device @d0 }
pipe.model @gpt gpt<vocab = 64, sequence = 8, hidden = 8, heads = 1, ffn = 8, batch = 1> {
  pipe.layer @wte embedding
  pipe.layer @lm_head head
}
// expected-note @+1 {{plan @p has this}}
pipe.plan @p of @gpt on @lab microbatches(2) documents [[8], [4]] {
  pipe.stage @s0 [@wte, @lm_head] on 0
}
// expected-error @+1 {{executable @e: plans @p and @q take different documents; plans of one executable share state and data: write the same documents [[...]] in both, or compile them separately (--schedule a, --schedule b)}}
pipe.plan @q of @gpt on @lab microbatches(2) documents [[4], [8]] {
  pipe.stage @s0 [@wte, @lm_head] on 0
}
pipe.schedule @a of @p family<"1f1b">
pipe.schedule @b of @q family<"1f1b">
pipe.executable @e of [@a, @b]

// -----

pipe.cluster @lab { pipe.device @d0 }
pipe.model @gpt gpt<vocab = 64, sequence = 8, hidden = 8, heads = 1, ffn = 8, batch = 1> {
  pipe.layer @wte embedding
  pipe.layer @lm_head head
}
// expected-note @+1 {{plan @p is here}}
pipe.plan @p of @gpt on @lab microbatches(2) documents [[8], [4]] {
  pipe.stage @s0 [@wte, @lm_head] on 0
}
// expected-error @+1 {{the micro-batches of plan @p differ, but an adaptive executable measures one time for each task of a stage: compile without --adaptive; --schedule takes several schedules, of which a run chooses}}
pipe.schedule @a of @p family<"1f1b">
pipe.executable @e of [@a] adaptive<candidates = 2>

// -----

pipe.cluster @lab { pipe.device @d0 <host_link = <bytes_per_us = 1>> }
pipe.model @timed {
  pipe.layer @l0 synthetic<forward_ns = [1, 2], input_grad_ns = 1, weight_grad_ns = 1, activation_bytes = [4, 8]>
}
// expected-note @+1 {{plan @p is here}}
pipe.plan @p of @timed on @lab microbatches(2) {
  // expected-error @+1 {{offload_bytes of stage @s0 has 3 entries; plan @p has 2 micro-batches: write one entry for each}}
  pipe.stage @s0 [@l0] on 0 offload
      costs<forward_ns = [1, 2], input_grad_ns = 1, weight_grad_ns = 1, activation_bytes = [4, 8],
            input_grad_frees_bytes = 0, output_bytes = 0, offload_bytes = [4, 8, 1]>
}
