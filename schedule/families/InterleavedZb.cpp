//===- InterleavedZb.cpp - Interleaved, weight gradients apart --*- C++ -*-===//
//
// PyTorch's ScheduleInterleavedZeroBubble: interleaved 1F1B with the split
// backward of Qi et al., "Zero Bubble Pipeline Parallelism", arXiv 2401.10241
// (which calls I "B").
//
//   rank 0   0F0 0F1 2F0 2F1 2I0 2W0 0F2 2I1 2W1 0F3 0I0 0W0 2F2 0I1 0W1 ...
//   rank 1   1F0 1F1 3F0 3I0 3F1 3I1 3W0 1F2 1I0 3W1 1F3 1I1 1W0 3F2 3I2 ...
//
// Rounds as in Interleaved1F1B.cpp. Rank r first runs (v - 1)n + P - 1 - r
// forwards, then F and I alternately. From the r-th I on (counted from 0) each
// is followed by the oldest pending W; the other W at the end. With equal times
// makespan 3M + (P - 1) / v in times of a whole rank; a rank holds up to P
// activations.
//
//===----------------------------------------------------------------------===//

#include "schedule/families/RankOrder.h"
#include "schedule/families/Registry.h"
#include "schedule/families/Rounds.h"

using namespace rondo;

static FamilyResult generateInterleavedZb(const Problem &problem,
                                          const FamilyArguments &) {
  auto placement = needLoopedPlacement("interleaved-zb", problem);
  if (auto *reason = std::get_if<NotApplicable>(&placement))
    return *reason;
  const Chunks &chunks = std::get<Chunks>(placement);
  const Rounds rounds(problem, chunks);
  Schedule schedule;
  schedule.reserve(3 * rounds.total() * chunks.ranks);
  for (int32_t r = 0; r < chunks.ranks; ++r) {
    RankOrder order(schedule, chunks, r, problem.microbatches);
    const int64_t warmUp = rounds.warmUp(r, 1);
    for (int64_t k = 0; k < warmUp; ++k)
      order.forward(rounds.forwardChunk(k));
    int64_t weightGrad = 0;
    for (int64_t k = 0; k < rounds.total(); ++k) {
      if (warmUp + k < rounds.total())
        order.forward(rounds.forwardChunk(warmUp + k));
      order.inputGrad(rounds.backwardChunk(k));
      if (k >= r)
        order.weightGrad(rounds.backwardChunk(weightGrad++));
    }
    while (weightGrad < rounds.total())
      order.weightGrad(rounds.backwardChunk(weightGrad++));
    schedule.endRank();
  }
  return schedule;
}

Family rondo::interleavedZb() {
  return {"interleaved-zb",
          "interleaved-1f1b with weight gradients in the bubbles",
          "Qi et al., arXiv 2401.10241; PyTorch",
          {},
          generateInterleavedZb};
}
