//===- RankOrder.h - Writes a rank's order by kind and chunk ----*- C++ -*-===//

#ifndef RONDO_SCHEDULE_FAMILIES_RANKORDER_H
#define RONDO_SCHEDULE_FAMILIES_RANKORDER_H

#include "schedule/families/Placement.h"

#include <array>

namespace rondo {

/// Appends the tasks of one rank where every kind and chunk takes its
/// micro-batches in order. Those from `last` on are counted and left out.
class RankOrder {
public:
  RankOrder(Schedule &schedule, const Chunks &chunks, int32_t rank,
            int64_t last)
      : schedule(schedule), chunks(chunks), rank(rank), last(last),
        taken(chunks.count) {}

  void forward(int32_t chunk) {
    append(ActionKind::Forward, chunk, taken[chunk][0]++);
  }
  void inputGrad(int32_t chunk) {
    append(ActionKind::InputGrad, chunk, taken[chunk][1]++);
  }
  void weightGrad(int32_t chunk) {
    append(ActionKind::WeightGrad, chunk, taken[chunk][2]++);
  }
  /// Fused; no weight gradient of the chunk may be pending.
  void backward(int32_t chunk) {
    append(ActionKind::Backward, chunk, taken[chunk][1]++);
    ++taken[chunk][2];
  }

  int64_t forwards(int32_t chunk) const { return taken[chunk][0]; }
  int64_t weightGrads(int32_t chunk) const { return taken[chunk][2]; }

private:
  void append(ActionKind kind, int32_t chunk, int64_t microbatch) {
    if (microbatch < last)
      schedule.append({kind, chunks.stage(chunk, rank), microbatch});
  }

  Schedule &schedule;
  const Chunks &chunks;
  int32_t rank;
  int64_t last;
  /// By chunk: how many F, I (or B) and W (or B) there are.
  std::vector<std::array<int64_t, 3>> taken;
};

} // namespace rondo

#endif // RONDO_SCHEDULE_FAMILIES_RANKORDER_H
