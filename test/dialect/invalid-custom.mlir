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

// expected-note @+1 {{the embedding and the head share a weight: leave out tied = true, or write a gpt<...>}}
pipe.model @m llama<vocab = 8, sequence = 4, hidden = 8, heads = 2, kv_heads = 2, ffn = 8, batch = 1, tied = true> {
  // expected-error @+1 {{layer @l is custom, but its model is a tied llama}}
  pipe.layer @l custom<body = "mlp", data = tokens>
  pipe.layer @lm_head head
}

// -----

pipe.model @m {
  // expected-error @+1 {{expected one of none, tokens, targets, not 'token'; did you mean tokens?}}
  pipe.layer @l custom<body = "mlp", data = token>
}

// -----

// expected-note @+1 {{write samples(N) after @m}}
pipe.model @m {
  // expected-error @+1 {{layer @l reads stream 'labels', but its model does not say how many samples a micro-batch has}}
  pipe.layer @l custom<body = "mlp", streams = [data<name = "labels", dtype = int32>]>
}

// -----

// expected-note @+1 {{write samples(N) after @m, and leave out the architecture}}
pipe.model @m gpt<vocab = 8, sequence = 4, hidden = 8, heads = 2, ffn = 8, batch = 1> {
  pipe.layer @wte embedding
  // expected-error @+1 {{layer @l reads stream 'masks', but the data of its model are tokens}}
  pipe.layer @l custom<body = "mlp", streams = [data<name = "masks", dtype = uint8>]>
  pipe.layer @lm_head head
}

// -----

pipe.model @m samples(2) {
  // expected-note @+1 {{layer @a reads #pipe.data<name = "x", dtype = fp32, sizes = [3]>}}
  pipe.layer @a custom<body = "mlp", streams = [data<name = "x", dtype = fp32, sizes = [3]>]>
  // expected-error @+1 {{layer @b reads #pipe.data<name = "x", dtype = fp32, sizes = [4]>, another stream of the same name}}
  pipe.layer @b custom<body = "mlp", streams = [data<name = "x", dtype = fp32, sizes = [4]>]>
}

// -----

// expected-note @+1 {{only custom layers state their sizes for a number of samples: leave out samples}}
pipe.model @m samples(2) {
  // expected-error @+1 {{layer @l is synthetic, but its model states its samples}}
  pipe.layer @l synthetic<forward_ns = 1, input_grad_ns = 1, weight_grad_ns = 1>
}

// -----

// expected-error @+1 {{samples(2) and batch = 1 both say how many samples a micro-batch has: leave out samples}}
pipe.model @m gpt<vocab = 8, sequence = 4, hidden = 8, heads = 2, ffn = 8, batch = 1> samples(2) {
  pipe.layer @wte embedding
  pipe.layer @lm_head head
}

// -----

// expected-error @+1 {{samples is 0; it must be 1 or more}}
pipe.model @m samples(0) {
  pipe.layer @l custom<body = "mlp">
}

// -----

pipe.model @m samples(2) {
  // expected-error @+1 {{the layer reads stream 'x' twice}}
  pipe.layer @l custom<body = "mlp", streams = [data<name = "x", dtype = fp32>, data<name = "x", dtype = fp32>]>
}

// -----

pipe.model @m samples(2) {
  // expected-error @+1 {{stream 'x' has a size of 0; the minimum is 1}}
  pipe.layer @l custom<body = "mlp", streams = [data<name = "x", dtype = fp32, sizes = [4, 0]>]>
}

// -----

pipe.model @m samples(2) {
  // expected-error @+1 {{stream 'x' has 8 sizes; the maximum is 7}}
  pipe.layer @l custom<body = "mlp", streams = [data<name = "x", dtype = fp32, sizes = [1, 1, 1, 1, 1, 1, 1, 1]>]>
}

// -----

pipe.model @m samples(2) {
  // expected-error @+1 {{stream 'x' has more than 274877906944 numbers for each sample}}
  pipe.layer @l custom<body = "mlp", streams = [data<name = "x", dtype = fp32, sizes = [1000000, 1000000]>]>
}

// -----

pipe.model @m samples(2) {
  // expected-error @+1 {{stream 'x' is fp32, of which any number is allowed: leave out below and ignored}}
  pipe.layer @l custom<body = "mlp", streams = [data<name = "x", dtype = fp32, below = 3>]>
}

// -----

pipe.model @m samples(2) {
  // expected-error @+1 {{stream 'x' has below = 257; its numbers are at most 255}}
  pipe.layer @l custom<body = "mlp", streams = [data<name = "x", dtype = uint8, below = 257>]>
}

// -----

pipe.model @m samples(2) {
  // expected-error @+1 {{stream 'x' has ignored = -100; its numbers are from 0 to 255}}
  pipe.layer @l custom<body = "mlp", streams = [data<name = "x", dtype = uint8, ignored = -100>]>
}

// -----

pipe.model @m samples(2) {
  // expected-error @+1 {{expected one of fp32, int32, uint8, not 'f32'}}
  pipe.layer @l custom<body = "mlp", streams = [data<name = "x", dtype = f32>]>
}

