//===- CriticalPath.cpp - L2: the way of one micro-batch ------------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// A micro-batch passes all stages forwards and backwards. At any stage all F of
// the stage are in a row before the last one goes on, and all I behind the
// first one that has come.
//
//===----------------------------------------------------------------------===//

#include "schedule/bounds/Arguments.h"

#include <algorithm>

using namespace rondo;

static int64_t computeCriticalPath(const Problem &problem, int64_t, int64_t) {
  std::optional<Chain> chain = Chain::of(problem, BackwardCosts::Least);
  if (!chain || !chain->offsetsAreExact)
    return 0;
  const int32_t stages = chain->stages;
  const int64_t others = chain->microbatches - 1;
  // The way forth to the start of F of each stage, and back from the end of I
  // to the end of the objective.
  std::vector<int64_t> before(stages), behind(stages);
  for (int32_t s = 1; s < stages; ++s)
    before[s] = before[s - 1] + chain->ns[0][s - 1] +
                chain->messages[0][s - 1].transferNs();
  for (int32_t s = 0; s < stages; ++s) {
    behind[s] = chain->ns[2][s] + chain->endOffset[chain->rankOf[s]];
    if (s > 0)
      behind[s] = std::max(behind[s], chain->messages[1][s].transferNs() +
                                          chain->ns[1][s - 1] + behind[s - 1]);
  }
  const int32_t last = stages - 1;
  int64_t there = before[last] + chain->ns[0][last], turn = 0;
  for (int32_t s = 0; s < stages; ++s)
    turn = std::max(turn, others * chain->ns[0][s]);
  int64_t best = there + chain->ns[1][last] + turn + behind[last];
  int64_t back = there + chain->ns[1][last];
  for (int32_t s = last; s >= 0; --s) {
    best = std::max(best, back + others * chain->ns[1][s] + behind[s]);
    if (s > 0)
      back += chain->messages[1][s].transferNs() + chain->ns[1][s - 1];
  }
  return best;
}

BoundArgument rondo::criticalPath() {
  return {"L2", "the way of the first and the last micro-batch",
          computeCriticalPath, false};
}
