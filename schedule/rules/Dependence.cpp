//===- Dependence.cpp - S3: nothing before what it needs --------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Only what a rank can see in its own order: tasks and the step of one home,
// and edges between two homes of one rank. What goes over other ranks is S4.
//
//===----------------------------------------------------------------------===//

#include "schedule/EdgeTable.h"
#include "schedule/Legality.h"
#include "schedule/Waits.h"

using namespace rondo;

/// Where the last task stands that makes what an action needs of all
/// micro-batches of its home; -1 where none does. O(order).
static int64_t lastThatMakes(ActionRange order, Action action) {
  for (int64_t i = order.size(); i-- > 0;)
    if (order[i].subject == action.subject &&
        (order[i].traits().makes & action.traits().needsOfAll))
      return i;
  return -1;
}

std::optional<Fault> rondo::checkDependence(const Problem &problem,
                                            const Schedule &schedule) {
  const int64_t microbatches = problem.microbatches;
  EdgeTable edges(problem);
  std::vector<Done> done = problem.nothingDoneYet();
  for (int32_t r = 0; r < schedule.numRanks(); ++r) {
    ActionRange order = schedule.rank(r);
    for (int64_t i = 0; i < order.size(); ++i) {
      const Action action = order[i];
      const int32_t home = action.subject;
      auto before = [&](int32_t neededStage,
                        Done needed) -> std::optional<Fault> {
        const Done absent =
            needed & ~done[neededStage * microbatches + action.index];
        if (absent == nothingDone)
          return std::nullopt;
        Fault fault =
            makeFaultAt<FaultKind::Order>(Rule::Dependence, r, i, action);
        fault.otherRank = r;
        fault.other = asListed(
            order, Action(kindThatMakes(absent), neededStage, action.index));
        fault.otherPosition = findTask(order, fault.other);
        return fault;
      };
      if (auto fault = before(home, problem.neededFor(home, action.kind())))
        return fault;
      if (action.traits().needsOfAll != nothingDone)
        if (int64_t last = lastThatMakes(order, action); last > i) {
          Fault fault =
              makeFaultAt<FaultKind::Order>(Rule::Dependence, r, i, action);
          fault.otherRank = r;
          fault.other = order[last];
          fault.otherPosition = last;
          return fault;
        }
      for (int32_t e : edges.inputs(home, action.kind())) {
        const Edge &edge = problem.edges[e];
        if (problem.rankOf(edge.from) == r)
          if (auto fault = before(edge.from, traitsOf(edge.message()).made))
            return fault;
      }
      done[home * microbatches + action.index] |= action.traits().makes;
    }
  }
  return std::nullopt;
}
