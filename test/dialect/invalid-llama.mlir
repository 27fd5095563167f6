// Errors of a Llama's figures and layers.
// RUN: rondo-opt %s -split-input-file -verify-diagnostics

pipe.model @m gpt<vocab = 8, sequence = 4, hidden = 8, heads = 2, ffn = 8, batch = 1>
    // expected-error @+1 {{the model is both a gpt and a llama; leave out one}}
    llama<vocab = 8, sequence = 4, hidden = 8, heads = 2, ffn = 8, batch = 1> { pipe.layer @e embedding }

// -----

// expected-error @+1 {{heads is 4, not a multiple of the 3 kv_heads}}
pipe.model @m llama<vocab = 8, sequence = 4, hidden = 8, heads = 4, kv_heads = 3, ffn = 8, batch = 1> { pipe.layer @e embedding }

// -----

// expected-error @+1 {{heads is 4, not a multiple of the 8 kv_heads}}
pipe.model @m llama<vocab = 8, sequence = 4, hidden = 8, heads = 4, kv_heads = 8, ffn = 8, batch = 1> { pipe.layer @e embedding }

// -----

// expected-error @+1 {{kv_heads is -1; the minimum is 0}}
pipe.model @m llama<vocab = 8, sequence = 4, hidden = 8, heads = 4, kv_heads = -1, ffn = 8, batch = 1> { pipe.layer @e embedding }

// -----

// expected-error @+1 {{a head has 3 numbers, but rotary positions take pairs: give an even head_width}}
pipe.model @m llama<vocab = 8, sequence = 4, hidden = 8, heads = 4, head_width = 3, ffn = 8, batch = 1> { pipe.layer @e embedding }

// -----

// expected-error @+1 {{a head has 3 numbers, but rotary positions take pairs: give an even head_width}}
pipe.model @m llama<vocab = 8, sequence = 4, hidden = 12, heads = 4, ffn = 8, batch = 1> { pipe.layer @e embedding }

// -----

// expected-error @+1 {{hidden is 8, not a multiple of the 3 heads}}
pipe.model @m llama<vocab = 8, sequence = 4, hidden = 8, heads = 3, ffn = 8, batch = 1> { pipe.layer @e embedding }

// -----

// expected-error @+1 {{size 4294967296 is too large; the maximum is 2147483647}}
pipe.model @m llama<vocab = 8, sequence = 4, hidden = 8, heads = 4, head_width = 4294967296, ffn = 8, batch = 1> { pipe.layer @e embedding }

// -----

// expected-error @+1 {{ffn is 0; the minimum is 1}}
pipe.model @m llama<vocab = 8, sequence = 4, hidden = 8, heads = 4, ffn = 0, batch = 1> { pipe.layer @e embedding }

// -----

// expected-error @+1 {{norm_epsilon is 0; it must be more than 0}}
pipe.model @m llama<vocab = 8, sequence = 4, hidden = 8, heads = 4, ffn = 8, batch = 1, norm_epsilon = 0> { pipe.layer @e embedding }

// -----

// expected-error @+1 {{rope_theta is -1; it must be more than 0}}
pipe.model @m llama<vocab = 8, sequence = 4, hidden = 8, heads = 4, ffn = 8, batch = 1, rope_theta = -1> { pipe.layer @e embedding }

// -----

// expected-error @+1 {{rope_theta is -0.5; it must be more than 0}}
pipe.model @m llama<vocab = 8, sequence = 4, hidden = 8, heads = 4, ffn = 8, batch = 1, rope_theta = -0.5> { pipe.layer @e embedding }

// -----

// expected-error @+1 {{expected a number}}
pipe.model @m llama<vocab = 8, sequence = 4, hidden = 8, heads = 4, ffn = 8, batch = 1, rope_theta = - -1> { pipe.layer @e embedding }

// -----

// expected-error @+1 {{high_frequency is 4; it must be more than low_frequency}}
pipe.model @m llama<vocab = 8, sequence = 4, hidden = 8, heads = 4, ffn = 8, batch = 1,
                    rope_scaling = llama3<factor = 8, low_frequency = 4, high_frequency = 4, original_positions = 8>> {
  pipe.layer @e embedding
}

// -----

// expected-error @+1 {{original_positions is 0; the minimum is 1}}
pipe.model @m llama<vocab = 8, sequence = 4, hidden = 8, heads = 4, ffn = 8, batch = 1,
                    rope_scaling = llama3<factor = 8, low_frequency = 1, high_frequency = 4, original_positions = 0>> {
  pipe.layer @e embedding
}

// -----

pipe.model @m llama<vocab = 8, sequence = 4, hidden = 8, heads = 4, ffn = 8, batch = 1,
                    // expected-error @+1 {{expected 'llama3'}}
                    rope_scaling = yarn<factor = 8>> {
  pipe.layer @e embedding
}

// -----

// expected-note @+1 {{a model is either a llama or all synthetic}}
pipe.model @m llama<vocab = 8, sequence = 4, hidden = 8, heads = 2, ffn = 8, batch = 1> {
  pipe.layer @e embedding
  // expected-error @+1 {{layer @l0 is synthetic, but its model is a llama}}
  pipe.layer @l0 synthetic<forward_ns = 1, input_grad_ns = 1, weight_grad_ns = 1>
  pipe.layer @lm_head head
}

// -----

// expected-note @+1 {{a llama is one embedding, then blocks, then one head}}
pipe.model @m llama<vocab = 8, sequence = 4, hidden = 8, heads = 2, ffn = 8, batch = 1> {
  pipe.layer @e embedding
  // expected-error @+1 {{a head is missing after layer @b of kind block}}
  pipe.layer @b block
}
