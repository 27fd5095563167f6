//===- Bounds.cpp - The table of bounds -----------------------------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "schedule/bounds/Arguments.h"
#include "schedule/bounds/CopyAreas.h"

#include <algorithm>

using namespace rondo;

const std::vector<BoundArgument> &rondo::boundArguments() {
  static const std::vector<BoundArgument> table = {
      rankWork(),         criticalPath(),     jacksonBound(),
      memoryPrecedence(), oneRank(),          pricedPaths(),
      timeWindows(),      exhaustedOrders(),  gathersOfOneRank(),
      pathOfGathers(),    workAfterGathers(), copiedBytes()};
  return table;
}

std::string rondo::printedBound(std::string_view name) {
  const bool isRuleToo = !name.empty() && name.front() == 'L';
  return isRuleToo ? "LB" + std::string(name.substr(1)) : std::string(name);
}

namespace {

struct Limits {
  BoundCost maxCost;
  int64_t ceiling, effort;
  std::string_view without;
};

} // namespace

static Bound bestWithin(const Problem &problem, const Limits &limits) {
  // Arguments about memory assume that bytes return by I, W and B alone, except
  // C1 and LB8. All bounds hold with the bytes that copies cannot free.
  if (problem.hostMemory.hasCopies()) {
    Bound best = bestWithin(withLeastBytes(problem), limits);
    for (const BoundArgument &argument : {copiedBytes(), pricedPaths()})
      if (argument.cost <= limits.maxCost && argument.name != limits.without &&
          best.ns < limits.ceiling)
        if (const int64_t ns =
                argument.compute(problem, limits.ceiling, limits.effort);
            ns > best.ns)
          best = {ns, argument.name};
    return best;
  }
  const int64_t tasks = problem.numTasks();
  Bound best;
  for (const BoundArgument &argument : boundArguments()) {
    if (argument.cost > limits.maxCost || argument.isOfShards ||
        argument.name == limits.without ||
        (tasks > maxDetailedTasks && argument.seesAllTasks))
      continue;
    const int64_t ns = argument.compute(problem, limits.ceiling, limits.effort);
    if (ns > best.ns)
      best = {ns, argument.name};
    if (best.ns >= limits.ceiling)
      break;
  }
  return best;
}

Bound rondo::roughBound(const Problem &problem, std::string_view without) {
  return bestWithin(problem, {BoundCost::Stages, infinite, 0, without});
}

Bound rondo::quickBound(const Problem &problem, std::string_view without) {
  return bestWithin(problem, {BoundCost::Tasks, infinite, 0, without});
}

Bound rondo::bestBound(const Problem &problem, int64_t ceiling, int64_t effort,
                       std::string_view without) {
  return bestWithin(problem, {effort > 0 ? BoundCost::Labels : BoundCost::Tasks,
                              ceiling, effort, without});
}

BoundArgument rondo::exhaustedOrders() {
  return {"L6", "all orders were searched", nullptr, BoundCost::Orders};
}
