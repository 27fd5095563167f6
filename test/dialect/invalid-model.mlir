// Errors of a model and its layers.
// RUN: rondo-opt %s -split-input-file -verify-diagnostics

// expected-error @+1 {{model @m has no layers}}
pipe.model @m { }

// -----

// expected-note @+1 {{add gpt<vocab = ...}}
pipe.model @m {
  // expected-error @+1 {{layer @h0 is of kind block, but its model gives no sizes}}
  pipe.layer @h0 block
}

// -----

// expected-note @+1 {{a model is either a gpt or all synthetic}}
pipe.model @m gpt<vocab = 8, sequence = 4, hidden = 8, heads = 2, ffn = 8, batch = 1> {
  pipe.layer @wte embedding
  // expected-error @+1 {{layer @l0 is synthetic, but its model is a gpt}}
  pipe.layer @l0 synthetic<forward_ns = 1, input_grad_ns = 1, weight_grad_ns = 1>
  pipe.layer @lm_head head
}

// -----

// expected-note @+1 {{a gpt is one embedding, then blocks, then one head}}
pipe.model @m gpt<vocab = 8, sequence = 4, hidden = 8, heads = 2, ffn = 8, batch = 1> {
  pipe.layer @wte embedding
  // expected-error @+1 {{a head is missing after layer @h0 of kind block}}
  pipe.layer @h0 block
}

// -----

// expected-error @+1 {{heads is 0; the minimum is 1}}
pipe.model @m gpt<vocab = 8, sequence = 4, hidden = 8, heads = 0, ffn = 8, batch = 1> { pipe.layer @wte embedding }

// -----

// expected-error @+1 {{hidden is 8, not a multiple of the 3 heads}}
pipe.model @m gpt<vocab = 8, sequence = 4, hidden = 8, heads = 3, ffn = 8, batch = 1> { pipe.layer @wte embedding }

// -----

// expected-error @+1 {{size 4294967296 is too large; the maximum is 2147483647}}
pipe.model @m gpt<vocab = 4294967296, sequence = 4, hidden = 8, heads = 2, ffn = 8, batch = 1> { pipe.layer @wte embedding }

// -----

pipe.model @m {
  // expected-error @+1 {{input_grad_ns is -4; the minimum is 0}}
  pipe.layer @l0 synthetic<forward_ns = 3, input_grad_ns = -4, weight_grad_ns = 2>
}

// -----

pipe.model @m {
  // expected-error @+1 {{input_grad_frees_bytes is 3, more than the activation_bytes of 2}}
  pipe.layer @l0 synthetic<forward_ns = 3, input_grad_ns = 4, weight_grad_ns = 2, activation_bytes = 2, input_grad_frees_bytes = 3>
}

// -----

pipe.model @m {
  // expected-error @+1 {{weight_grad_ns is -1; the minimum is 0}}
  pipe.layer @l0 synthetic<forward_ns = 3, input_grad_ns = 4, weight_grad_ns = 2> costs<forward_ns = 1, input_grad_ns = 1, weight_grad_ns = -1>
}

// -----

pipe.model @m {
  // expected-error @+1 {{input_grad_ns has 1 time for 2 numbers of samples (samples)}}
  pipe.layer @l0 synthetic<forward_ns = 3, input_grad_ns = 4, weight_grad_ns = 2> costs<samples = [1, 2], forward_ns = [1, 1], input_grad_ns = [1], weight_grad_ns = [1, 1]>
}

// -----

pipe.model @m {
  // expected-error @+1 {{forward_ns is -1; the minimum is 0}}
  pipe.layer @l0 synthetic<forward_ns = 3, input_grad_ns = 4, weight_grad_ns = 2> costs<samples = [1, 2], forward_ns = [1, -1], input_grad_ns = [1, 1], weight_grad_ns = [1, 1]>
}

// -----

pipe.model @m {
  // expected-error @+1 {{samples must be numbers from 1 on, ascending}}
  pipe.layer @l0 synthetic<forward_ns = 3, input_grad_ns = 4, weight_grad_ns = 2> costs<samples = [2, 2], forward_ns = [1, 1], input_grad_ns = [1, 1], weight_grad_ns = [1, 1]>
}

// -----

pipe.model @m {
  // expected-error @+1 {{samples must be numbers from 1 on, ascending}}
  pipe.layer @l0 synthetic<forward_ns = 3, input_grad_ns = 4, weight_grad_ns = 2> costs<samples = [0], forward_ns = [1], input_grad_ns = [1], weight_grad_ns = [1]>
}

// -----

pipe.model @m {
  // expected-error @+1 {{key 'forward_ns' is given twice}}
  pipe.layer @l0 synthetic<forward_ns = 3, input_grad_ns = 4, weight_grad_ns = 2> costs<forward_ns = 1, samples = [1, 2], forward_ns = [1, 1], input_grad_ns = [1, 1], weight_grad_ns = [1, 1]>
}

// -----

pipe.model @m {
  // expected-error @+1 {{a layer of kind synthetic states its own figures}}
  "pipe.layer"() <{body = #pipe.role<synthetic>, sym_name = "l0"}> : () -> ()
}

// -----

pipe.model @m {
  // expected-error @+1 {{expected one of embedding, block, head, synthetic, custom, not 'blok'}}
  pipe.layer @h0 blok
}

// -----

// expected-note @+1 {{a gpt is one embedding, then blocks, then one head}}
pipe.model @m gpt<vocab = 8, sequence = 4, hidden = 8, heads = 2, ffn = 8, batch = 1> {
  // expected-error @+1 {{an embedding is missing before layer @h0 of kind block}}
  pipe.layer @h0 block
  pipe.layer @lm_head head
}
