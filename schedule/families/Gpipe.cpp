//===- Gpipe.cpp - All forwards, then all backwards -------------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Huang et al., "GPipe: Efficient Training of Giant Neural Networks using
// Pipeline Parallelism", arXiv 1811.06965. A backward is fused (B) and takes
// twice a forward here; the paper leaves the order of the backwards open. Here
// it is ascending, as in PyTorch.
//
//   rank 0   0 1 2 3             0 0 1 1 2 2 3 3
//   rank 1     0 1 2 3       0 0 1 1 2 2 3 3
//   rank 2       0 1 2 3 0 0 1 1 2 2 3 3
//                        ^ backwards begin
//
// With equal times, the makespan is (F + B)(M + S - 1); every rank holds M
// activations.
//
//===----------------------------------------------------------------------===//

#include "schedule/families/LinearOrders.h"
#include "schedule/families/Registry.h"

using namespace rondo;

static FamilyResult generateGpipe(const Problem &problem,
                                  const FamilyArguments &) {
  return orderStages("gpipe", problem, 2, [&](Schedule &schedule, int32_t s) {
    for (ActionKind kind : {ActionKind::Forward, ActionKind::Backward})
      for (int32_t i = 0; i < problem.microbatches; ++i)
        schedule.append({kind, s, i});
  });
}

Family rondo::gpipe() {
  return {"gpipe",
          "all forwards, then all backwards",
          "Huang et al., arXiv 1811.06965",
          {},
          generateGpipe};
}
