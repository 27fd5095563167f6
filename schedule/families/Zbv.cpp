//===- Zbv.cpp - Zero bubble in a V -----------------------------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Qi et al., "Pipeline Parallelism with Controllable Memory", arXiv 2405.15362,
// schedule V-ZB (which calls I "B"), in the closed form of PyTorch's
// ScheduleZBVZeroBubble. Rank r holds the stages r and 2P - 1 - r; a small
// letter is a task of the second.
//
//   rank 0   F0 F1 F2 f0 i0 w0 f1 i1 w1 I0 W0 f2 i2 w2 I1 W1 I2 W2
//   rank 1      F0 f0 F1 f1 i0 w0 F2 I0 W0 f2 i1 w1 I1 i2 I2 W1 w2 W2
//
// Rank r: 2(P - r) - 1 F; r times (f F); P - r times (f i w); (F I W f i w)
// until there are no forwards left; r times (I i); P - r times (I W); the other
// w, then W. It is written for max(M, 2P - 1) micro-batches; those from M on
// are dropped. With equal times and M >= 2P, in times of a whole rank, the span
// is 3M and the makespan 3M + (P - 1) / 2; a rank holds P activations.
//
//===----------------------------------------------------------------------===//

#include "schedule/families/RankOrder.h"
#include "schedule/families/Registry.h"

#include <algorithm>

using namespace rondo;

static FamilyResult generateZbv(const Problem &problem,
                                const FamilyArguments &) {
  auto append = [&](RankOrder &order, const Chunks &chunks, int64_t r) {
    const int64_t ranks = chunks.ranks;
    const int64_t all = std::max<int64_t>(problem.microbatches, 2 * ranks - 1);
    auto backward = [&](int32_t chunk) {
      order.inputGrad(chunk);
      order.weightGrad(chunk);
    };
    for (int64_t i = 0; i < 2 * (ranks - r) - 1; ++i)
      order.forward(0);
    for (int64_t i = 0; i < r; ++i) {
      order.forward(1);
      order.forward(0);
    }
    for (int64_t i = 0; i < ranks - r; ++i) {
      order.forward(1);
      backward(1);
    }
    while (order.forwards(1) < all) {
      if (order.forwards(0) < all)
        order.forward(0);
      backward(0);
      order.forward(1);
      backward(1);
    }
    for (int64_t i = 0; i < r; ++i) {
      order.inputGrad(0);
      order.inputGrad(1);
    }
    for (int64_t i = 0; i < ranks - r; ++i)
      backward(0);
    for (int32_t chunk : {1, 0})
      while (order.weightGrads(chunk) < all)
        order.weightGrad(chunk);
  };
  return orderRanks(needVPlacement("zbv", problem), problem, 3, append);
}

Family rondo::zbv() {
  return {"zbv",
          "zero bubble over two chunks per rank in a V, with 1f1b's memory",
          "Qi et al., arXiv 2405.15362",
          {},
          generateZbv};
}
