//===- RankOrder.h - Writes a rank's order by kind and chunk ----*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#ifndef RONDO_SCHEDULE_FAMILIES_RANKORDER_H
#define RONDO_SCHEDULE_FAMILIES_RANKORDER_H

#include "schedule/families/Placement.h"
#include "schedule/model/Task.h"

#include <algorithm>

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

/// Appends the order of a stage: `warmup` forwards, then one fused backward and
/// one forward alternately, then the remaining backwards.
inline void appendOneForwardOneBackward(Schedule &schedule, int32_t stage,
                                        int32_t microbatches, int32_t warmup) {
  int32_t forward = 0;
  while (forward < std::min(microbatches, warmup))
    schedule.append({ActionKind::Forward, stage, forward++});
  for (int32_t i = 0; i < microbatches; ++i) {
    schedule.append({ActionKind::Backward, stage, i});
    if (forward < microbatches)
      schedule.append({ActionKind::Forward, stage, forward++});
  }
}

} // namespace rondo

#endif // RONDO_SCHEDULE_FAMILIES_RANKORDER_H
