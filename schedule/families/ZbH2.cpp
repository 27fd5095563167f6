//===- ZbH2.cpp - No bubble within a rank, for twice the memory -*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Qi et al., "Zero Bubble Pipeline Parallelism", arXiv 2401.10241, schedule H2
// (which calls I "B"), in the closed form of Shardy's MPMD schedules without
// latency.
//
//   rank 0   F0 F1 F2 F3 F4 I0 W0 I1 W1 I2 W2 I3 W3 I4 W4
//   rank 1      F0 F1 F2 I0 F3 I1 F4 I2 W0 I3 W1 I4 W2 W3 W4
//   rank 2         F0 I0 F1 I1 F2 I2 F3 I3 F4 I4 W0 W1 W2 W3 W4
//
// Rank s first runs e = min(2(S - s) - 1, M) forwards. Then for every
// micro-batch i: I of i, F of i + e if there is one, W of i - 2s if there is
// one; the remaining W at the end. A rank holds up to 2S activations until W.
// With equal times and M >= 2S, every rank runs without a pause: the span is 3M
// and the makespan 3M + S - 1.
//
//===----------------------------------------------------------------------===//

#include "schedule/families/LinearOrders.h"
#include "schedule/families/Registry.h"

#include <algorithm>

using namespace rondo;

static FamilyResult generateZbH2(const Problem &problem,
                                 const FamilyArguments &) {
  const int32_t stages = problem.numStages(), last = problem.microbatches;
  return orderStages("zb-h2", problem, 3, [&](Schedule &schedule, int32_t s) {
    int32_t forward = 0, weightGrad = 0;
    while (forward < std::min(2 * (stages - s) - 1, last))
      schedule.append({ActionKind::Forward, s, forward++});
    for (int32_t i = 0; i < last; ++i) {
      schedule.append({ActionKind::InputGrad, s, i});
      if (forward < last)
        schedule.append({ActionKind::Forward, s, forward++});
      if (i >= 2 * s)
        schedule.append({ActionKind::WeightGrad, s, weightGrad++});
    }
    while (weightGrad < last)
      schedule.append({ActionKind::WeightGrad, s, weightGrad++});
  });
}

Family rondo::zbH2() {
  return {"zb-h2",
          "zb-h1 with twice the warm-up: no bubble within a rank",
          "Qi et al., arXiv 2401.10241",
          {},
          generateZbH2};
}
