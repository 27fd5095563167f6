// Memory where collectives receive what they add, in bytes worked out by hand:
// a shard of the sum for each contributing part of another rank. Shards begin at
// multiples of 32 elements of 4 bytes, and a round moves at most 2^18 of them
// between processes, 2^20 between GPUs.
// RUN: rondo-opt %s --pipe-schedule --pipe-lower -o %t
// RUN: FileCheck %s --input-file=%t
// RUN: rondo-opt %t --pipe-verify-lowered | diff %t -
// RUN: %edit 's/tied = true/tied = false/' < %s > %t.untied
// RUN: rondo-opt %t.untied --pipe-schedule --pipe-lower | FileCheck %s --check-prefix=UNTIED
// RUN: %edit 's/microbatches(2)/microbatches(2) target<cuda, fp32>/' < %s > %t.cuda
// RUN: rondo-opt %t.cuda --pipe-schedule --pipe-lower | FileCheck %s --check-prefix=CUDA
// RUN: %edit 's/vocab = 16/vocab = 1048576/' < %s > %t.large
// RUN: rondo-opt %t.large --pipe-schedule --pipe-lower | FileCheck %s --check-prefix=LARGE
// RUN: %edit 's/vocab = 16/vocab = 1048576/' < %t.cuda > %t.large-cuda
// RUN: rondo-opt %t.large-cuda --pipe-schedule --pipe-lower | FileCheck %s --check-prefix=LARGE-CUDA

pipe.cluster @lab { pipe.device @d0 pipe.device @d1 pipe.device @d2 pipe.device @d3 pipe.device @d4 }
pipe.model @gpt gpt<vocab = 16, sequence = 4, hidden = 8, heads = 2, ffn = 16, batch = 6, tied = true> {
  pipe.layer @wte embedding
  pipe.layer @lm_head head
}

// The reference runs on one rank, the evaluation adds nothing.
// CHECK-LABEL: pipe.program @several_sequential
// CHECK-NOT:   staging
// CHECK-LABEL: pipe.program @several_evaluation
// CHECK-NOT:   staging

// Both stages have 160 gradients. Three replicas have pieces of 32, 64 and 64, and
// receive theirs from two others: 2 * 64 * 4. Two replicas have 64 and 96, and
// receive it from one: 96 * 4. The tied weight has 128 in two owners: 64 * 4.
// CHECK-LABEL: pipe.program @several_lowered
// CHECK:       pipe.pool @p{{[0-9]+}} on 0 staging <offset = [[#%u,OFFSET:]], slot_bytes = 512, slots = 1>
// CHECK-NEXT:  pipe.pool @p{{[0-9]+}} on 1 staging <offset = [[#OFFSET]], slot_bytes = 512, slots = 1>
// CHECK-NEXT:  pipe.pool @p{{[0-9]+}} on 2 staging <offset = [[#OFFSET]], slot_bytes = 512, slots = 1>
// CHECK-NEXT:  pipe.pool @p{{[0-9]+}} on 3 staging <offset = {{[0-9]+}}, slot_bytes = 384, slots = 1>
// CHECK-NEXT:  pipe.pool @p{{[0-9]+}} on 4 staging <offset = {{[0-9]+}}, slot_bytes = 384, slots = 1>
// CHECK-NOT:   staging

// Between GPUs all five gather the norm's 16 values of each, after their own:
// 6 * 16 * 8.
// CUDA-LABEL: pipe.program @several_lowered
// CUDA-COUNT-5: staging <offset = {{[0-9]+}}, slot_bytes = 768, slots = 1>
// CUDA-NOT:     staging
// CUDA-LABEL: pipe.program @one_sequential

// However large the parts are: two others and one, 4 * 2^18 bytes each.
// LARGE-LABEL: pipe.program @several_lowered
// LARGE-COUNT-3: staging <offset = {{[0-9]+}}, slot_bytes = 2097152, slots = 1>
// LARGE-COUNT-2: staging <offset = {{[0-9]+}}, slot_bytes = 1048576, slots = 1>
// LARGE-CUDA-LABEL: pipe.program @several_lowered
// LARGE-CUDA-COUNT-3: staging <offset = {{[0-9]+}}, slot_bytes = 8388608, slots = 1>
// LARGE-CUDA-COUNT-2: staging <offset = {{[0-9]+}}, slot_bytes = 4194304, slots = 1>
pipe.plan @replicas of @gpt on @lab microbatches(2) {
  pipe.stage @s0 [@wte] on [0, 1, 2]
  pipe.stage @s1 [@lm_head] on [3, 4]
}
pipe.schedule @several of @replicas family<"1f1b">

// With one replica a stage, only the ranks that share a weight add anything.
// CHECK-LABEL: pipe.program @one_lowered
// CHECK-COUNT-2: staging <offset = {{[0-9]+}}, slot_bytes = 256, slots = 1>
// CHECK-NOT:   staging
// CHECK-LABEL: pipe.program @plain_sequential
// UNTIED-LABEL: pipe.program @several_lowered
// UNTIED-COUNT-5: staging
// UNTIED-LABEL: pipe.program @one_lowered
// UNTIED-NOT:  staging
// UNTIED-LABEL: pipe.program @plain_sequential
pipe.cluster @pair { pipe.device @d0 pipe.device @d1 }
pipe.plan @chain of @gpt on @pair microbatches(2) {
  pipe.stage @s0 [@wte] on 0
  pipe.stage @s1 [@lm_head] on 1
}
pipe.schedule @one of @chain family<"1f1b">

// A schedule without the norm has the same staging as the other one of its
// executable, at the same place.
// CUDA-LABEL: pipe.program @plain_lowered
// CUDA:       pipe.pool @p{{[0-9]+}} on 0 staging <offset = [[#%u,AT:]], slot_bytes = 768, slots = 1>
// CUDA-LABEL: pipe.program @clipped_lowered
// CUDA:       pipe.pool @p{{[0-9]+}} on 0 staging <offset = [[#AT]], slot_bytes = 768, slots = 1>
pipe.schedule @plain of @replicas family<"gpipe"> norm(none)
pipe.schedule @clipped of @replicas family<"zb-h1">
pipe.executable @both of [@plain, @clipped]
