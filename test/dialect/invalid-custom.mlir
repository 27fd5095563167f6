// Errors of a custom layer and of its place.
// RUN: rondo-opt %s -split-input-file -verify-diagnostics

pipe.model @m {
  // expected-error @+1 {{body 'my-mlp' is not a C name: letters, digits and _, not beginning with a digit}}
  pipe.layer @l custom<body = "my-mlp">
}

// -----

pipe.model @m {
  // expected-error @+1 {{body '2mlp' is not a C name}}
  pipe.layer @l custom<body = "2mlp">
}

// -----

pipe.model @m {
  // expected-error @+1 {{body '' is not a C name}}
  pipe.layer @l custom<body = "">
}

// -----

pipe.model @m {
  // expected-error @+1 {{workspace_bytes is -1; the minimum is 0}}
  pipe.layer @l custom<body = "mlp", workspace_bytes = -1>
}

// -----

pipe.model @m {
  // expected-error @+1 {{kept_for_weight_grad_bytes is -1; the minimum is 0}}
  pipe.layer @l custom<body = "mlp", kept_for_weight_grad_bytes = -1>
}

// -----

pipe.model @m {
  // expected-error @+1 {{backward_workspace_bytes is -1; the minimum is 0}}
  pipe.layer @l custom<body = "mlp", backward_workspace_bytes = -1>
}

// -----

pipe.model @m {
  // expected-error @+1 {{output_without_grad_bytes is 65, more than the output_bytes of 64}}
  pipe.layer @l custom<body = "mlp", output_bytes = 64, output_without_grad_bytes = 65>
}

// -----

pipe.model @m {
  // expected-error @+1 {{weight_bytes is 6, not a multiple of the 4 bytes of a weight}}
  pipe.layer @l custom<body = "mlp", weight_bytes = 6>
}

// -----

pipe.model @m {
  // expected-error @+1 {{only a layer that writes the loss reads targets: add loss = true}}
  pipe.layer @l custom<body = "mlp", data = targets>
}

// -----

pipe.model @m {
  // expected-error @+1 {{a layer of kind custom states its own figures}}
  "pipe.layer"() <{body = #pipe.role<custom>, sym_name = "l"}> : () -> ()
}

// -----

// expected-note @+1 {{add gpt<vocab = ...}}
pipe.model @m {
  // expected-error @+1 {{layer @l reads tokens, but its model gives no sizes}}
  pipe.layer @l custom<body = "mlp", data = tokens>
}

// -----

// expected-note @+1 {{layers after it would have nothing to do}}
pipe.model @m {
  // expected-error @+1 {{layer @l writes the loss, but is not the last}}
  pipe.layer @l custom<body = "mlp", loss = true>
  pipe.layer @m custom<body = "mlp">
}

// -----

// expected-note @+1 {{only the first layer of a gpt has data = tokens, and only the last one data = targets}}
pipe.model @m gpt<vocab = 8, sequence = 4, hidden = 8, heads = 2, ffn = 8, batch = 1> {
  // expected-error @+1 {{layer @l of kind custom is not allowed here}}
  pipe.layer @l custom<body = "mlp">
  pipe.layer @lm_head head
}

// -----

// expected-note @+1 {{the embedding and the head share a weight: leave out tied = true}}
pipe.model @m gpt<vocab = 8, sequence = 4, hidden = 8, heads = 2, ffn = 8, batch = 1, tied = true> {
  // expected-error @+1 {{layer @l is custom, but its model is tied}}
  pipe.layer @l custom<body = "mlp", data = tokens>
  pipe.layer @lm_head head
}

// -----

pipe.model @m {
  // expected-error @+1 {{expected one of none, tokens, targets, not 'token'; did you mean tokens?}}
  pipe.layer @l custom<body = "mlp", data = token>
}
