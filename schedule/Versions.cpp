//===- Versions.cpp - Which weights a task reads --------------------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "schedule/Versions.h"

using namespace rondo;

std::vector<int32_t> rondo::weightVersions(const Problem &problem,
                                           const Schedule &order) {
  std::vector<int32_t> versions;
  versions.reserve(order.numActions());
  // A home's tasks and steps are on one rank.
  std::vector<int32_t> steps(problem.numHomes(), 0);
  for (int32_t r = 0; r < order.numRanks(); ++r)
    for (Action action : order.rank(r))
      versions.push_back(action.kind() == ActionKind::Step
                             ? ++steps[action.subject]
                         : action.isTask() ? steps[action.subject]
                                           : -1);
  return versions;
}
