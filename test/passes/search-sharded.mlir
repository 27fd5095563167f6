// A search of stages whose state is sharded takes only orders that keep the
// rules; here the families whose backwards go down the micro-batches are short.
// RUN: rondo search %s --effort 20 -o %t.mlir
// RUN: rondo verify %t.mlir

// The same problem without its plan: orders get gathers too.
// RUN: rondo simulate %s --problem-output %t.json > %t.out
// RUN: rondo search %t.json --effort 20 -o %t.jsonl | FileCheck %s
// RUN: rondo verify --problems %t.json --schedules %t.jsonl | FileCheck %s --check-prefix=LEGAL
// RUN: rondo compare %t.json --effort 20 | FileCheck %s --check-prefix=TABLE

// If no family fits with the gathers that are best for its order, others are
// tried, and at last one micro-batch at a time.
// RUN: %edit 's/67108864/15728640/' < %rondo_src_root/examples/gpt-sharded.mlir > %t-small.mlir
// RUN: rondo search %t-small.mlir --effort 20 -o %t-fits.mlir
// RUN: rondo verify %t-fits.mlir | FileCheck %s --check-prefix=SMALL
// SMALL: schedule @searched: legal
// SMALL-NEXT: its programs: legal, arena by rank {{.*}} of 15 MiB

// CHECK: wrote {{.*}}makespan
// CHECK-NOT: fits
// LEGAL: : legal
// TABLE: searched {{.*}} ms

pipe.cluster @two link<latency_ns = 1000, bytes_per_us = 10000> {
  pipe.device @d0
  pipe.device @d1
}
pipe.model @gpt gpt<vocab = 256, sequence = 16, hidden = 32, heads = 4,
                    ffn = 128, batch = 6, tied = true> {
  pipe.layer @wte embedding
  pipe.layer @h0 block
  pipe.layer @h1 block
  pipe.layer @ln_f head
}
pipe.plan @p of @gpt on @two microbatches(4) {
  pipe.stage @s0 [@wte] on [0, 1] sharded<weights>
  pipe.stage @s1 [@h0] on [0, 1] sharded<weights>
  pipe.stage @s2 [@h1, @ln_f] on [0, 1] sharded<weights>
}
pipe.schedule @s of @p search<effort = 20>
