//===- ZbAuto.cpp - Zero bubble on a line by measured times -----*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Qi et al., "Zero Bubble Pipeline Parallelism", arXiv 2401.10241: between and
// beyond its schedules H1 and H2, for real times and caps, as its automatic
// schedules are. Our reconstruction: the paper searches from one task to the
// next, this file tries a few shapes.
//
// A shape is the number of forwards that the first rank runs ahead, and how
// many fewer each next rank runs:
//
//   warm-up   rank s runs e(s) forwards: e(0) - d s, but at least S - s, and no
//             more than fit or end before the first I can start
//   steady    for every micro-batch i: I of i, F of i + e(s), and W of i - l(s)
//             before or after F. W lags as far as the cap allows, but no
//             further than the first rank runs ahead of this one.
//
// If the cap leaves no memory for F, W comes first in any case. With e(0) = S,
// d = 1 and W before F, this is zb-h1 in its memory; with e(0) = 2S - 1, d = 2
// and W after F, it is zb-h2. Every shape is simulated, and the best one taken.
//
//===----------------------------------------------------------------------===//

#include "schedule/families/Registry.h"
#include "schedule/partial/FlatProblem.h"
#include "schedule/simulate/Objective.h"

#include <algorithm>
#include <set>

using namespace rondo;

namespace {

struct Shape {
  /// Forwards of the first rank's warm-up, and how many fewer each next rank
  /// has.
  int64_t warmUp = 0, step = 1;
  bool weightGradIsFirst = false;
};

class Layout {
public:
  explicit Layout(const FlatProblem &flat)
      : flat(flat), last(flat.microbatches), maxAhead(flat.stages) {
    std::vector<int64_t> down(flat.stages), up(flat.stages);
    for (const FlatProblem::Message &message : flat.messages)
      (message.task == Task::F ? down[message.to] : up[message.to]) =
          message.transferNs();
    // Time from the start of F to the earliest start of its I.
    int64_t returns = 0;
    for (int32_t s = flat.stages - 1; s >= 0; --s) {
      if (s + 1 < flat.stages)
        returns += down[s + 1] + flat.ns[Task::I][s + 1] + up[s];
      returns += flat.ns[Task::F][s];
      maxAhead[s] = roomOf(s);
      // Forwards beyond that would delay the I of the ranks before.
      if (const int64_t ns = flat.ns[Task::F][s]; ns > 0)
        maxAhead[s] = std::clamp<int64_t>(
            s > 0 ? returns / ns : (returns + ns - 1) / ns, 1, maxAhead[s]);
    }
  }

  /// The shapes of zb-h1 and zb-h2, adapted to latency and caps.
  /// `onlyFurthest`, for large problems: only those that run ahead furthest.
  std::vector<Shape> shapes(bool onlyFurthest) const {
    const int64_t ranks = flat.stages;
    // With `most`, no rank runs an I before all F.
    const int64_t most = std::min(maxAhead[0], last + 2 * ranks);
    std::set<int64_t> warmUps = {most};
    if (!onlyFurthest)
      for (int64_t ahead : {ranks, ranks + ranks / 2, 2 * ranks - 1, 2 * ranks})
        warmUps.insert(std::min(ahead, most));
    std::vector<Shape> result;
    for (int64_t warmUp : warmUps)
      for (int64_t step : {1, 2})
        for (bool weightGradIsFirst : {false, true})
          if (weightGradIsFirst || !onlyFurthest)
            result.push_back({warmUp, step, weightGradIsFirst});
    return result;
  }

