// The error for a mistyped word suggests the right one.
// RUN: rondo-opt %s -split-input-file -verify-diagnostics

// expected-error @+1 {{unknown key 'memory_byte'; did you mean memory_bytes?}}
pipe.cluster @lab { pipe.device @d0 <memory_byte = 8, flops_per_us = 3> }

// -----

// A comment with > and a name = 3 is not a key. The error for a word that is
// far from every key lists all of them.
pipe.cluster @lab { pipe.device @d0 <memory_bytes = 8, // a > b, speed = 3
                                     // expected-error @+1 {{unknown key 'colour'; the keys are memory_bytes, flops_per_us}}
                                     colour = 3> }

// -----

// expected-error @+1 {{unknown key 'activations_bytes'; did you mean activation_bytes?}}
pipe.model @timed { pipe.layer @l0 synthetic<forward_ns = 1, activations_bytes = 2> }

// -----

// expected-error @+1 {{expected one of embedding, block, head, synthetic, custom, not 'sythetic'; did you mean synthetic?}}
pipe.model @timed { pipe.layer @l0 sythetic<forward_ns = 1> }

// -----

// expected-error @+1 {{unknown op; did you mean pipe.cluster?}}
pipe.clutser @lab { pipe.device @d0 }

// -----

// expected-error @+1 {{unknown op}}
pipe.orchestra @lab { pipe.device @d0 }
