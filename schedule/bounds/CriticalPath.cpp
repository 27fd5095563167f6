//===- CriticalPath.cpp - LB2: the path of one micro-batch ----------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// A micro-batch passes all stages forwards and backwards, each as soon as its
// inputs have arrived. The longest path includes all F or all I of one
// stage: all F before the last micro-batch goes on, or all I after the first
// one has come back.
//
//===----------------------------------------------------------------------===//

#include "schedule/bounds/Arguments.h"
#include "schedule/bounds/UnevenBounds.h"

#include <algorithm>

using namespace rondo;

static int64_t computeCriticalPath(const Problem &problem, int64_t, int64_t) {
  if (problem.isUneven())
    return unevenCriticalPath(problem);
  std::optional<FlatProblem> flat =
      FlatProblem::of(problem, BackwardCosts::Least);
  if (!flat || !flat->offsetsAreExact)
    return 0;
  const int64_t others = flat->microbatches - 1;
  int64_t best = 0;
  // [stage]: end of its task on the longest path of one micro-batch (`once`),
  // and on the longest path that has all F or all I of some stage (`all`).
  std::vector<int64_t> once(flat->stages, 0), all(flat->stages, 0);
  auto pass = [&](Task task, int32_t s) {
    // I starts after its own F.
    int64_t begin = task == Task::F ? 0 : once[s],
            beginAll = task == Task::F ? 0 : all[s];
    for (int32_t e : flat->inputs(task, s)) {
      const FlatProblem::Message &message = flat->messages[e];
      begin = std::max(begin, once[message.from] + message.transferNs());
      beginAll = std::max(beginAll, all[message.from] + message.transferNs());
    }
    const int64_t ns = flat->ns[task][s];
    once[s] = begin + ns;
    all[s] = std::max(beginAll, begin + others * ns) + ns;
  };
  for (int32_t s = 0; s < flat->stages; ++s)
    pass(Task::F, s);
  for (int32_t s = flat->stages; s-- > 0;) {
    pass(Task::I, s);
    best = std::max(best, all[s] + flat->ns[Task::W][s] +
                              flat->endOffset[flat->rankOf[s]]);
  }
  return best;
}

BoundArgument rondo::criticalPath() {
  return {"L2", "the critical path of the first and the last micro-batch",
          computeCriticalPath, BoundCost::Stages};
}
