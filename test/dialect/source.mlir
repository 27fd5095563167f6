// Clusters and models: full and shortest forms.
// RUN: rondo-opt %s -verify-roundtrip | FileCheck %s

// CHECK-LABEL: pipe.cluster @full channels<eager, receive_slots = 2> link<latency_ns = 7, bytes_per_us = 9> {
pipe.cluster @full channels<eager, receive_slots = 2> link<latency_ns = 7, bytes_per_us = 9> {
  // CHECK-NEXT: pipe.device @cpu0 <memory_bytes = 268435456, flops_per_us = 40000>
  pipe.device @cpu0 <memory_bytes = 268435456, flops_per_us = 40000>
  // CHECK-NEXT: pipe.device @cpu1 <flops_per_us = 1>{{$}}
  pipe.device @cpu1 <flops_per_us = 1>
  // CHECK-NEXT: pipe.device @cpu2{{$}}
  pipe.device @cpu2
  // CHECK-NEXT: pipe.link @cpu0 -> @cpu1 <latency_ns = 5000, bytes_per_us = 45000>
  pipe.link @cpu0 -> @cpu1 <latency_ns = 5000, bytes_per_us = 45000>
  // CHECK-NEXT: pipe.link @cpu1 -> @cpu0 <latency_ns = 1>
  pipe.link @cpu1 -> @cpu0 <latency_ns = 1>
  // CHECK-NEXT: pipe.nic @nic0 [@cpu0, @cpu1] <bytes_per_us = 12500>
  pipe.nic @nic0 [@cpu0, @cpu1] <bytes_per_us = 12500>
  // CHECK-NEXT: pipe.nic @nic1 [@cpu2] <bytes_per_us = 1, server = 7>
  pipe.nic @nic1 [@cpu2] <bytes_per_us = 1, server = 7>
}

// CHECK-LABEL: pipe.cluster @short channels<rendezvous> {
// CHECK-NEXT: pipe.device @only{{$}}
pipe.cluster @short channels<rendezvous, receive_slots = 0> { pipe.device @only }

// CHECK-LABEL: pipe.model @gpt gpt<vocab = 256, sequence = 64, hidden = 128, heads = 4, ffn = 512, batch = 4, tied = true> {
pipe.model @gpt gpt<vocab = 256, sequence = 64, hidden = 128, heads = 4, ffn = 512, batch = 4, tied = true> {
  // CHECK-NEXT: pipe.layer @wte embedding{{$}}
  pipe.layer @wte embedding
  // CHECK-NEXT: pipe.layer @h0 block costs<forward_ns = 1000, input_grad_ns = 1000, weight_grad_ns = 900>
  pipe.layer @h0 block costs<forward_ns = 1000, input_grad_ns = 1000, weight_grad_ns = 900>
  // CHECK-NEXT: pipe.layer @lm_head head{{$}}
  pipe.layer @lm_head head
}

// An untied head is the default, and is not printed.
// CHECK-LABEL: pipe.model @untied gpt<
// CHECK-SAME: batch = 1> {
pipe.model @untied gpt<vocab = 2, sequence = 1, hidden = 2, heads = 1, ffn = 2, batch = 1, tied = false> {
  pipe.layer @wte embedding
  pipe.layer @lm_head head
}

// CHECK-LABEL: pipe.model @timed {
pipe.model @timed {
  // CHECK-NEXT: pipe.layer @l0 synthetic<forward_ns = 3, input_grad_ns = 4, weight_grad_ns = 2, activation_bytes = 2, input_grad_frees_bytes = 1, output_bytes = 5, weight_bytes = 6>
  pipe.layer @l0 synthetic<forward_ns = 3, input_grad_ns = 4, weight_grad_ns = 2, activation_bytes = 2,
                           input_grad_frees_bytes = 1, output_bytes = 5, weight_bytes = 6>
  // CHECK-NEXT: pipe.layer @l1 synthetic<forward_ns = 3, input_grad_ns = 4, weight_grad_ns = 2>
  pipe.layer @l1 synthetic<forward_ns = 3, input_grad_ns = 4, weight_grad_ns = 2>
}

// CHECK-LABEL: pipe.model @from_outside {
pipe.model @from_outside {
  // CHECK-NEXT: pipe.layer @l0 custom<body = "source">
  pipe.layer @l0 custom<body = "source", parameters = [], data = none, loss = false>
  // CHECK-NEXT: pipe.layer @l1 custom<body = "last", parameters = [4, -2], weight_bytes = 4, saved_for_input_grad_bytes = 1, saved_for_weight_grad_bytes = 2, output_bytes = 3, workspace_bytes = 5, loss = true, forward_flops = 6, input_grad_flops = 7, weight_grad_flops = 8> costs<forward_ns = 1, input_grad_ns = 2, weight_grad_ns = 3>
  pipe.layer @l1 custom<body = "last", loss = true, parameters = [4, -2], weight_bytes = 4,
                        saved_for_input_grad_bytes = 1, saved_for_weight_grad_bytes = 2, output_bytes = 3,
                        workspace_bytes = 5, forward_flops = 6, input_grad_flops = 7, weight_grad_flops = 8>
      costs<forward_ns = 1, input_grad_ns = 2, weight_grad_ns = 3>
}
// CHECK-LABEL: pipe.model @streams samples(8) {
pipe.model @streams samples(8) {
  // CHECK-NEXT: custom<body = "a", weight_bytes = 1280, streams = [data<name = "images", dtype = fp32, sizes = [3, 32, 32]>, data<name = "mask", dtype = uint8>], tensors = 20, frozen_weight_bytes = 256>
  pipe.layer @l0 custom<body = "a", weight_bytes = 1280, tensors = 20, frozen_weight_bytes = 256,
                        streams = [data<dtype = fp32, sizes = [3, 32, 32], name = "images">,
                                   data<name = "mask", dtype = uint8, sizes = []>]>
  // CHECK-NEXT: custom<body = "b", loss = true, streams = [data<name = "labels", dtype = int32, below = 10, ignored = -100>]>
  pipe.layer @l1 custom<body = "b", loss = true, streams = [data<name = "labels", dtype = int32, below = 10, ignored = -100>]>
}
// Named parts of what F saves: both tasks read a part unless one is named.
// CHECK-LABEL: pipe.model @parts samples(2) {
pipe.model @parts samples(2) {
  // CHECK-NEXT: custom<body = "a", samples = [1, 2], saved = [part<name = "attn.qkv", bytes = [64, 128]>, part<name = "scale", bytes = 16, read_by = input_grad>, part<name = "x", bytes = 32, read_by = weight_grad>]>
  pipe.layer @l0 custom<body = "a", samples = [1, 2],
                        saved = [part<bytes = [64, 128], name = "attn.qkv", read_by = both>,
                                 part<name = "scale", bytes = 16, read_by = input_grad>,
                                 part<name = "x", bytes = 32, read_by = weight_grad>]>
}
// CHECK-LABEL: pipe.model @between gpt
pipe.model @between gpt<vocab = 8, sequence = 4, hidden = 8, heads = 2, ffn = 8, batch = 1> {
  // CHECK-NEXT: custom<body = "table", data = tokens>
  pipe.layer @l0 custom<body = "table", data = tokens>
  pipe.layer @l1 block
  // CHECK: custom<body = "logits", data = targets, loss = true>
  pipe.layer @l2 custom<body = "logits", data = targets, loss = true>
}
