// Errors in the fields of an attribute.
// RUN: rondo-opt %s -split-input-file -verify-diagnostics

// expected-error @+1 {{key 'latency_ns' is given twice}}
pipe.cluster @lab link<latency_ns = 1, latency_ns = 2> { pipe.device @d0 }

// -----

// expected-error @+1 {{key 'weight_grad_ns' is missing; the keys are forward_ns, input_grad_ns, weight_grad_ns, activation_bytes, }}
pipe.model @timed { pipe.layer @l0 synthetic<forward_ns = 1, input_grad_ns = 1> }

// -----

// expected-error @+1 {{expected a key; the keys are latency_ns, bytes_per_us}}
pipe.cluster @lab link<500> { pipe.device @d0 }

// -----

pipe.plan @p of @m on @c microbatches(1) {
  // expected-error @+1 {{expected a list of names: write [@a, @b]}}
  pipe.stage @s0 all on 0
}

// -----

// A key after a text with a quote in it.
// expected-error @+1 {{unknown key 'parametres'; did you mean parameters?}}
pipe.model @m { pipe.layer @l custom<body = "a\"b", parametres = [1]> }
