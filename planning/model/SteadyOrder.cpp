//===- SteadyOrder.cpp - Orders that repeat each period -------------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "planning/model/SteadyOrder.h"

#include "planning/Deadline.h"
#include "schedule/rules/Legality.h"
#include "schedule/search/Random.h"

#include <algorithm>
#include <cmath>
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
/// A task of every micro-batch, `slot` slots after the first task of the same
/// micro-batch; negative slots come before it.
struct Placed {
  ActionKind kind;
  int32_t stage;
  int32_t width;
  int64_t slot;
};

struct Timetable {
  /// Slots of a period.
  int32_t slots = 1;
  /// [rank]: its tasks.
  std::vector<std::vector<Placed>> ranks;

  int32_t modulo(int64_t slot) const {
    return static_cast<int32_t>((slot % slots + slots) % slots);
  }
  int64_t periodOf(int64_t slot) const { return (slot - modulo(slot)) / slots; }
  /// The tasks of a rank in the order of a period.
  std::vector<Placed> inOrder(int32_t rank) const {
    std::vector<Placed> tasks = ranks[rank];
    std::sort(tasks.begin(), tasks.end(),
              [&](const Placed &a, const Placed &b) {
                return modulo(a.slot) < modulo(b.slot);
              });
    return tasks;
  }
  /// The number of periods from the first task of a micro-batch to the last.
  int64_t numPeriods() const;
  Schedule toSchedule(int32_t microbatches) const;
  /// The most bytes that a rank holds. In the ramps it holds no more than in a
  /// period in the middle.
  int64_t peakBytes(const Problem &problem, int32_t rank) const;
};

int64_t Timetable::numPeriods() const {
  int64_t first = infinite, last = -infinite;
  for (const std::vector<Placed> &tasks : ranks)
    for (const Placed &task : tasks) {
      first = std::min(first, task.slot);
      last = std::max(last, task.slot);
    }
  return (last - first) / slots + 1;
}

Schedule Timetable::toSchedule(int32_t microbatches) const {
  Schedule schedule;
  for (size_t rank = 0; rank < ranks.size(); ++rank) {
    const std::vector<Placed> tasks = inOrder(static_cast<int32_t>(rank));
    int64_t first = infinite, last = -infinite;
    for (const Placed &task : tasks) {
      first = std::min(first, periodOf(task.slot));
      last = std::max(last, periodOf(task.slot));
    }
    for (int64_t period = first; period < last + microbatches; ++period)
      for (const Placed &task : tasks) {
        const int64_t k = period - periodOf(task.slot);
        if (k >= 0 && k < microbatches)
          schedule.append({task.kind, task.stage, k});
      }
    schedule.endRank();
  }
  return schedule;
}

int64_t Timetable::peakBytes(const Problem &problem, int32_t rank) const {
  const std::vector<Placed> tasks = inOrder(rank);
  auto costOf = [&](const Placed &task) -> const Cost & {
    return problem.cost(task.stage, task.kind);
  };
  int64_t held = 0;
  // Tasks of earlier micro-batches that have run before the period begins.
  for (const Placed &task : tasks)
    held -= periodOf(task.slot) *
            (costOf(task).acquireBytes - costOf(task).releaseBytes);
  int64_t peak = held;
  for (const Placed &task : tasks) {
    held += costOf(task).acquireBytes;
    peak = std::max(peak, held);
    held -= costOf(task).releaseBytes;
  }
  return peak;
}

/// When W of a stage runs.
enum class WeightGrads : uint8_t {
  /// In the first free slot after I.
  Early,
  /// After all F and I have their slots.
  Late,
  /// Early for the stages before the last ones that keep their activations,
  /// otherwise in between.
  Mixed,
};

/// How a timetable is made.
struct Making {
  /// Slots of a period that the busiest rank has free.
  int32_t freeSlots = 0;
  /// Length of a slot, as a multiple of the shortest one.
  double pace = 1;
  /// How much earlier than its input a slot of F, and of R and I, may begin, in
  /// slots.
  double forwardTolerance = 0, backwardTolerance = 0;
  WeightGrads weightGrads = WeightGrads::Early;
  /// Whether R runs before the output gradient arrives.
  bool runsAhead = false;
  /// Wait between the last F and its I, in slots, and the largest random wait
  /// after other tasks.
  double turn = 0, wait = 0;
  uint64_t seed = 0;
};

