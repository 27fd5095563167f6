//===- InterleavedZb.cpp - Interleaved, weight gradients apart --*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// PyTorch's ScheduleInterleavedZeroBubble: interleaved 1F1B with the split
// backward of Qi et al., "Zero Bubble Pipeline Parallelism", arXiv 2401.10241
// (which calls I "B").
//
// With two chunks; a small letter is a task of the second:
//
//   rank 0   F0 F1 F2 f0 f1    i0 w0 f2 i1 w1 i2 w2 I0 W0 I1 W1 I2 W2
//   rank 1      F0 F1 F2 f0 i0 f1 i1 w0 f2 i2 w1 I0 w2 I1 W0 I2 W1 W2
//
// Rounds as in Interleaved1F1B.cpp. Rank r first runs (v - 1)n + P - 1 - r
// forwards, then F and I alternately. From the r-th I on (counted from 0), each
// is followed by the oldest pending W; the remaining W are at the end. With
// equal times, in times of a whole rank, the makespan is 3M + (P - 1) / v; a
// rank holds up to P activations.
//
//===----------------------------------------------------------------------===//

#include "schedule/families/RankOrder.h"
#include "schedule/families/Registry.h"
#include "schedule/families/Rounds.h"

using namespace rondo;

static FamilyResult generateInterleavedZb(const Problem &problem,
                                          const FamilyArguments &) {
  auto append = [&](RankOrder &order, const Chunks &chunks, int32_t r) {
    const Rounds rounds(problem, chunks);
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
  };
  return orderRanks(needLoopedPlacement("interleaved-zb", problem), problem, 3,
                    append);
}

Family rondo::interleavedZb() {
  return {"interleaved-zb",
          "interleaved-1f1b with weight gradients in the bubbles",
          "Qi et al., arXiv 2401.10241; PyTorch",
          {},
          generateInterleavedZb};
}
