//===- Eager1F1B.cpp - 1F1B with twice the warm-up --------------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Zhuang et al., "On Optimizing the Communication of Model Parallelism",
// arXiv 2211.05322, with the warm-up of JaxPP's eager 1F1B. Forwards run ahead
// so that a late message does not stall a rank. Fused B.
//
//   rank 0   F0 F1 F2 F3          B0 --    B1 --    B2 --    B3 --
//   rank 1      F0 F1 F2    B0 -- F3 B1 --    B2 --    B3 --
//   rank 2         F0 B0 -- F1 B1 -- F2 B2 -- F3 B3 --
//
// Rank s first runs w = min(M, 2(S - 1 - s) + 1) forwards, then B and F
// alternately, so it holds w activations. With equal times, the makespan is
// (F + B)(M + S - 1), as with 1F1B.
//
//===----------------------------------------------------------------------===//

#include "schedule/families/LinearOrders.h"
#include "schedule/families/Registry.h"

using namespace rondo;

static FamilyResult generateEager1F1B(const Problem &problem,
                                      const FamilyArguments &) {
  return oneForwardOneBackward("eager-1f1b", problem, /*aheadEach=*/2);
}

Family rondo::eager1F1B() {
  return {"eager-1f1b",
          "1f1b whose forwards run ahead of late messages",
          "Zhuang et al., arXiv 2211.05322",
          {},
          generateEager1F1B};
}
