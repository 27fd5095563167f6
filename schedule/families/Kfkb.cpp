//===- Kfkb.cpp - k forwards, k backwards -----------------------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Wang et al., "Ada-Grouper", arXiv 2303.01675. A late message stalls a group
// of k tasks instead of one. The closed form below is the definition, even if k
// does not divide M. k = 1 is 1F1B; k >= M is GPipe. Fused B.
//
//   k = 2    rank 1   F0 F1 F2 F3 B0 B1 F4 F5 B2 B3 B4 B5
//            rank 2   F0 F1 B0 B1 F2 F3 B2 B3 F4 F5 B4 B5
//
// Rank s first runs w = min(k(S - s), M) forwards, then k backwards and k
// forwards alternately, each as far as any are left. It holds w activations.
//
//===----------------------------------------------------------------------===//

#include "schedule/families/LinearOrders.h"
#include "schedule/families/Registry.h"

#include <algorithm>

using namespace rondo;

static FamilyResult generateKfkb(const Problem &problem,
                                 const FamilyArguments &arguments) {
  const int64_t stages = problem.numStages(), last = problem.microbatches;
  // A group of more than M is a group of M.
  const int64_t k = std::min(arguments.at("k"), last);
  return orderStages("kfkb", problem, 2, [&](Schedule &schedule, int32_t s) {
    int64_t forward = 0, backward = 0;
    auto run = [&](ActionKind kind, int64_t &next, int64_t count) {
      for (int64_t end = std::min(next + count, last); next < end; ++next)
        schedule.append({kind, s, next});
    };
    run(ActionKind::Forward, forward, k * (stages - s));
    while (backward < last) {
      run(ActionKind::Backward, backward, k);
      run(ActionKind::Forward, forward, k);
    }
  });
}

/// Larger groups if they fit: rank 0 holds k P activations.
static std::vector<FamilyArguments> variantsOfKfkb(const Problem &problem) {
  std::vector<FamilyArguments> variants;
  const int64_t fit = microbatchesThatFit(problem);
  for (int64_t k : {3, 4, 6, 8})
    if (k <= problem.microbatches &&
        std::min<int64_t>(k * problem.numRanks(), problem.microbatches) <= fit)
      variants.push_back({{"k", k}});
  return variants;
}

Family rondo::kfkb() {
  return {"kfkb",
          "k forwards, k backwards, alternately",
          "Wang et al., arXiv 2303.01675",
          {{"k", 1, 2, "forwards in a row, then as many backwards"}},
          generateKfkb,
          variantsOfKfkb};
}
