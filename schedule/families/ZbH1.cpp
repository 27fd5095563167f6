//===- ZbH1.cpp - 1F1B with weight gradients in the bubbles -----*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Qi et al., "Zero Bubble Pipeline Parallelism", arXiv 2401.10241, schedule H1
// (which calls I "B"), in the closed form of Shardy's MPMD schedules.
//
//   rank 0   F0 F1 F2 ..  .. I0 W0 F3 I1 W1 I2 W2 I3 W3
//   rank 1      F0 F1 .. I0 F2 I1 W0 F3 I2 W1 I3 W2 W3
//   rank 2         F0 I0 F1 I1 F2 I2 W0 F3 I3 W1 W2 W3
//
// Rank s first runs min(S - s, M) forwards. Then for every micro-batch i: I of
// i, W of i - s if there is one, the next F; the remaining W at the end. W lags
// by s, so a rank holds S activations until W, as 1F1B's first rank does. With
// equal times, the makespan is 3M + S - 1.
//
//===----------------------------------------------------------------------===//

#include "schedule/families/LinearOrders.h"
#include "schedule/families/Registry.h"

#include <algorithm>

using namespace rondo;

static FamilyResult generateZbH1(const Problem &problem,
                                 const FamilyArguments &) {
  const int32_t stages = problem.numStages(), last = problem.microbatches;
  return orderStages("zb-h1", problem, 3, [&](Schedule &schedule, int32_t s) {
    int32_t forward = 0, weightGrad = 0;
    while (forward < std::min(last, stages - s))
      schedule.append({ActionKind::Forward, s, forward++});
    for (int32_t i = 0; i < last; ++i) {
      schedule.append({ActionKind::InputGrad, s, i});
      if (i >= s)
        schedule.append({ActionKind::WeightGrad, s, weightGrad++});
      if (forward < last)
        schedule.append({ActionKind::Forward, s, forward++});
    }
    while (weightGrad < last)
      schedule.append({ActionKind::WeightGrad, s, weightGrad++});
  });
}

Family rondo::zbH1() {
  return {"zb-h1",
          "1f1b that delays weight gradients into the bubbles",
          "Qi et al., arXiv 2401.10241",
          {},
          generateZbH1};
}
