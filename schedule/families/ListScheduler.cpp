//===- ListScheduler.cpp - List scheduling with a clock -------------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "schedule/families/ListScheduler.h"

#include <algorithm>
#include <queue>
#include <tuple>

using namespace rondo;

namespace {

/// The end of a task on `rank`, or the arrival of `edge` there.
struct Event {
  int64_t ns;
  int32_t rank;
  /// -1 for the end of a task.
  int32_t edge;

  friend bool operator>(const Event &a, const Event &b) {
    return std::tie(a.ns, a.rank, a.edge) > std::tie(b.ns, b.rank, b.edge);
  }
};

class Clock {
public:
  Clock(const Problem &problem, const ListTimes &times, const ListRule &rule)
      : problem(problem), times(times), rule(rule), orders(problem.numRanks()),
        isBusy(problem.numRanks(), false) {
    arrivals.forward.assign(problem.numStages(), problem.microbatches);
    arrivals.backward.assign(problem.numStages(), 0);
    producedBy.resize(2 * problem.numStages());
    for (int32_t e = 0; e < static_cast<int32_t>(problem.edges.size()); ++e) {
      const Edge &edge = problem.edges[e];
      bool isForward = edge.producer == ActionKind::Forward;
      producedBy[2 * edge.from + (isForward ? 0 : 1)].push_back(e);
      if (isForward)
        arrivals.forward[edge.to] = 0;
    }
  }

  Schedule run() {
    std::vector<int32_t> touched(problem.numRanks());
    for (int32_t r = 0; r < problem.numRanks(); ++r)
      touched[r] = r;
    for (int64_t now = 0;;) {
      for (int32_t rank : touched)
        start(rank, now);
      if (events.empty())
        break;
      now = events.top().ns;
      touched.clear();
      for (; !events.empty() && events.top().ns == now; events.pop())
        happen(events.top(), touched);
      std::sort(touched.begin(), touched.end());
    }
    return Schedule(orders);
  }

private:
  void start(int32_t rank, int64_t now) {
    if (isBusy[rank])
      return;
    std::optional<Action> action = rule(rank, arrivals);
    if (!action)
      return;
    orders[rank].push_back(*action);
    isBusy[rank] = true;
    int64_t endNs = now + times.taskNs(*action);
    events.push({endNs, rank, -1});
    if (action->kind() == ActionKind::WeightGrad)
      return;
    bool isForward = action->kind() == ActionKind::Forward;
    for (int32_t e : producedBy[2 * action->subject + (isForward ? 0 : 1)]) {
      const Edge &edge = problem.edges[e];
      events.push({endNs + times.messageNs(edge), problem.rankOf(edge.to), e});
    }
  }

  void happen(const Event &event, std::vector<int32_t> &touched) {
    touched.push_back(event.rank);
    if (event.edge < 0) {
      isBusy[event.rank] = false;
      Action done = orders[event.rank].back();
      // The last stage makes its own output gradient, from the loss.
      if (done.kind() == ActionKind::Forward &&
          static_cast<int32_t>(done.subject) + 1 == problem.numStages())
        ++arrivals.backward[done.subject];
      return;
    }
    const Edge &edge = problem.edges[event.edge];
    if (edge.producer == ActionKind::Forward)
      ++arrivals.forward[edge.to];
    else
      ++arrivals.backward[edge.to];
  }

  const Problem &problem;
  const ListTimes &times;
  const ListRule &rule;
  std::vector<std::vector<Action>> orders;
  std::vector<bool> isBusy;
  Arrivals arrivals;
  /// [2 * stage], [2 * stage + 1]: the edges that its F, its I feeds.
  std::vector<std::vector<int32_t>> producedBy;
  std::priority_queue<Event, std::vector<Event>, std::greater<Event>> events;
};

} // namespace

Schedule rondo::listSchedule(const Problem &problem, const ListTimes &times,
                             const ListRule &rule) {
  return Clock(problem, times, rule).run();
}

int64_t rondo::stepsOfListSchedule(const Problem &problem) {
  return int64_t(24) * problem.numStages() * problem.microbatches;
}
