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

#include "schedule/families/ListScheduler.h"
#include "schedule/families/Placement.h"
#include "schedule/families/Registry.h"

using namespace rondo;

namespace {

/// The numbers of tasks that a stage has started.
struct StageProgress {
  int64_t forwards = 0;
  /// Each serves all micro-batches of an iteration.
  int64_t backwards = 0;
};

/// Times of the problem, in which a stage's step follows its backward.
ListTimes timesOf(const Problem &problem) {
  auto countOf = [&](Action action) {
    return problem.countsOnce ? 1 : int64_t(action.count);
  };
  ListTimes times;
  times.taskNs = [&problem, countOf](Action action) {
    return problem.cost(action.subject, action.kind()).ns * countOf(action);
  };
  times.message = [&problem, countOf](const Edge &edge, Action action) {
    const Link link =
        problem.linkBetween(problem.rankOf(edge.from), problem.rankOf(edge.to));
    return MessageTimes{link.occupancyNs(edge.bytes * countOf(action)),
                        link.latencyNs};
  };
  if (problem.iterations > 1)
    times.restNs = [&problem](Action action) {
      return action.kind() == ActionKind::Backward
                 ? problem.cost(action.subject, ActionKind::Step).ns
                 : 0;
    };
  return times;
}

/// The order of the tasks; in a window, a step follows each backward.
Schedule withSteps(const Problem &problem, const Schedule &tasks) {
  Schedule schedule;
  for (int32_t s = 0; s < tasks.numRanks(); ++s) {
    for (Action action : tasks.rank(s)) {
      schedule.append(action);
      if (problem.iterations > 1 && action.kind() == ActionKind::Backward)
        schedule.append(
            {ActionKind::Step, s, int64_t(action.index / action.count)});
    }
    schedule.endRank();
  }
  return schedule;
}

FamilyResult generateTimePrest(const Problem &problem,
                               const FamilyArguments &) {
  if (auto fault = needLinearPlacement("timeprest", problem))
    return *fault;
  const int64_t each = problem.microbatchesEach();
  if (each > maxCount)
    return makeFault<FaultKind::TooManyAtOnce>("timeprest", each, maxCount);
  std::vector<StageProgress> stages(problem.numStages());
  ListRule rule = [&](int32_t s,
                      const Arrivals &arrivals) -> std::optional<Action> {
    StageProgress &stage = stages[s];
    if (stage.backwards < arrivals.backward[s] / each) {
      Action backward(ActionKind::Backward, s, stage.backwards++ * each);
      backward.count = static_cast<uint64_t>(each);
      return backward;
    }
    // An iteration is under way from its first F to its B.
    const int64_t underWay = stage.forwards / each - stage.backwards;
    if (stage.forwards < arrivals.forward[s] &&
        underWay < problem.numStages() - s)
      return Action(ActionKind::Forward, s, stage.forwards++);
    return std::nullopt;
  };
  return withSteps(problem, listSchedule(problem, timesOf(problem), rule));
}

} // namespace

Family rondo::timePrest() {
  Family family;
  family.name = "timeprest";
  family.summary = "forwards by micro-batch, one backward an iteration";
  family.source = "arXiv 2410.14312";
  family.generate = generateTimePrest;
  family.extraSteps = stepsOfListSchedule;
  family.needsChain = true;
  family.policy = "timeprest";
  return family;
}
