//===- Replay.cpp - Known orders as priorities ----------------------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The starts of a known order (of the incumbent or of a family; it may break
// the caps) are the targets of a dispatch that keeps the caps. Then targets are
// shifted for a task, a row of stages, a time interval or all at random, and
// the order is made again, so that many tasks move at once.
//
// Dispatches run forwards and backwards, each with the times that the other
// direction found: forward-backward improvement (Li and Willis, 1992).
// Forwards, W fills the drain; backwards, it fills the warm-up.
//
//===----------------------------------------------------------------------===//

#include "schedule/search/Dispatch.h"
#include "schedule/search/Random.h"
#include "schedule/search/SearchParts.h"
#include "schedule/search/Timer.h"

#include <algorithm>

using namespace rondo;

namespace {

class Replayer : public Part {
public:
  explicit Replayer(PartInput input)
      : flat(input.flat), given(std::move(input.start)), best(input.best),
        budget(input.budget), timer(flat), random(input.seed) {
    for (Task task : allTasks)
      for (int64_t ns : flat.ns[task])
        longest = std::max(longest, ns);
    for (int32_t s = 0; s < flat.stages; ++s)
      place.push_back(
          int32_t(std::find(flat.stagesOf[flat.rankOf[s]].begin(),
                            flat.stagesOf[flat.rankOf[s]].end(), s) -
                  flat.stagesOf[flat.rankOf[s]].begin()));
    sides.reserve(2);
    sides.emplace_back(flat, Direction::Forwards);
    sides.emplace_back(flat, Direction::Backwards);
  }

  void run(int64_t tasks) override {
    const int64_t end = budget.tasksUsed() + tasks;
    if (!isStarted && !begin())
      return;
    for (; next < 2 * numVariants; ++next) {
      if (stop(end))
        return;
      Side &side = sides[next / numVariants];
      attempt(side, variant(side.pattern, next % numVariants));
    }
    while (!stop(end)) {
      Side &side = sides[random.below(2)];
      Pattern changed = side.pattern;
      change(changed);
      attempt(side, std::move(changed));
    }
  }

  int64_t value() const override { return own; }

private:
  struct Side {
    Side(const FlatProblem &flat, Direction direction)
        : direction(direction), dispatcher(flat, direction) {}
    Direction direction;
    Dispatcher dispatcher;
    Pattern pattern;
  };

  /// Sets the targets from the given order. False if that cannot run even
  /// without caps.
  bool begin() {
    isStarted = true;
    FlatProblem free = flat;
    free.caps.assign(flat.ranks, noMemoryCap);
    Timer unlimited(free);
    budget.use(flat.tasks());
    if (given.empty() || unlimited.run(given) >= never) {
      next = 2 * numVariants;
      isLost = true;
      return false;
    }
    for (Side &side : sides)
      setTargets(side, given, unlimited.starts());
    given = Orders();
    return true;
  }

  bool stop(int64_t end) {
    return isLost || best.isOptimal() || budget.tasksUsed() >= end ||
           budget.isSpent(7 * flat.tasks() / 2);
  }

  /// Runs a pattern. If its order is no worse than the last one, keeps it and
  /// sets the targets of the other direction from it.
  void attempt(Side &side, Pattern pattern) {
    const int64_t ceiling = std::min(own, never - 1);
    int64_t found = side.dispatcher.run(pattern, ceiling);
    budget.use(2 * side.dispatcher.placed() + flat.tasks() / 4);
    if (found >= never)
      return;
    const Orders &orders = side.dispatcher.orders();
    if (side.direction == Direction::Backwards || flat.hasSerialLinks) {
      // Times the order forwards: the objective of a backward run is an upper
      // bound, and serial links may make it larger.
      found = timer.run(orders, ceiling);
      budget.use(flat.tasks());
      if (found >= never)
        return;
    }
    best.offer(orders, found, "replay");
    own = found;
    Side &other = sides[side.direction == Direction::Forwards ? 1 : 0];
    side.pattern = std::move(pattern);
    setTargets(other, orders, side.dispatcher.starts());
  }

