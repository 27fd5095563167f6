//===- RankOrder.h - Writes a rank's order by kind and chunk ----*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#ifndef RONDO_SCHEDULE_FAMILIES_RANKORDER_H
#define RONDO_SCHEDULE_FAMILIES_RANKORDER_H

#include "schedule/families/Placement.h"
#include "schedule/model/Task.h"

namespace rondo {

/// Appends the tasks of one rank. Each kind and chunk takes its micro-batches
/// in order. Micro-batches from `last` on are counted but not appended.
class RankOrder {
public:
  RankOrder(Schedule &schedule, const Chunks &chunks, int32_t rank,
            int64_t last)
      : schedule(schedule), chunks(chunks), rank(rank), last(last),
        taken(chunks.count) {}

  void forward(int32_t chunk) {
    append(ActionKind::Forward, chunk, taken[chunk][Task::F]++);
  }
  void inputGrad(int32_t chunk) {
    append(ActionKind::InputGrad, chunk, taken[chunk][Task::I]++);
  }
  void weightGrad(int32_t chunk) {
    append(ActionKind::WeightGrad, chunk, taken[chunk][Task::W]++);
  }
  /// Appends a fused backward. Precondition: no weight gradient of the chunk is
  /// pending.
  void backward(int32_t chunk) {
    append(ActionKind::Backward, chunk, taken[chunk][Task::I]++);
    ++taken[chunk][Task::W];
  }

  int64_t forwards(int32_t chunk) const { return taken[chunk][Task::F]; }
  int64_t weightGrads(int32_t chunk) const { return taken[chunk][Task::W]; }

private:
  void append(ActionKind kind, int32_t chunk, int64_t microbatch) {
    if (microbatch < last)
      schedule.append({kind, chunks.stage(chunk, rank), microbatch});
  }

  Schedule &schedule;
  const Chunks &chunks;
  int32_t rank;
  int64_t last;
  /// [chunk]: number of F, I and W; B counts as I and W.
  std::vector<PerTask<int64_t>> taken;
};

/// The schedule in which `append(order, chunks, rank)` appends the order of
/// each rank: `tasksEach` tasks per stage and micro-batch. A fault if there is
/// no placement.
template <typename Append>
FamilyResult orderRanks(const Result<Chunks> &placement, const Problem &problem,
                        int64_t tasksEach, const Append &append) {
  if (!placement)
    return placement.fault();
  const Chunks &chunks = *placement;
  Schedule schedule;
  schedule.reserve(tasksEach * problem.numStages() * problem.microbatches);
  for (int32_t rank = 0; rank < chunks.ranks; ++rank) {
    RankOrder order(schedule, chunks, rank, problem.microbatches);
    append(order, chunks, rank);
    schedule.endRank();
  }
  return schedule;
}

} // namespace rondo

#endif // RONDO_SCHEDULE_FAMILIES_RANKORDER_H