  Schedule run(const Shape &shape) const {
    Schedule schedule;
    schedule.reserve(flat.tasks());
    int64_t warmUp = shape.warmUp;
    for (int32_t s = 0; s < flat.stages; ++s) {
      // With more forwards than the rank before, the two would deadlock.
      warmUp = std::clamp<int64_t>(
          std::max<int64_t>(shape.warmUp - shape.step * s, flat.stages - s), 1,
          std::min(maxAhead[s], warmUp));
      addRank(schedule, s, warmUp, shape);
    }
    return schedule;
  }

private:
  /// Number of activations that fit; noMemoryCap if all do.
  int64_t roomOf(int32_t s) const {
    const int64_t cap = flat.caps[flat.rankOf[s]];
    return flat.takes[s] > cap / last ? cap / flat.takes[s] : noMemoryCap;
  }

  void addRank(Schedule &schedule, int32_t s, int64_t warmUp,
               const Shape &shape) const {
    const int64_t cap = flat.caps[flat.rankOf[s]];
    const int64_t lag = std::clamp<int64_t>(
        shape.warmUp - warmUp, 0,
        std::max<int64_t>(0, roomOf(s) - warmUp - !shape.weightGradIsFirst));
    int64_t forwards = 0, weightGrads = 0, held = 0;
    auto forward = [&] {
      schedule.append({ActionKind::Forward, s, forwards++});
      held += flat.takes[s];
    };
    auto weightGrad = [&] {
      schedule.append({ActionKind::WeightGrad, s, weightGrads++});
      held -= flat.weightGradFrees[s];
    };
    while (forwards < std::min(warmUp, last))
      forward();
    for (int64_t i = 0; i < last; ++i) {
      schedule.append({ActionKind::InputGrad, s, i});
      held -= flat.inputGradFrees[s];
      auto isLate = [&] { return weightGrads + lag <= i; };
      while (shape.weightGradIsFirst && isLate())
        weightGrad();
      if (forwards < last) {
        while (held > cap - flat.takes[s] && weightGrads <= i)
          weightGrad();
        forward();
      }
      while (isLate())
        weightGrad();
    }
    while (weightGrads < last)
      weightGrad();
    schedule.endRank();
  }

  const FlatProblem &flat;
  const int64_t last;
  /// [stage]: the longest warm-up that the cap and the first I allow. May be
  /// more than the number of micro-batches.
  std::vector<int64_t> maxAhead;
};

/// Up to this number of tasks, all shapes are tried.
constexpr int64_t shapedTasks = 50000;

} // namespace

static FamilyResult generateZbAuto(const Problem &problem,
                                   const FamilyArguments &) {
  if (auto fault = needLinearPlacement("zb-auto", problem))
    return *fault;
  std::optional<FlatProblem> flat =
      FlatProblem::of(problem, BackwardCosts::Split);
  if (!flat)
    return makeFault<FaultKind::NoChain>("zb-auto");
  for (int32_t s = 0; s < flat->stages; ++s)
    if (const int32_t rank = flat->rankOf[s]; flat->takes[s] > flat->caps[rank])
      return makeFault<FaultKind::NoRoomForOne>("zb-auto", flat->takes[s], rank,
                                                flat->caps[rank]);
  const Layout layout(*flat);
  std::optional<Schedule> best;
  int64_t least = 0;
  for (const Shape &shape : layout.shapes(flat->tasks() > shapedTasks)) {
    Schedule made = layout.run(shape);
    const int64_t value = objectiveOf(problem, simulate(problem, made));
    if (!best || value < least) {
      best = std::move(made);
      least = value;
    }
  }
  return std::move(*best);
}

static int64_t tasksTimedByZbAuto(const Problem &problem) {
  const int64_t tasks = problem.numTasks();
  if (problem.numStages() != problem.numRanks())
    return 0;
  return (tasks > shapedTasks ? 2 : 20) * tasks;
}

Family rondo::zbAuto() {
  Family family;
  family.name = "zb-auto";
  family.summary =
      "zero bubble on a line, laid out by the times and caps of the plan";
  family.source = "Qi et al., arXiv 2401.10241";
  family.generate = generateZbAuto;
  family.extraSteps = tasksTimedByZbAuto;
  family.needsChain = true;
  return family;
}
