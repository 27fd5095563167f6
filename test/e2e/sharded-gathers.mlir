// A chunk that is gathered more often than there are micro-batches finds its slots: tables of slots are written in a
// short form, which must go on for all gathers.
//
// RUN: rm -rf %t && mkdir %t
// RUN: rondo compile %s --emit=lowered | FileCheck %s --check-prefix=GATHERS
// RUN: rondo compile %s -o %t/train && %t/train --verify --iterations 2 --quiet | FileCheck %s
//
// Gather 7, the eighth of stage 1, is of 4 micro-batches.
// GATHERS: pipe.unshard @s1[7]
// CHECK: verify: PASS 67776 weights in {{[0-9]+}} tensors are bit-equal after 2 iterations

pipe.cluster @c link<latency_ns = 1000, bytes_per_us = 5000> {
  pipe.device @d0 <memory_bytes = 67108864, flops_per_us = 40000>
  pipe.device @d1 <memory_bytes = 67108864, flops_per_us = 40000>
}
pipe.model @gpt gpt<vocab = 256, sequence = 16, hidden = 32, heads = 4, ffn = 128, batch = 4, tied = false> {
  pipe.layer @wte embedding
  pipe.layer @h1 block
  pipe.layer @h2 block
  pipe.layer @h3 block
  pipe.layer @h4 block
  pipe.layer @ln_f head
}
pipe.plan @p of @gpt on @c microbatches(4) {
  pipe.stage @s0 [@wte] on [0, 1] sharded<weights>
  pipe.stage @s1 [@h1] on [0, 1] sharded<weights>
  pipe.stage @s2 [@h2, @h3] on [0, 1] sharded<weights>
  pipe.stage @s3 [@h4] on [0, 1] sharded<weights>
  pipe.stage @s4 [@ln_f] on [0, 1] sharded<weights>
}
pipe.schedule @x of @p family<"blockwise", u = 2> gathers<weights = 1, gradients = 1>