class Maker {
public:
  explicit Maker(const Problem &problem) : problem(problem) {
    std::vector<double> work(problem.numRanks());
    std::vector<int32_t> tasks(problem.numRanks());
    for (int32_t s = 0; s < problem.numStages(); ++s)
      for (ActionKind kind : kindsOf(s)) {
        work[problem.rankOf(s)] += timeOf(kind, s);
        ++tasks[problem.rankOf(s)];
      }
    const auto busiest = static_cast<size_t>(
        std::max_element(work.begin(), work.end()) - work.begin());
    unitNs = std::max(1., work[busiest] / tasks[busiest]);
    std::vector<int32_t> widths(problem.numRanks());
    for (int32_t s = 0; s < problem.numStages(); ++s)
      for (ActionKind kind : kindsOf(s))
        fewestSlots = std::max(fewestSlots,
                               widths[problem.rankOf(s)] += widthOf(kind, s));
    shortestNs = std::max(1., work[busiest] / fewestSlots);
    firstLate = problem.numStages();
    while (firstLate > 0 && !problem.recomputes(firstLate - 1))
      --firstLate;
  }

  /// Nothing if some task finds no free slots.
  std::optional<Timetable> make(const Making &making) {
    this->making = making;
    random = Random(making.seed);
    table.slots = fewestSlots + making.freeSlots;
    slotNs = shortestNs * making.pace;
    table.ranks.assign(problem.numRanks(), {});
    used.assign(problem.numRanks(), std::vector<bool>(table.slots));
    inputGradAt.assign(problem.numStages(), 0);
    if (!placeAll())
      return {};
    return table;
  }

private:
  std::vector<ActionKind> kindsOf(int32_t stage) const {
    if (problem.recomputes(stage))
      return {ActionKind::Forward, ActionKind::Recompute, ActionKind::InputGrad,
              ActionKind::WeightGrad};
    return {ActionKind::Forward, ActionKind::InputGrad, ActionKind::WeightGrad};
  }
  double timeOf(ActionKind kind, int32_t stage) const {
    return double(problem.cost(stage, kind).ns);
  }
  int32_t widthOf(ActionKind kind, int32_t stage) const {
    return std::max(
        1, static_cast<int32_t>(std::lround(timeOf(kind, stage) / unitNs)));
  }
  /// A message of a stage, from F or I, in slots.
  double messageSlots(int32_t from, int32_t to) const {
    const int32_t sender = problem.rankOf(from), receiver = problem.rankOf(to);
    if (sender == receiver)
      return 0;
    // Stage edges of a chain: F of each stage, then I of each.
    const int32_t edge = from < to ? from : problem.numStages() - 1 + to;
    const Link link = problem.linkBetween(sender, receiver);
    return double(link.occupancyNs(problem.edges[edge].bytes) +
                  link.latencyNs) /
           slotNs;
  }

  bool isFree(int32_t rank, int64_t slot, int32_t width) const {
    for (int32_t k = 0; k < width; ++k)
      if (used[rank][table.modulo(slot + k)])
        return false;
    return true;
  }
  /// The first free slots from `slot` on, or, if `step` is -1, the last free
  /// ones up to it; gives them to the task.
  std::optional<int64_t> place(ActionKind kind, int32_t stage, int64_t slot,
                               int32_t step) {
    const int32_t rank = problem.rankOf(stage), width = widthOf(kind, stage);
    for (int32_t tried = 0; tried < table.slots; ++tried, slot += step) {
      if (!isFree(rank, slot, width))
        continue;
      for (int32_t k = 0; k < width; ++k)
        used[rank][table.modulo(slot + k)] = true;
      table.ranks[rank].push_back({kind, stage, width, slot});
      return slot;
    }
    return {};
  }

