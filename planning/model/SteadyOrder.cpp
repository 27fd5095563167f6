//===- SteadyOrder.cpp - Orders that repeat each period -------------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "planning/model/SteadyOrder.h"

#include "planning/Deadline.h"
#include "planning/model/Timetable.h"
#include "schedule/rules/Legality.h"

#include <algorithm>
#include <limits>

using namespace rondo;

namespace {

/// Number of timetables that are made for an estimate, and for a search that
/// neither effort nor time limits.
constexpr int32_t numEstimated = 60, defaultMade = 1000;
/// Timetables are timed for this many micro-batches; for more, the period is
/// measured.
constexpr int32_t timedMicrobatches = 80;
/// The loss for each rank that exceeds its cap, as a part of the objective, if
/// it exceeds it by all of it.
constexpr double lossOfExcess = 1;

class Searcher {
public:
  Searcher(const Problem &problem, const SearchOptions &options)
      : problem(problem), options(options), limit(options.timeLimitMs),
        sample(problem), maker(problem), random(options.seed) {
    sample.microbatches = std::min(problem.microbatches, timedMicrobatches);
    sample.memoryCaps.assign(problem.numRanks(), noMemoryCap);
  }

  double estimateNs() {
    makeTables(numEstimated);
    return best.value;
  }

  SearchResult run() {
    makeTables(options.effort > 0 || options.timeLimitMs > 0
                   ? std::numeric_limits<int32_t>::max()
                   : defaultMade);
    SearchResult result;
    result.effort = (used + 999) / 1000;
    result.stop = isInterrupted()  ? SearchStop::Interrupted
                  : limit.isOver() ? SearchStop::Time
                                   : SearchStop::Exhausted;
    const Valued &chosen = fitting.value < none ? fitting : best;
    if (chosen.value == none)
      return result;
    Schedule schedule = chosen.table.toSchedule(problem.microbatches);
    result.fault = checkAndSimulate(problem, schedule, result.simulation);
    if (result.fault)
      return result;
    result.schedule = std::move(schedule);
    result.origin = "steady";
    return result;
  }

private:
  static constexpr double none = std::numeric_limits<double>::infinity();
  struct Valued {
    Making making;
    Timetable table;
    double value = none;
    /// Whether some rank exceeds its cap.
    bool isOver = true;
  };

  bool isInterrupted() const { return options.interrupt && *options.interrupt; }
  bool stop(int32_t tried) const {
    return isInterrupted() || limit.isOver() ||
           (options.effort > 0 && tried >= numEstimated &&
            used >= 1000 * options.effort);
  }

  /// The objective, estimated from fewer micro-batches, with a loss for excess
  /// memory.
  Valued valueOf(Timetable table) {
    Valued valued;
    const Schedule schedule = table.toSchedule(sample.microbatches);
    used += schedule.numActions();
    const Simulation run = simulate(sample, schedule, /*keepTimes=*/true);
    if (!run.complete)
      return valued;
    const double objective =
        double(run.makespanNs) +
        periodNs(table, schedule, run) *
            double(problem.microbatches - sample.microbatches);
    const double excess = excessOf(table);
    valued.isOver = excess > 0;
    valued.value = objective * (1 + lossOfExcess * excess);
    valued.table = std::move(table);
    return valued;
  }

  /// The sum over ranks of what they hold above their caps, in parts of these.
  double excessOf(const Timetable &table) const {
    double excess = 0;
    for (int32_t rank = 0; rank < problem.numRanks(); ++rank) {
      const int64_t cap = problem.memoryCaps[rank];
      if (cap == noMemoryCap)
        continue;
      const int64_t more = table.peakBytes(problem, rank) - cap;
      excess += double(std::max<int64_t>(0, more)) /
                double(std::max<int64_t>(1, cap));
    }
    return excess;
  }

  /// The time from a micro-batch to the next in the middle of a run.
  double periodNs(const Timetable &table, const Schedule &schedule,
                  const Simulation &run) const {
    if (sample.microbatches == problem.microbatches)
      return 0;
    // Before the pipeline drains.
    const int64_t last = std::max<int64_t>(2, sample.microbatches -
                                                  table.numPeriods() - 1),
                  first = last / 2;
    int64_t firstNs = 0, lastNs = 0;
    const int32_t rank = problem.rankOf(0);
    const ActionRange order = schedule.rank(rank);
    for (int64_t i = 0; i < order.size(); ++i) {
      if (order[i].kind() != ActionKind::InputGrad || order[i].subject != 0)
        continue;
      const int64_t endNs = run.endNs[schedule.rankBegin(rank) + i];
      if (static_cast<int64_t>(order[i].index) == first)
        firstNs = endNs;
      if (static_cast<int64_t>(order[i].index) == last)
        lastNs = endNs;
    }
    return double(lastNs - firstNs) / double(last - first);
  }

  Making randomMaking() {
    Making making;
    making.freeSlots = random.below(4) == 0;
    making.pace = 1 + 0.12 * random.unit();
    making.forwardTolerance = 0.3 * random.unit();
    making.backwardTolerance = 0.3 * random.unit();
    making.weightGrads = static_cast<WeightGrads>(random.below(3));
    making.runsAhead = random.below(5) < 3;
    making.turn = random.below(2) ? 3 * random.unit() : 0;
    making.wait = random.below(2) ? 4 * random.unit() : 0;
    making.seed = random.next();
    return making;
  }

  /// A random making with most figures of one of the best.
  Making changedMaking() {
    Making making =
        (fitting.value < none && random.below(2) ? fitting : best).making;
    const Making other = randomMaking();
    auto mix = [&](auto &own, const auto &others) {
      if (random.below(4) == 0)
        own = others;
    };
    mix(making.freeSlots, other.freeSlots);
    mix(making.pace, other.pace);
    mix(making.forwardTolerance, other.forwardTolerance);
    mix(making.backwardTolerance, other.backwardTolerance);
    mix(making.weightGrads, other.weightGrads);
    mix(making.runsAhead, other.runsAhead);
    mix(making.turn, other.turn);
    mix(making.wait, other.wait);
    mix(making.seed, other.seed);
    return making;
  }

  void makeTables(int32_t most) {
    if (!problem.isChain())
      return;
    for (int32_t k = 0; k < most && !(k > 0 && stop(k)); ++k) {
      const Making making = k < numEstimated || random.below(4) == 0
                                ? randomMaking()
                                : changedMaking();
      std::optional<Timetable> made = maker.make(making);
      ++used;
      if (!made)
        continue;
      Valued found = valueOf(std::move(*made));
      found.making = making;
      if (!found.isOver && found.value < fitting.value)
        fitting = found;
      if (found.value >= best.value)
        continue;
      best = std::move(found);
    }
  }

  const Problem &problem;
  const SearchOptions &options;
  const Deadline limit;
  /// With fewer micro-batches and without caps.
  Problem sample;
  TimetableMaker maker;
  Random random;
  /// The best timetable, and the best one that keeps all caps.
  Valued best, fitting;
  /// Tasks timed.
  int64_t used = 0;
};

} // namespace

double rondo::steadyEstimateNs(const Problem &problem,
                               const SearchOptions &options) {
  return Searcher(problem, options).estimateNs();
}

SearchResult rondo::searchSteady(const Problem &problem,
                                 const SearchOptions &options) {
  return Searcher(problem, options).run();
}
