// A rank with more queues of launches than its target lets be in flight gets the number; others, and programs that need
// none, do not. Rank 1 sends and receives both ways and has the norm: five queues. The ends of the pipeline have three.
// RUN: rondo-opt %s --pipe-schedule --pipe-lower --pipe-emit-cpp="schedule=few" -o /dev/null > %t.cpp
// RUN: FileCheck %s --input-file=%t.cpp
// RUN: c++ -std=c++17 -fsyntax-only -Wall -Wextra -Wpedantic -Werror -I%rondo_src_root %t.cpp
// RUN: rondo-opt %s --pipe-schedule --pipe-lower --pipe-emit-cpp="schedule=many" -o /dev/null | FileCheck %s --check-prefix=MANY

pipe.cluster @lab { pipe.device @d0 pipe.device @d1 pipe.device @d2 }
pipe.model @gpt gpt<vocab = 16, sequence = 4, hidden = 8, heads = 2, ffn = 16, batch = 1, tied = false> {
  pipe.layer @wte embedding
  pipe.layer @h0 block
  pipe.layer @lm_head head
}
pipe.plan @four of @gpt on @lab microbatches(4) target<cuda, bf16, resident = 4> {
  pipe.stage @s0 [@wte] on 0
  pipe.stage @s1 [@h0] on 1
  pipe.stage @s2 [@lm_head] on 2
}
pipe.schedule @few of @four family<"1f1b">
pipe.plan @default of @gpt on @lab microbatches(4) target<cuda, bf16> {
  pipe.stage @s0 [@wte] on 0
  pipe.stage @s1 [@h0] on 1
  pipe.stage @s2 [@lm_head] on 2
}
pipe.schedule @many of @default family<"1f1b">

// CHECK: // By rank: sends, receives and collectives in flight at once; 0: all.
// CHECK-NEXT: constexpr int32_t resident[] = {0, 4, 0};
// CHECK: constexpr ProgramDesc programs[] = {
// CHECK: ProgramKind::Pipeline
// CHECK: ::work_ns, nullptr, {{.*}}::resident},

// MANY: constexpr ProgramDesc programs[] = {
// MANY-NOT: resident