  double slotsOf(ActionKind kind, int32_t stage) const {
    return timeOf(kind, stage) / slotNs;
  }
  double randomWait() {
    return random.below(10) == 0 ? making.wait * random.unit() : 0;
  }
  int64_t firstSlot(double ready, double tolerance) const {
    return static_cast<int64_t>(std::ceil(ready - tolerance));
  }

  bool placeWeightGrad(int32_t stage) {
    return place(ActionKind::WeightGrad, stage,
                 inputGradAt[stage] + widthOf(ActionKind::InputGrad, stage), 1)
        .has_value();
  }

  /// R, I and perhaps W of a stage whose output gradient arrives at `ready`.
  bool placeBackward(int32_t stage, double &ready) {
    int64_t from = firstSlot(ready, making.backwardTolerance);
    const bool isBefore = problem.recomputes(stage) && !making.runsAhead;
    if (isBefore) {
      const std::optional<int64_t> again =
          place(ActionKind::Recompute, stage, from, 1);
      if (!again)
        return false;
      ready = std::max(ready, double(*again)) +
              slotsOf(ActionKind::Recompute, stage);
      from = std::max(*again + widthOf(ActionKind::Recompute, stage),
                      firstSlot(ready, making.backwardTolerance));
    }
    const std::optional<int64_t> at =
        place(ActionKind::InputGrad, stage, from, 1);
    if (!at)
      return false;
    inputGradAt[stage] = *at;
    if (problem.recomputes(stage) && !isBefore &&
        !place(ActionKind::Recompute, stage,
               *at - widthOf(ActionKind::Recompute, stage), -1))
      return false;
    ready = std::max(ready, double(*at)) +
            slotsOf(ActionKind::InputGrad, stage) + randomWait();
    if (stage > 0)
      ready += messageSlots(stage, stage - 1);
    const bool isEarly =
        making.weightGrads == WeightGrads::Early ||
        (making.weightGrads == WeightGrads::Mixed && stage < firstLate);
    return !isEarly || placeWeightGrad(stage);
  }

  bool placeAll() {
    const int32_t stages = problem.numStages();
    double ready = 0, begin = 0;
    for (int32_t s = firstLate; s < stages; ++s) {
      const std::optional<int64_t> at = place(
          ActionKind::Forward, s, firstSlot(ready, making.forwardTolerance), 1);
      if (!at)
        return false;
      if (s == firstLate)
        begin = double(*at);
      ready = std::max(ready, double(*at)) + slotsOf(ActionKind::Forward, s) +
              randomWait();
      if (s + 1 < stages)
        ready += messageSlots(s, s + 1);
    }
    ready += making.turn;
    for (int32_t s = stages - 1; s >= firstLate; --s)
      if (!placeBackward(s, ready))
        return false;
    if (making.weightGrads != WeightGrads::Early)
      for (int32_t s = firstLate; s < stages; ++s)
        if (!placeWeightGrad(s))
          return false;
    for (int32_t s = firstLate - 1; s >= 0; --s) {
      begin -= slotsOf(ActionKind::Forward, s);
      if (s + 1 < stages)
        begin -= messageSlots(s, s + 1);
      const std::optional<int64_t> at = place(
          ActionKind::Forward, s,
          static_cast<int64_t>(std::floor(begin + making.forwardTolerance)),
          -1);
      if (!at)
        return false;
      begin = std::min(begin, double(*at));
    }
    for (int32_t s = firstLate - 1; s >= 0; --s)
      if (!placeBackward(s, ready))
        return false;
    if (making.weightGrads == WeightGrads::Late)
      for (int32_t s = 0; s < firstLate; ++s)
        if (!placeWeightGrad(s))
          return false;
    return true;
  }

  const Problem &problem;
  int32_t fewestSlots = 1;
  double unitNs = 1, shortestNs = 1, slotNs = 1;
  /// The first of the last stages, which keep their activations.
  int32_t firstLate = 0;
  Making making;
  Random random = Random(0);
  Timetable table;
  /// [rank][slot]
  std::vector<std::vector<bool>> used;
  std::vector<int64_t> inputGradAt;
};

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
  Maker maker;
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
