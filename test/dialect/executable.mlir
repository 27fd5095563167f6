// Schedules over one state, of plans whose micro-batches differ.
// RUN: rondo-opt %s | rondo-opt | FileCheck %s

pipe.cluster @lab { pipe.device @d0 pipe.device @d1 }
pipe.model @gpt gpt<vocab = 16, sequence = 4, hidden = 8, heads = 2, ffn = 16, batch = 4> {
  pipe.layer @wte embedding
  pipe.layer @lm_head head
}
pipe.plan @few of @gpt on @lab microbatches(2) {
  pipe.stage @s0 [@wte] on 0
  pipe.stage @s1 [@lm_head] on 1
}
// CHECK: pipe.plan @many of @gpt on @lab microbatches(8) samples(1) {
pipe.plan @many of @gpt on @lab microbatches(8) samples(1) {
  pipe.stage @s0 [@wte] on 0
  pipe.stage @s1 [@lm_head] on 1
}
pipe.schedule @a of @few family<"gpipe">
pipe.schedule @b of @many family<"1f1b">
// CHECK: pipe.executable @train of [@a, @b]
pipe.executable @train of [@a, @b]
pipe.schedule @c of @few family<"1f1b">
// CHECK: pipe.executable @follow of [@c] adaptive<candidates = 4, memory_bytes = 1000, effort = 30, seed = 2>
pipe.executable @follow of [@c] adaptive<seed = 2, candidates = 4, effort = 30, memory_bytes = 1000>
pipe.schedule @d of @few family<"1f1b">
// CHECK: pipe.executable @usual of [@d] adaptive<>
pipe.executable @usual of [@d] adaptive<>
