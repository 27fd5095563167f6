// RUN: rondo-opt %s --pipe-schedule --split-input-file --verify-diagnostics

pipe.cluster @lab { pipe.device @d0 }
pipe.model @gpt gpt<vocab = 8, sequence = 16, hidden = 8, heads = 2, ffn = 8, batch = 1> {
  pipe.layer @wte embedding
  pipe.layer @head head
}
// expected-error @+1 {{most is 0 tokens; it must be from 1 to 1073741824}}
pipe.plan @p of @gpt on @lab microbatches(3) tokens<most = 0, in_flight = 16> {
  pipe.stage @s0 [@wte, @head] on 0
}

// -----

pipe.cluster @lab { pipe.device @d0 }
pipe.model @gpt gpt<vocab = 8, sequence = 16, hidden = 8, heads = 2, ffn = 8, batch = 1> {
  pipe.layer @wte embedding
  pipe.layer @head head
}
// expected-error @+1 {{in_flight is 31 tokens; it must be from 32, the most of a micro-batch, to 1073741824}}
pipe.plan @p of @gpt on @lab microbatches(3) tokens<most = 32, in_flight = 31> {
  pipe.stage @s0 [@wte, @head] on 0
}

// -----

pipe.cluster @lab { pipe.device @d0 }
pipe.model @gpt gpt<vocab = 8, sequence = 16, hidden = 8, heads = 2, ffn = 8, batch = 1> {
  pipe.layer @wte embedding
  pipe.layer @head head
}
// expected-error @+1 {{plan @p has both samples and tokens: a micro-batch is one row of documents; leave out one of them}}
pipe.plan @p of @gpt on @lab microbatches(3) samples(2) tokens<most = 32, in_flight = 64> {
  pipe.stage @s0 [@wte, @head] on 0
}

// -----

pipe.cluster @lab { pipe.device @d0 }
pipe.model @gpt gpt<vocab = 8, sequence = 16, hidden = 8, heads = 2, ffn = 8, batch = 1> {
  pipe.layer @wte embedding
  pipe.layer @head head
}
// expected-error @+1 {{plan @p has both documents and tokens: documents are of one batch, and tokens are limits of all that the program draws; leave out one of them}}
pipe.plan @p of @gpt on @lab microbatches(1) documents [[8]] tokens<most = 32, in_flight = 64> {
  pipe.stage @s0 [@wte, @head] on 0
}

// -----

// expected-error @+2 {{key 'in_flight' is missing}}
pipe.cluster @lab { pipe.device @d0 }
pipe.plan @p of @gpt on @lab microbatches(1) tokens<most = 32> {
}

// -----

pipe.cluster @lab { pipe.device @d0 }
// expected-note @+1 {{model @timed is here}}
pipe.model @timed {
  pipe.layer @l0 synthetic<forward_ns = 1, input_grad_ns = 1, weight_grad_ns = 1>
}
// expected-error @+1 {{plan @p draws documents, but the layers of its model take no tokens: write gpt<...> or llama<...> after the model's name}}
pipe.plan @p of @timed on @lab microbatches(2) tokens<most = 32, in_flight = 64> {
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
// expected-error @+1 {{plan @p draws documents, but layer @mlp does not say that its body takes rows of documents: write documents = true into the layer if it does}}
pipe.plan @p of @gpt on @lab microbatches(2) tokens<most = 32, in_flight = 64> {
  pipe.stage @s0 [@wte, @mlp, @head] on 0
}

// -----

pipe.cluster @lab { pipe.device @d0 }
pipe.model @gpt gpt<vocab = 8, sequence = 16, hidden = 8, heads = 2, ffn = 8, batch = 1> {
  pipe.layer @wte embedding
  pipe.layer @head head
}
// expected-note @+1 {{plan @p is here}}
pipe.plan @p of @gpt on @lab microbatches(2) tokens<most = 32, in_flight = 64> {
  // expected-error @+1 {{plan @p draws documents, but stage @s0 lists figures by micro-batch: write one number, that of the largest micro-batch}}
  pipe.stage @s0 [@wte, @head] on 0
      costs<forward_ns = [1, 2], input_grad_ns = 1, weight_grad_ns = 1, activation_bytes = 0,
            input_grad_frees_bytes = 0, output_bytes = 0>
}

// -----

pipe.cluster @lab { pipe.device @d0 }
pipe.model @gpt gpt<vocab = 8, sequence = 1, hidden = 8, heads = 2, ffn = 8, batch = 1> {
  pipe.layer @wte embedding
  pipe.layer @head head
}
// expected-error @+1 {{a micro-batch of 65537 tokens may have more than 65536 documents of the model's sequence of 1: lower most}}
pipe.plan @p of @gpt on @lab microbatches(2) tokens<most = 65537, in_flight = 65537> {
  pipe.stage @s0 [@wte, @head] on 0
}

// -----

pipe.cluster @lab { pipe.device @d0 pipe.device @d1 }
pipe.model @gpt gpt<vocab = 8, sequence = 16, hidden = 8, heads = 2, ffn = 8, batch = 1> {
  pipe.layer @wte embedding
  pipe.layer @head head
}
// expected-note @+1 {{plan @p is here}}
pipe.plan @p of @gpt on @lab microbatches(2) tokens<most = 32, in_flight = 64> {
  // expected-error @+1 {{the micro-batches of plan @p differ, but stage @s0 divides the samples of each over its replicas: write `on [0, 1] round_robin`, or put the stage on one rank}}
  pipe.stage @s0 [@wte, @head] on [0, 1]
}

// -----

pipe.cluster @lab { pipe.device @d0 <host_link = <bytes_per_us = 1>> }
pipe.model @gpt gpt<vocab = 8, sequence = 16, hidden = 8, heads = 2, ffn = 8, batch = 1> {
  pipe.layer @wte embedding
  pipe.layer @head head
}
// expected-note @+1 {{plan @p is here}}
pipe.plan @p of @gpt on @lab microbatches(2) tokens<most = 32, in_flight = 64> {
  // expected-error @+1 {{plan @p draws documents, but stage @s0 offloads, which do not go together yet: leave out `offload`}}
  pipe.stage @s0 [@wte, @head] on 0 offload
}

// -----

// Four micro-batches in flight are more than their tokens allow.

// expected-note @+1 {{rank 0 is device @d0; one micro-batch at a time holds 12032 bytes of activations there, so an order with fewer in flight can fit}}
pipe.cluster @lab { pipe.device @d0 pipe.device @d1 }
pipe.model @gpt gpt<vocab = 8, sequence = 16, hidden = 8, heads = 2, ffn = 8, batch = 1> {
  pipe.layer @wte embedding
  pipe.layer @block block
  pipe.layer @head head
}
// expected-note @+1 {{plan @p has memory for the activations of 64 tokens in each stage: raise in_flight, or search for an order with fewer in flight}}
pipe.plan @p of @gpt on @lab microbatches(4) tokens<most = 32, in_flight = 64> {
  pipe.stage @s0 [@wte, @block] on 0
  pipe.stage @s1 [@head] on 1
}
// expected-error @+1 {{S5}}
pipe.schedule @s of @p family<"gpipe">