  void setTargets(Side &side, const Orders &orders,
                  const std::vector<std::vector<int64_t>> &starts) {
    auto &targets = side.pattern.targets;
    const bool isForwards = side.direction == Direction::Forwards;
    for (auto &column : targets)
      column.resize(size_t(flat.stages) * flat.microbatches);
    count.resize(numCodes(flat.stages));
    for (int32_t rank = 0; rank < flat.ranks; ++rank) {
      std::fill(count.begin(), count.end(), 0);
      for (size_t i = 0; i < orders.ranks[rank].size(); ++i) {
        const Code code = orders.ranks[rank][i];
        const Task task = taskOf(code);
        const int32_t stage = stageOf(code), k = count[code]++;
        const int64_t start = starts[rank][i],
                      finish = start + flat.ns[task][stage];
        horizon = std::max(horizon, finish);
        if (isForwards)
          targets[task][flat.at(stage, k)] = start;
        else
          targets[mirrored(task)][flat.at(stage, flat.microbatches - 1 - k)] =
              -finish;
      }
    }
    // Backwards, time 0 is the horizon. Only the order of targets matters.
    if (!isForwards)
      for (auto &column : targets)
        for (int64_t &target : column)
          target += horizon;
  }

  /// Variant `number` of a pattern. Variant 0 is the order as it was, if it
  /// keeps the caps.
  static Pattern variant(const Pattern &base, size_t number) {
    using Discipline = Pattern::Discipline;
    static constexpr int32_t backlogs[] = {Pattern::unlimited, 4, 1};
    Pattern pattern = base;
    pattern.weightGrad = Pattern::WeightGrad::Fills;
    pattern.backlog = Pattern::unlimited;
    if (number == 0) {
      pattern.discipline = Discipline::InOrder;
      pattern.weightGrad = Pattern::WeightGrad::Exact;
    } else {
      pattern.discipline = number % 2 ? Discipline::Ready : Discipline::InOrder;
      pattern.backlog = backlogs[(number - 1) / 2];
    }
    return pattern;
  }
  static constexpr size_t numVariants = 7;

  void change(Pattern &pattern) {
    using WeightGrad = Pattern::WeightGrad;
    const int64_t kind = random.below(11);
    if (kind == 0)
      pattern.patience = int32_t(random.below(9));
    else if (kind == 1)
      pattern.discipline = static_cast<Pattern::Discipline>(random.below(3));
    else if (kind == 2)
      pattern.backlog =
          random.below(3) ? int32_t(1 + random.below(8)) : Pattern::unlimited;
    else if (kind == 3)
      pattern.weightGrad = static_cast<WeightGrad>(random.below(3));
    else if (kind == 4)
      pattern.goal = random.below(3) && best.objective < never
                         ? best.bound + random.below(33) *
                                            (best.objective - best.bound) / 32
                         : never;
    else if (kind == 5)
      pattern.reach = random.below(3) ? random.below(4 * longest) : 0;
    else
      shift(pattern);
  }

  /// Shifts the targets of a random task, set of stages and time interval.
  void shift(Pattern &pattern) {
    const int64_t amount =
        (random.below(2) ? 1 : -1) *
        (1 + int64_t(random.unit() * random.unit() * 8.0 * double(longest)));
    const int64_t noise = random.below(4) == 0 ? 2 * longest : 0;
    const Task task = allTasks[random.below(
        pattern.weightGrad == Pattern::WeightGrad::Fills ? 2
                                                         : tasksPerMicrobatch)];
    int64_t from = 0, to = horizon + 1;
    if (random.below(3)) {
      from = random.below(horizon + 1);
      to = from + 1 + random.below(1 + horizon / 2);
    }
    const int64_t which = random.below(3);
    const int32_t one = int32_t(random.below(flat.stages));
    for (int32_t s = 0; s < flat.stages; ++s) {
      if (which == 1 && place[s] != place[one])
        continue;
      if (which == 2 && flat.rankOf[s] != flat.rankOf[one])
        continue;
      for (int32_t k = 0; k < flat.microbatches; ++k) {
        int64_t &target = pattern.targets[task][flat.at(s, k)];
        if (target >= from && target < to)
          target += noise ? random.below(2 * noise) - noise : amount;
      }
    }
  }

  const FlatProblem &flat;
  /// The orders to begin with, until begin().
  Orders given;
  Incumbent &best;
  Budget &budget;
  Timer timer;
  Random random;
  std::vector<Side> sides;
  std::vector<int32_t> place;
  std::vector<int32_t> count;
  int64_t longest = 1, horizon = 0, own = never;
  bool isStarted = false, isLost = false;
  size_t next = 0;
};

} // namespace

SearchPart rondo::replay() {
  SearchPart part = {"replay", "known orders as priorities, under the caps",
                     PartPhase::Island, makePart<Replayer>, 30};
  part.continuesOrders = true;
  return part;
}
