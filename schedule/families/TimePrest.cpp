//===- TimePrest.cpp - One backward a mini-batch ----------------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// "TiMePReSt", arXiv 2410.14312, FGCS 178 (2026) 108260: nF1B. A forward is of
// one micro-batch, a backward of all micro-batches of an iteration, and the
// stage steps right after it. A free rank runs the next backward if its
// gradient has arrived (on the last stage: if all forwards of the iteration are
// done), else the next forward if its input has arrived, else it waits. Stage s
// has at most S - s iterations under way. Arrivals follow from the problem's
// times: with equal slots (inSlots()), the orders are the published ones.
//
//   two micro-batches an iteration, slots, B of an iteration in one
//   rank 0   F0 F1 F2 F3 F4 F5 B0 F6 F7 B2 ...
//   rank 1      F0 F1 F2 F3 B0 F4 F5 B2 ...
//   rank 2         F0 F1 B0 F2 F3 B2 ...
//
//===----------------------------------------------------------------------===//

#include "schedule/families/Placement.h"
#include "schedule/families/Registry.h"

#include <algorithm>
#include <queue>
#include <tuple>

using namespace rondo;

namespace {

/// The end of a rank's work, or the arrival of a message there.
struct Event {
  int64_t ns = 0;
  int32_t rank = 0;
  enum What : uint8_t { Free, Activation, Gradient } what = Free;

  friend bool operator>(const Event &a, const Event &b) {
    return std::tie(a.ns, a.rank, a.what) > std::tie(b.ns, b.rank, b.what);
  }
};

/// Numbers of tasks run and of inputs arrived; all go in order.
struct Stage {
  int64_t forwards = 0, activations = 0;
  /// Counted in iterations.
  int64_t backwards = 0, gradients = 0;
  bool isBusy = false;
};

class Clock {
public:
  explicit Clock(const Problem &problem)
      : problem(problem), numStages(problem.numStages()),
        each(problem.microbatchesEach()), stages(numStages), orders(numStages),
        freeNs(2 * size_t(numStages), 0) {
    stages[0].activations = problem.microbatches;
  }

  Schedule run() {
    for (int32_t s = 0; s < numStages; ++s)
      start(s, 0);
    std::vector<int32_t> touched;
    while (!events.empty()) {
      const int64_t now = events.top().ns;
      touched.clear();
      for (; !events.empty() && events.top().ns == now; events.pop())
        touched.push_back(happen(events.top()));
      // start() depends on the state of its own stage only.
      for (int32_t s : touched)
        start(s, now);
    }
    return Schedule(orders);
  }

private:
  int32_t happen(const Event &event) {
    Stage &stage = stages[event.rank];
    switch (event.what) {
    case Event::Free:
      stage.isBusy = false;
      break;
    case Event::Activation:
      ++stage.activations;
      break;
    case Event::Gradient:
      ++stage.gradients;
      break;
    }
    return event.rank;
  }

  void start(int32_t s, int64_t now) {
    Stage &stage = stages[s];
    if (stage.isBusy)
      return;
    const bool isLast = s + 1 == numStages;
    const int64_t gradients = isLast ? stage.forwards / each : stage.gradients;
    if (stage.backwards < gradients) {
      runBackward(s, stage.backwards++, now);
      return;
    }
    // An iteration is under way from its first F to its B.
    const int64_t underWay = stage.forwards / each - stage.backwards;
    if (stage.forwards < stage.activations && underWay < numStages - s)
      runForward(s, stage.forwards++, now);
  }

  void runForward(int32_t s, int64_t microbatch, int64_t now) {
    orders[s].push_back({ActionKind::Forward, s, microbatch});
    const int64_t end = now + problem.cost(s, ActionKind::Forward).ns;
    occupy(s, end);
    if (s + 1 < numStages)
      send(s, s + 1, end, 1, Event::Activation);
  }

  void runBackward(int32_t s, int64_t iteration, int64_t now) {
    Action backward(ActionKind::Backward, s, iteration * each);
    backward.count = static_cast<uint64_t>(each);
    orders[s].push_back(backward);
    const int64_t end = now + problem.cost(s, ActionKind::Backward).ns *
                                  (problem.countsOnce ? 1 : each);
    if (s > 0)
      send(s, s - 1, end, each, Event::Gradient);
    if (problem.iterations > 1)
      orders[s].push_back({ActionKind::Step, s, iteration});
    occupy(s, problem.iterations > 1
                  ? end + problem.cost(s, ActionKind::Step).ns
                  : end);
  }

  void occupy(int32_t s, int64_t until) {
    stages[s].isBusy = true;
    events.push({until, s, Event::Free});
  }

  /// Messages of a link leave one after another.
  void send(int32_t from, int32_t to, int64_t readyNs, int64_t count,
            Event::What what) {
    const Link link = problem.linkBetween(from, to);
    const bool isForward = what == Event::Activation;
    const Edge &edge = problem.edges[isForward ? from : numStages - 1 + to];
    const int64_t bytes = edge.bytes * (problem.countsOnce ? 1 : count);
    int64_t &free = freeNs[2 * size_t(from) + (isForward ? 0 : 1)];
    free = std::max(free, readyNs) + link.occupancyNs(bytes);
    events.push({free + link.latencyNs, to, what});
  }

  const Problem &problem;
  const int32_t numStages;
  const int64_t each;
  std::vector<Stage> stages;
  std::vector<std::vector<Action>> orders;
  /// [2 * rank + direction]: time at which its link is free again.
  std::vector<int64_t> freeNs;
  std::priority_queue<Event, std::vector<Event>, std::greater<Event>> events;
};

FamilyResult generateTimePrest(const Problem &problem,
                               const FamilyArguments &) {
  if (auto fault = needLinearPlacement("timeprest", problem))
    return *fault;
  if (problem.microbatchesEach() > maxCount)
    return makeFault<FaultKind::TooManyAtOnce>(
        "timeprest", problem.microbatchesEach(), maxCount);
  return Clock(problem).run();
}

int64_t stepsOfTimePrest(const Problem &problem) {
  return int64_t(24) * problem.numStages() * problem.microbatches;
}

} // namespace

Family rondo::timePrest() {
  Family family;
  family.name = "timeprest";
  family.summary = "forwards by micro-batch, one backward an iteration";
  family.source = "arXiv 2410.14312";
  family.generate = generateTimePrest;
  family.extraSteps = stepsOfTimePrest;
  family.needsChain = true;
  family.policy = "timeprest";
  return family;
}
