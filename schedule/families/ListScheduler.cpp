//===- ListScheduler.cpp - List scheduling with a clock -------------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "schedule/families/ListScheduler.h"

#include "schedule/model/EdgeTable.h"
#include "schedule/simulate/EventClock.h"
#include "schedule/simulate/Network.h"

using namespace rondo;

namespace {

/// The arrival of an action's message, or of none: the end of the action.
struct ListEvent {
  Action action;
  int32_t edge = -1;
};

class ListClock {
public:
  ListClock(const Problem &problem, const ListTimes &times,
            const ListRule &rule)
      : problem(problem), times(times), rule(rule), edges(problem),
        links(problem), network(links, /*withNics=*/false),
        orders(problem.numRanks()) {
    arrivals.forward.assign(problem.numStages(), problem.microbatches);
    arrivals.backward.assign(problem.numStages(), 0);
    for (const Edge &edge : problem.edges)
      if (edge.producer == ActionKind::Forward)
        arrivals.forward[edge.to] = 0;
  }

  Schedule run() {
    clock.reset(problem.numRanks());
    for (int32_t r = 0; r < problem.numRanks(); ++r)
      clock.touch(r);
    clock.run([this](const auto &event) { happen(event.resource, event.what); },
              [this](int32_t rank, int64_t now) {
                if (!clock.isBusy(rank))
                  start(rank, now);
                return true;
              });
    return Schedule(orders);
  }

private:
  void start(int32_t rank, int64_t now) {
    const std::optional<Action> action = rule(rank, arrivals);
    if (!action)
      return;
    orders[rank].push_back(*action);
    const int64_t endNs = now + times.taskNs(*action);
    clock.setBusy(rank, true);
    clock.add(endNs + (times.restNs ? times.restNs(*action) : 0), rank,
              {*action});
    for (int32_t e : edges.outputs(action->subject, action->kind())) {
      const Edge &edge = problem.edges[e];
      const MessageTimes message = times.message(edge, *action);
      int64_t sentNs = endNs;
      if (links.ofEdge(e) >= 0)
        sentNs = network.carry(links.ofEdge(e), endNs, message.occupancyNs);
      clock.add(sentNs + message.latencyNs, problem.rankOf(edge.to),
                {*action, e});
    }
  }

  void happen(int32_t rank, ListEvent event) {
    clock.touch(rank);
    const Action action = event.action;
    const bool isForward = action.kind() == ActionKind::Forward;
    if (event.edge >= 0) {
      const int32_t to = problem.edges[event.edge].to;
      (isForward ? arrivals.forward : arrivals.backward)[to] +=
          static_cast<int32_t>(action.count);
      return;
    }
    clock.setBusy(rank, false);
    // The loss: the last stage makes its own output gradient.
    if (isForward &&
        static_cast<int32_t>(action.subject) + 1 == problem.numStages())
      ++arrivals.backward[action.subject];
  }

  const Problem &problem;
  const ListTimes &times;
  const ListRule &rule;
  const EdgeTable edges;
  const LinkTable links;
  Network network;
  std::vector<std::vector<Action>> orders;
  Arrivals arrivals;
  EventClock<ListEvent> clock;
};

} // namespace

Schedule rondo::listSchedule(const Problem &problem, const ListTimes &times,
                             const ListRule &rule) {
  return ListClock(problem, times, rule).run();
}

int64_t rondo::stepsOfListSchedule(const Problem &problem) {
  return int64_t(24) * problem.numStages() * problem.microbatches;
}
