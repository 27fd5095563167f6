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

/// Number of timetables that are made, and of changes to the best of them if
/// neither effort nor time limits them.
constexpr int32_t numMade = 200, defaultChanges = 6000;
/// Number of timetables of an estimate.
constexpr int32_t numEstimated = 60;
/// Timetables are timed for this many micro-batches; for more, the period is
/// measured.
constexpr int32_t timedMicrobatches = 80;
/// The loss for each rank that exceeds its cap, as a part of the objective, if
/// it exceeds it by all of it.
constexpr double lossOfExcess = 1;
/// The largest accepted loss of a change at the begin of the local search, as a
/// part of the objective.
constexpr double firstLoss = 0.0015;

/// A task of every micro-batch, `slot` slots after the first task of the same
/// micro-batch; negative slots come before it.
struct Placed {
  ActionKind kind;
  int32_t stage;
  int32_t width;
  int64_t slot;
};

/// [rank]: its tasks.
using Timetable = std::vector<std::vector<Placed>>;

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
  /// Length of a slot, as a multiple of the shortest one.
  double pace = 1;
  /// How much earlier than its input a slot may begin, in slots.
  double tolerance = 0;
  WeightGrads weightGrads = WeightGrads::Early;
  /// Whether R runs before the output gradient arrives.
  bool runsAhead = false;
  /// Largest random wait before a task, in slots.
  double wait = 0;
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
        slots = std::max(slots, widths[problem.rankOf(s)] += widthOf(kind, s));
    shortestNs = std::max(1., work[busiest] / slots);
    firstLate = problem.numStages();
    while (firstLate > 0 && !problem.recomputes(firstLate - 1))
      --firstLate;
  }

  /// Number of slots of a period.
  int32_t numSlots() const { return slots; }

  /// Nothing if some task finds no free slots.
  std::optional<Timetable> make(const Making &making, Random &random) {
    this->making = making;
    this->random = &random;
    slotNs = shortestNs * making.pace;
    table.assign(problem.numRanks(), {});
    used.assign(problem.numRanks(), std::vector<bool>(slots));
    inputGradAt.assign(problem.numStages(), 0);
    if (!placeAll())
      return {};
    return table;
  }

  /// Whether no two tasks of a rank share a slot, and the tasks of each stage
  /// are in order.
  bool isSound(const std::vector<Placed> &tasks) const {
    std::vector<bool> taken(slots);
    for (const Placed &task : tasks)
      for (int32_t k = 0; k < task.width; ++k) {
        const size_t slot = modulo(task.slot + k);
        if (taken[slot])
          return false;
        taken[slot] = true;
      }
    for (const Placed &a : tasks)
      for (const Placed &b : tasks)
        if (a.stage == b.stage && rankOfKind(a.kind) < rankOfKind(b.kind) &&
            a.slot >= b.slot)
          return false;
    return true;
  }

  /// The number of periods from the first task of a micro-batch to the last.
  int64_t periodsOf(const Timetable &timetable) const {
    int64_t first = infinite, last = -infinite;
    for (const std::vector<Placed> &tasks : timetable)
      for (const Placed &task : tasks) {
        first = std::min(first, task.slot);
        last = std::max(last, task.slot);
      }
    return (last - first) / slots + 1;
  }

  /// The most bytes that a rank holds. In the ramps it holds no more than in a
  /// period in the middle.
  int64_t peakBytes(const std::vector<Placed> &own) const {
    const std::vector<Placed> tasks = inOrder(own);
    int64_t held = 0;
    for (const Placed &task : tasks) {
      // Micro-batches that have run the task before the period begins.
      const Cost &cost = problem.cost(task.stage, task.kind);
      held -= periodOf(task.slot) * (cost.acquireBytes - cost.releaseBytes);
    }
    int64_t peak = held;
    for (const Placed &task : tasks) {
      const Cost &cost = problem.cost(task.stage, task.kind);
      held += cost.acquireBytes;
      peak = std::max(peak, held);
      held -= cost.releaseBytes;
    }
    return peak;
  }

  Schedule toSchedule(const Timetable &timetable, int32_t microbatches) const {
    Schedule schedule;
    for (const std::vector<Placed> &own : timetable) {
      const std::vector<Placed> tasks = inOrder(own);
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

private:
  static int rankOfKind(ActionKind kind) {
    return kind == ActionKind::Forward     ? 0
           : kind == ActionKind::Recompute ? 1
           : kind == ActionKind::InputGrad ? 2
                                           : 3;
  }
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
  /// The tasks of a rank in the order of a period.
  std::vector<Placed> inOrder(std::vector<Placed> tasks) const {
    std::sort(tasks.begin(), tasks.end(),
              [&](const Placed &a, const Placed &b) {
                return modulo(a.slot) < modulo(b.slot);
              });
    return tasks;
  }
  size_t modulo(int64_t slot) const {
    return static_cast<size_t>((slot % slots + slots) % slots);
  }
  int64_t periodOf(int64_t slot) const {
    return (slot - static_cast<int64_t>(modulo(slot))) / slots;
  }

  /// A message of a stage, from F or I, in slots.
  double messageSlots(int32_t from, int32_t to) const {
    const int32_t sender = problem.rankOf(from), receiver = problem.rankOf(to);
    if (sender == receiver)
      return 0;
    // Stage edges of a chain: F of each stage, then I of each.
    const int32_t edge =
        from < to ? from : problem.numStages() - 1 + to;
    const Link link = problem.linkBetween(sender, receiver);
    return double(link.occupancyNs(problem.edges[edge].bytes) +
                  link.latencyNs) /
           slotNs;
  }

  bool isFree(int32_t rank, int64_t slot, int32_t width) const {
    for (int32_t k = 0; k < width; ++k)
      if (used[rank][modulo(slot + k)])
        return false;
    return true;
  }
  /// The first free slots from `slot` on, or, if `step` is -1, the last free
  /// ones up to it; gives them to the task.
  std::optional<int64_t> place(ActionKind kind, int32_t stage, int64_t slot,
                               int32_t step) {
    const int32_t rank = problem.rankOf(stage), width = widthOf(kind, stage);
    for (int32_t tried = 0; tried < slots; ++tried, slot += step) {
      if (!isFree(rank, slot, width))
        continue;
      for (int32_t k = 0; k < width; ++k)
        used[rank][modulo(slot + k)] = true;
      table[rank].push_back({kind, stage, width, slot});
      return slot;
    }
    return {};
  }

  double slotsOf(ActionKind kind, int32_t stage) const {
    return timeOf(kind, stage) / slotNs;
  }
  double randomWait() {
    return random->below(10) == 0 ? making.wait * random->unit() : 0;
  }
  int64_t firstSlot(double ready) const {
    return static_cast<int64_t>(std::ceil(ready - making.tolerance));
  }

  bool placeWeightGrad(int32_t stage) {
    return place(ActionKind::WeightGrad, stage,
                 inputGradAt[stage] + widthOf(ActionKind::InputGrad, stage), 1)
        .has_value();
  }

  /// R, I and perhaps W of a stage whose output gradient arrives at `ready`.
  bool placeBackward(int32_t stage, double &ready) {
    int64_t from = firstSlot(ready);
    const bool isBefore = problem.recomputes(stage) && !making.runsAhead;
    if (isBefore) {
      const std::optional<int64_t> again =
          place(ActionKind::Recompute, stage, from, 1);
      if (!again)
        return false;
      ready = std::max(ready, double(*again)) +
              slotsOf(ActionKind::Recompute, stage);
      from = std::max(*again + widthOf(ActionKind::Recompute, stage),
                      firstSlot(ready));
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
    const bool isEarly = making.weightGrads == WeightGrads::Early ||
                         (making.weightGrads == WeightGrads::Mixed &&
                          stage < firstLate);
    return !isEarly || placeWeightGrad(stage);
  }

  bool placeAll() {
    const int32_t stages = problem.numStages();
    double ready = 0, begin = 0;
    for (int32_t s = firstLate; s < stages; ++s) {
      const std::optional<int64_t> at =
          place(ActionKind::Forward, s, firstSlot(ready), 1);
      if (!at)
        return false;
      if (s == firstLate)
        begin = double(*at);
      ready = std::max(ready, double(*at)) + slotsOf(ActionKind::Forward, s) +
              randomWait();
      if (s + 1 < stages)
        ready += messageSlots(s, s + 1);
    }
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
      const std::optional<int64_t> at =
          place(ActionKind::Forward, s,
                static_cast<int64_t>(std::floor(begin + making.tolerance)), -1);
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
  int32_t slots = 0;
  double unitNs = 1, shortestNs = 1, slotNs = 1;
  /// The first of the last stages, which keep their activations.
  int32_t firstLate = 0;
  Making making;
  Random *random = nullptr;
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
    makeTables(numMade);
    if (getenv("ZZ")) fprintf(stderr, "steady: made value %.3f over %d used %lld\n", best.value / 1e9, best.isOver, (long long)used);
    if (best.value < none)
      change();
    if (getenv("ZZ")) fprintf(stderr, "steady: made, changed: value %.3f over %d used %lld\n", best.value / 1e9, best.isOver, (long long)used);
    SearchResult result;
    result.effort = (used + 999) / 1000;
    result.stop = isInterrupted() ? SearchStop::Interrupted
                  : limit.isOver() ? SearchStop::Time
                                   : SearchStop::Exhausted;
    if (best.value == none || best.isOver) {
      result.fault = findFault();
      return result;
    }
    Schedule schedule = maker.toSchedule(best.table, problem.microbatches);
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
    Timetable table;
    double value = none;
    /// Whether some rank exceeds its cap.
    bool isOver = true;
  };

  bool isInterrupted() const { return options.interrupt && *options.interrupt; }
  bool stop(double part) const {
    if (isInterrupted() || limit.isOver(part))
      return true;
    return options.effort > 0 &&
           double(used) >= part * 1000 * double(options.effort);
  }

  /// The objective, estimated from fewer micro-batches, with a loss for excess
  /// memory.
  Valued valueOf(Timetable table) {
    Valued valued;
    const Schedule schedule = maker.toSchedule(table, sample.microbatches);
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
    for (int32_t rank = 0; rank < problem.numRanks(); ++rank)
      excess += excessOf(rank, table[rank]);
    return excess;
  }
  double excessOf(int32_t rank, const std::vector<Placed> &tasks) const {
    const int64_t cap = problem.memoryCaps[rank];
    if (cap == noMemoryCap)
      return 0;
    return double(std::max<int64_t>(0, maker.peakBytes(tasks) - cap)) /
           double(std::max<int64_t>(1, cap));
  }

  /// The time from a micro-batch to the next in the middle of a run.
  double periodNs(const Timetable &table, const Schedule &schedule,
                  const Simulation &run) const {
    if (sample.microbatches == problem.microbatches)
      return 0;
    // Before the pipeline drains.
    const int64_t last = std::max<int64_t>(
                      2, sample.microbatches - maker.periodsOf(table) - 1),
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

  void improve(Valued found) {
    if (found.value < best.value)
      best = std::move(found);
  }

  void makeTables(int32_t most) {
    for (int32_t k = 0; k < most; ++k) {
      if (k > 0 && stop(0.25))
        return;
      Making making;
      making.pace = 1 + 0.12 * random.unit();
      making.tolerance = 0.3 * random.unit();
      making.weightGrads = static_cast<WeightGrads>(random.below(3));
      making.runsAhead = random.below(5) < 3;
      making.wait = random.below(2) ? 4 * random.unit() : 0;
      if (std::optional<Timetable> made = maker.make(making, random))
        improve(valueOf(std::move(*made)));
    }
  }

  /// Moves one or two tasks of a rank; tasks in their way take their old slots.
  bool moveSome(std::vector<Placed> &tasks) {
    for (int64_t count = 1 + random.below(2); count > 0; --count) {
      const int64_t chosen = random.below(static_cast<int64_t>(tasks.size())),
                    by = (random.below(2) ? 1 : -1) * (1 + random.below(3));
      const int64_t slot = tasks[chosen].slot + by;
      for (Placed &other : tasks)
        if ((other.slot - slot) % maker.numSlots() == 0)
          other.slot -= by;
      tasks[chosen].slot = slot;
    }
    return maker.isSound(tasks);
  }

  /// Simulated annealing.
  void change() {
    Valued now = best;
    const int64_t changes = options.effort > 0 || options.timeLimitMs > 0
                                ? infinite
                                : defaultChanges;
    for (int64_t k = 0; k < changes && !stop(1); ++k) {
      const auto rank = random.below(problem.numRanks());
      Timetable table = now.table;
      if (table[rank].empty() || !moveSome(table[rank]))
        continue;
      // A rank that fits stays so, and others do not get worse.
      if (excessOf(rank, table[rank]) > excessOf(rank, now.table[rank]))
        continue;
      const double left =
          options.effort > 0
              ? 1 - double(used) / (1000 * double(options.effort))
          : options.timeLimitMs > 0
              ? double(limit.leftMs()) / double(options.timeLimitMs)
              : 1 - double(k) / double(changes);
      Valued changed = valueOf(std::move(table));
      if (changed.value >= none)
        continue;
      const double loss = (changed.value - now.value) / now.value,
                   scale = std::max(1e-9, firstLoss * left);
      if (loss > 0 && random.unit() >= std::exp(-loss / scale))
        continue;
      now = std::move(changed);
      // The best one fits, if any does.
      if (std::pair(now.isOver, now.value) >= std::pair(best.isOver, best.value))
        continue;
      best = now;
    }
  }

  std::optional<Fault> findFault() const {
    if (best.value == none)
      return {};
    Simulation simulation;
    return checkAndSimulate(
        problem, maker.toSchedule(best.table, problem.microbatches),
        simulation);
  }

  const Problem &problem;
  const SearchOptions &options;
  const Deadline limit;
  /// With fewer micro-batches and without caps.
  Problem sample;
  Maker maker;
  Random random;
  Valued best;
  /// Tasks timed.
  int64_t used = 0;
};

} // namespace

double rondo::steadyEstimateNs(const Problem &problem, uint64_t seed) {
  SearchOptions options;
  options.seed = seed;
  options.timeLimitMs = 0;
  return Searcher(problem, options).estimateNs();
}

SearchResult rondo::searchSteady(const Problem &problem,
                                 const SearchOptions &options) {
  return Searcher(problem, options).run();
}
