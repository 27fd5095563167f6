//===- LoopedBfs.cpp - Chunk after chunk, all micro-batches -----*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Lamy-Poirier, "Breadth-First Pipeline Parallelism", arXiv 2211.05953, in the
// order of PyTorch's ScheduleLoopedBFS. Stage = chunk * P + rank; fused B.
//
//   rank 0   0F0 0F1 2F0 2F1             2B1 --- 2B0 --- 0B1 --- 0B0 ---
//   rank 1       1F0 1F1 3F0 3F1 3B1 --- 3B0 --- 1B1 --- 1B0 ---
//
// A rank runs all forwards of each chunk, chunks ascending; then all backwards
// of each chunk, chunks and micro-batches descending. This adds gradients in a
// different order than rule S7 requires, so a schedule in the language needs
// accumulate(schedule_order). With equal times and M >= P, in times of a whole
// rank, the makespan is 3M + 3(P - 1) / v; a rank holds M activations.
//
//===----------------------------------------------------------------------===//

#include "schedule/families/Registry.h"

using namespace rondo;

static FamilyResult generateLoopedBfs(const Problem &problem,
                                      const FamilyArguments &) {
  auto placement = needLoopedPlacement("looped-bfs", problem);
  if (!placement)
    return placement.fault();
  const Chunks &chunks = *placement;
  const int64_t last = problem.microbatches;
  Schedule schedule;
  schedule.reserve(2 * last * problem.numStages());
  for (int32_t r = 0; r < chunks.ranks; ++r) {
    for (int32_t c = 0; c < chunks.count; ++c)
      for (int64_t i = 0; i < last; ++i)
        schedule.append({ActionKind::Forward, chunks.stage(c, r), i});
    for (int32_t c = chunks.count - 1; c >= 0; --c)
      for (int64_t i = last - 1; i >= 0; --i)
        schedule.append({ActionKind::Backward, chunks.stage(c, r), i});
    schedule.endRank();
  }
  return schedule;
}

Family rondo::loopedBfs() {
  return {"looped-bfs",
          "all forwards chunk by chunk, then all backwards",
          "Lamy-Poirier, arXiv 2211.05953",
          {},
          generateLoopedBfs};
}
