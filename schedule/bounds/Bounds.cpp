//===- Bounds.cpp - The table of bounds -----------------------------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "schedule/bounds/Arguments.h"

using namespace rondo;

const std::vector<BoundArgument> &rondo::boundArguments() {
  static const std::vector<BoundArgument> table = {
      rankWork(), criticalPath(), jacksonBound(), memoryPrecedence(),
      oneRank(),  pricedPaths(),  timeWindows()};
  return table;
}

/// L1 and L2.
static bool isRough(const BoundArgument &argument) {
  return argument.name[1] <= '2';
}

Bound rondo::roughBound(const Problem &problem) {
  Bound best;
  for (const BoundArgument &argument : boundArguments())
    if (isRough(argument)) {
      const int64_t ns = argument.compute(problem, infinite, 0);
      if (ns > best.ns)
        best = {ns, argument.name};
    }
  return best;
}

Bound rondo::bestBound(const Problem &problem, int64_t ceiling,
                       int64_t effort) {
  const int64_t tasks = problem.numTasks();
  Bound best;
  for (const BoundArgument &argument : boundArguments()) {
    if (argument.isSlow && effort <= 0)
      continue;
    if (tasks > maxDetailedTasks && argument.seesAllTasks)
      continue;
    int64_t ns = argument.compute(problem, ceiling, effort);
    if (ns > best.ns)
      best = {ns, argument.name};
    if (best.ns >= ceiling)
      break;
  }
  return best;
}

Bound rondo::quickBound(const Problem &problem) {
  return bestBound(problem, infinite, 0);
}
