//===- Dependence.cpp - S3: nothing before what it needs --------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Checks only dependences within one rank's order: tasks, copies and the step
// of one replica, and edges between two replicas of one rank. S4 checks those
// over other ranks.
//
//===----------------------------------------------------------------------===//

#include "schedule/model/EdgeTable.h"
#include "schedule/model/Waits.h"
#include "schedule/order/CopyWaits.h"
#include "schedule/order/LastGradients.h"
#include "schedule/rules/Legality.h"

using namespace rondo;

/// For a window: the steps of a stage are in order, and the gradients of an
/// iteration are used before those of the next iteration are added. O(order).
static std::optional<Fault> checkWindow(const Problem &problem,
                                        const Schedule &schedule, int32_t r) {
  ActionRange order = schedule.rank(r);
  const int64_t each = problem.microbatchesEach();
  std::vector<int64_t> steps(problem.numReplicas(), 0);
  for (int64_t i = 0; i < order.size(); ++i) {
    const Action action = order[i];
    const auto replica = static_cast<int32_t>(action.subject);
    const int64_t index = action.index;
    if (action.kind() == ActionKind::Step) {
      if (index != steps[replica]) {
        // The missing step comes after this one.
        const Action expected(ActionKind::Step, replica, steps[replica]);
        const int64_t later = findTask(order, expected);
        return makeFaultAt<FaultKind::StepsOutOfOrder>(
                   Rule::Dependence, r, later, expected, steps[replica], index)
            .withOther(r, i, action);
      }
      ++steps[replica];
      continue;
    }
    if (!(action.traits().makes & weightGradDone) ||
        index / each <= steps[replica])
      continue;
    const Action step(ActionKind::Step, replica, index / each - 1);
    return makeFaultAt<FaultKind::GradientBeforeStep>(
               Rule::Dependence, r, i, action, index / each, index / each - 1)
        .withOther(r, findTask(order, step), step);
  }
  return std::nullopt;
}

std::optional<Fault> rondo::checkDependence(const Problem &problem,
                                            const Schedule &schedule) {
  const int64_t microbatches = problem.microbatches;
  EdgeTable edges(problem);
  for (int32_t r = 0; problem.iterations > 1 && r < schedule.numRanks(); ++r)
    if (auto fault = checkWindow(problem, schedule, r))
      return fault;
  std::vector<Done> done = progressAtStart(problem, schedule);
  for (int32_t r = 0; r < schedule.numRanks(); ++r) {
    ActionRange order = schedule.rank(r);
    const LastGradients lastGradients(problem, order);
    for (int64_t i = 0; i < order.size(); ++i) {
      const Action action = order[i];
      if (action.traits().movesState())
        continue;
      const int32_t replica = action.subject;
      auto before = [&](int32_t neededStage,
                        Done needed) -> std::optional<Fault> {
        for (int64_t index = action.index, end = index + action.count;
             index < end; ++index) {
          const Done absent =
              needed & ~done[neededStage * microbatches + index];
          if (absent == nothingDone)
            continue;
          const Action other = asListed(
              order, Action(kindThatMakes(absent), neededStage, index));
          return makeFaultAt<FaultKind::Order>(Rule::Dependence, r, i, action)
              .withOther(r, findTask(order, other), other);
        }
        return std::nullopt;
      };
      if (auto fault =
              before(replica, problem.neededFor(replica, action.kind())))
        return fault;
      if (action.traits().needsOfAll != nothingDone)
        if (const int64_t last = lastGradients.of(replica, action.index);
            last > i)
          return makeFaultAt<FaultKind::Order>(Rule::Dependence, r, i, action)
              .withOther(r, last, order[last]);
      for (int32_t e : edges.inputs(replica, action.kind())) {
        const Edge &edge = problem.edges[e];
        if (problem.rankOf(edge.from) == r)
          if (auto fault = before(edge.from, traitsOf(edge.message()).made))
            return fault;
      }
      for (int64_t index = action.index, end = index + action.count;
           index < end; ++index)
        done[replica * microbatches + index] |= action.traits().makes;
    }
  }
  return std::nullopt;
}
