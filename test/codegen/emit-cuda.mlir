// A plan for GPUs: its layers name target and type, and the executable names the
// backend that only the CUDA runtime library defines. All else is as on the CPU.
// RUN: rondo-opt %s --pipe-schedule --pipe-lower --pipe-emit-cpp -o /dev/null > %t.cpp
// RUN: FileCheck %s --input-file=%t.cpp
// RUN: c++ -std=c++17 -fsyntax-only -Wall -Wextra -Wpedantic -Werror -I%rondo_src_root %t.cpp

pipe.cluster @lab { pipe.device @d0 pipe.device @d1 }
pipe.model @gpt gpt<vocab = 16, sequence = 4, hidden = 8, heads = 2, ffn = 16, batch = 1, tied = true> {
  pipe.layer @wte embedding
  pipe.layer @h0 block
  pipe.layer @lm_head head
}
pipe.plan @step of @gpt on @lab microbatches(4) target<cuda, bf16> {
  pipe.stage @s0 [@wte, @h0] on 0
  pipe.stage @s1 [@lm_head] on 1
}
pipe.schedule @main of @step family<"1f1b">

// CHECK: // Last, the target and what activations are stored in.
// CHECK-NEXT: constexpr LayerDesc layers[] = {
// CHECK-NEXT: {"wte", LayerKind::GptEmbedding, 16, 4, 8, 2, 16, 1, true,
// CHECK-NEXT: 0, 0, 0, 0, 0, 0, {}, 0, 0,
// CHECK-NEXT: Target::Cuda, DType::Bf16},
// CHECK: {"lm_head",
// CHECK-NEXT: 0, 0,
// CHECK-NEXT: Target::Cuda, DType::Bf16},
// CHECK: constexpr Executable executable = {"main", 3, layers, 2, stages, 2, replicas, 2, edges, 2, arena_bytes, 3, programs,
// CHECK-NEXT: &cudaBackend, 2, links, 2, {nullptr, nullptr, nullptr, nullptr, &textGeneration}};