// -----

pipe.model @m samples(2) {
  // expected-error @+1 {{data = tokens and streams are of two models: leave out one}}
  pipe.layer @l custom<body = "mlp", data = tokens, streams = [data<name = "x", dtype = fp32>]>
}

// -----

pipe.model @m {
  // expected-error @+1 {{tensors is 65537; the maximum is 65536}}
  pipe.layer @l custom<body = "mlp", tensors = 65537>
}

// -----

pipe.model @m {
  // expected-error @+1 {{frozen_weight_bytes is 64 of 100; what lies before it must be a multiple of 64 bytes, or nothing}}
  pipe.layer @l custom<body = "mlp", weight_bytes = 100, frozen_weight_bytes = 64>
}

// -----

pipe.model @m {
  // expected-error @+1 {{frozen_weight_bytes is 128 of 64; what lies before it}}
  pipe.layer @l custom<body = "mlp", weight_bytes = 64, frozen_weight_bytes = 128>
}

// -----

pipe.model @m {
  // expected-error @+1 {{saved has two parts named 'x'}}
  pipe.layer @l custom<body = "mlp", saved = [part<name = "x", bytes = 4>, part<name = "x", bytes = 8, read_by = input_grad>]>
}

// -----

pipe.model @m {
  // expected-error @+1 {{part '0.x' of saved needs a name of letters, digits, _, ., - and $ that begins with a letter or _}}
  pipe.layer @l custom<body = "mlp", saved = [part<name = "0.x", bytes = 4>]>
}

// -----

pipe.model @m {
  // expected-error @+1 {{part 'saved_for_weight_grad' of saved has the name of all parts that W reads: give it another}}
  pipe.layer @l custom<body = "mlp", saved = [part<name = "saved_for_weight_grad", bytes = 4>]>
}

// -----

pipe.model @m {
  // expected-error @+1 {{saved_for_weight_grad_bytes and saved state the same bytes: leave out saved_for_weight_grad_bytes}}
  pipe.layer @l custom<body = "mlp", saved_for_weight_grad_bytes = 4, saved = [part<name = "x", bytes = 4>]>
}

// -----

pipe.model @m {
  // expected-error @+1 {{bytes of part 'x' is -4; the minimum is 0}}
  pipe.layer @l custom<body = "mlp", saved = [part<name = "x", bytes = -4>]>
}

// -----

pipe.model @m {
  // expected-error @+1 {{bytes of part 'x' has 2 numbers, but the layer does not say for which numbers of samples: add samples = [...]}}
  pipe.layer @l custom<body = "mlp", saved = [part<name = "x", bytes = [4, 8]>]>
}

// -----

pipe.model @m samples(2) {
  // expected-error @+1 {{bytes of part 'x' has 3 numbers for 2 numbers of samples (samples)}}
  pipe.layer @l custom<body = "mlp", samples = [1, 2], saved = [part<name = "x", bytes = [4, 8, 12]>]>
}

// -----

pipe.model @m {
  // expected-error @+1 {{expected one of both, input_grad, weight_grad, not 'I'}}
  pipe.layer @l custom<body = "mlp", saved = [part<name = "x", bytes = 4, read_by = I>]>
}

// -----

pipe.model @m {
  // expected-error @+1 {{custom op 'pipe.layer' key 'bytes' is missing; the keys are name, bytes, read_by}}
  pipe.layer @l custom<body = "mlp", saved = [part<name = "x">]>
}

// -----

pipe.model @m {
  // expected-error @+1 {{saved has 33 parts; the maximum is 32}}
  pipe.layer @l custom<body = "mlp", saved = [part<name = "p0", bytes = 4>, part<name = "p1", bytes = 4>, part<name = "p2", bytes = 4>, part<name = "p3", bytes = 4>, part<name = "p4", bytes = 4>, part<name = "p5", bytes = 4>, part<name = "p6", bytes = 4>, part<name = "p7", bytes = 4>, part<name = "p8", bytes = 4>, part<name = "p9", bytes = 4>, part<name = "p10", bytes = 4>, part<name = "p11", bytes = 4>, part<name = "p12", bytes = 4>, part<name = "p13", bytes = 4>, part<name = "p14", bytes = 4>, part<name = "p15", bytes = 4>, part<name = "p16", bytes = 4>, part<name = "p17", bytes = 4>, part<name = "p18", bytes = 4>, part<name = "p19", bytes = 4>, part<name = "p20", bytes = 4>, part<name = "p21", bytes = 4>, part<name = "p22", bytes = 4>, part<name = "p23", bytes = 4>, part<name = "p24", bytes = 4>, part<name = "p25", bytes = 4>, part<name = "p26", bytes = 4>, part<name = "p27", bytes = 4>, part<name = "p28", bytes = 4>, part<name = "p29", bytes = 4>, part<name = "p30", bytes = 4>, part<name = "p31", bytes = 4>, part<name = "p32", bytes = 4>]>
}
