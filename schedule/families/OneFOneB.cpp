//===- OneFOneB.cpp - One forward, one backward -----------------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Narayanan et al., "PipeDream", arXiv 1806.03377; flushed every iteration as
// in "Memory-Efficient Pipeline-Parallel DNN Training", arXiv 2006.09503. A
// backward is fused (B) and takes twice a forward here.
//
//   rank 0   F0 F1 F2       B0 B0 F3    B1 B1       B2 B2       B3 B3
//   rank 1      F0 F1 B0 B0 F2    B1 B1 F3    B2 B2       B3 B3
//   rank 2         F0 B0 ...
//
// Rank s first runs min(M, S - s) forwards, then B and F alternately, so it
// holds min(M, S - s) activations. With equal times, the makespan is
// (F + B)(M + S - 1), as with GPipe.
//
//===----------------------------------------------------------------------===//

#include "schedule/families/LinearOrders.h"
#include "schedule/families/Registry.h"

using namespace rondo;

static FamilyResult generateOneFOneB(const Problem &problem,
                                     const FamilyArguments &) {
  return oneForwardOneBackward("1f1b", problem);
}

Family rondo::oneFOneB() {
  return {"1f1b",
          "one forward, one backward, alternately",
          "Narayanan et al., arXiv 2006.09503",
          {},
          generateOneFOneB};
}
