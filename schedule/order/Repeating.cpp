//===- Repeating.cpp - Repeating orders of iterations ---------------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "schedule/order/Repeating.h"

#include <algorithm>

using namespace rondo;

Schedule rondo::runOf(const Repeating &order, int64_t iterations,
                      int64_t microbatchesEach) {
  const int64_t repetitions =
      (iterations + order.iterations - 1) / order.iterations;
  Schedule run;
  run.reserve(order.opening.numActions() +
              repetitions * order.repeated.numActions());
  for (int32_t r = 0; r < order.opening.numRanks(); ++r) {
    auto append = [&](Action action) {
      if (iterationOf(action, microbatchesEach) < iterations)
        run.append(action);
    };
    for (Action action : order.opening.rank(r))
      append(action);
    for (int64_t k = 0; k < repetitions; ++k)
      for (Action action : order.repeated.rank(r))
        append(laterBy(k * order.iterations, action, microbatchesEach));
    run.endRank();
  }
  return run;
}

namespace {

/// One rank's order and its repetition.
class RankOrder {
public:
  RankOrder(ActionRange actions, int64_t iterations, int64_t each)
      : actions(actions), iterations(iterations), each(each) {}

  /// The position of the first repetition if each has `step` iterations; -1 if
  /// the order does not repeat. Sets `length`, the number of actions of a
  /// repetition.
  int64_t find(int64_t step) {
    // A repetition has as many actions as `step` iterations in the middle of
    // the window.
    length = std::count_if(actions.begin(), actions.end(), [&](Action action) {
      const int64_t iteration = iterationOf(action, each);
      return iteration >= iterations / 2 && iteration < iterations / 2 + step;
    });
    if (length == 0)
      return actions.empty() ? 0 : -1;
    auto isRepeated = [&](int64_t i) {
      return laterBy(step, actions[i], each) == actions[i + length];
    };
    // Extends the repetition from the middle of the order back to its
    // beginning, and forward through the third quarter. The last quarter may
    // include the drain.
    const int64_t lastIteration = iterations - 1 - iterations / 4;
    const int64_t last =
        std::find_if(actions.begin(), actions.end(),
                     [&](Action action) {
                       return iterationOf(action, each) == lastIteration;
                     }) -
        actions.begin();
    int64_t begin = std::min(actions.size() - length, actions.size() / 2);
    const int64_t middle = begin;
    while (begin > 0 && isRepeated(begin - 1))
      --begin;
    int64_t end = middle;
    while (end + length < last && isRepeated(end))
      ++end;
    return end + length < last || end - begin < length ? -1 : begin;
  }

  int64_t length = 0;

private:
  const ActionRange actions;
  const int64_t iterations, each;
};

} // namespace

static bool areEqual(const Schedule &a, const Schedule &b) {
  for (int32_t r = 0; r < a.numRanks(); ++r) {
    const ActionRange one = a.rank(r), other = b.rank(r);
    if (!std::equal(one.begin(), one.end(), other.begin(), other.end()))
      return false;
  }
  return true;
}

Result<Repeating> rondo::findRepetition(const Schedule &orders,
                                        int64_t iterations,
                                        int64_t microbatchesEach,
                                        RepetitionEnd end) {
  int32_t unlike = 0;
  for (int64_t step = 1; step <= std::max<int64_t>(1, iterations / 4); ++step) {
    Repeating result;
    result.iterations = static_cast<int32_t>(step);
    int32_t r = 0;
    for (; r < orders.numRanks(); ++r) {
      const ActionRange actions = orders.rank(r);
      RankOrder rank(actions, iterations, microbatchesEach);
      const int64_t begin = rank.find(step);
      if (begin < 0)
        break;
      for (int64_t i = 0; i < begin; ++i)
        result.opening.append(actions[i]);
      for (int64_t i = begin; i < begin + rank.length; ++i)
        result.repeated.append(actions[i]);
      result.opening.endRank();
      result.repeated.endRank();
    }
    if (r == orders.numRanks() &&
        (end == RepetitionEnd::Any ||
         areEqual(runOf(result, iterations, microbatchesEach), orders)))
      return result;
    unlike = std::min(r, orders.numRanks() - 1);
  }
  return makeFault<FaultKind::DoesNotRepeat>(unlike, iterations);
}

std::vector<int64_t> rondo::iterationsUnderWayByRank(const Repeating &order,
                                                     int64_t microbatchesEach) {
  std::vector<int64_t> underWay(order.opening.numRanks(), 1);
  for (const Schedule *part : {&order.opening, &order.repeated})
    for (int32_t r = 0; r < part->numRanks(); ++r)
      for (Action action : part->rank(r))
        underWay[r] =
            std::max(underWay[r], iterationOf(action, microbatchesEach) + 1);
  return underWay;
}

int64_t rondo::iterationsUnderWay(const Repeating &order,
                                  int64_t microbatchesEach) {
  const std::vector<int64_t> byRank =
      iterationsUnderWayByRank(order, microbatchesEach);
  return byRank.empty() ? 1 : *std::max_element(byRank.begin(), byRank.end());
}

int64_t
rondo::iterationsOfProof(const std::vector<int64_t> &underWay,
                         int64_t iterationsEach,
                         const std::vector<std::vector<int32_t>> &blocks) {
  int64_t most = 1, circle = 0;
  for (int64_t rank : underWay)
    most = std::max(most, rank);
  for (const std::vector<int32_t> &block : blocks) {
    int64_t spanned = 0;
    for (int32_t rank : block)
      spanned += underWay[rank] - 1;
    circle = std::max(circle, spanned);
  }
  // Adds, to the iterations spanned by the cycle, those of the opening before
  // it and those that a rule compares after it. Windows with few iterations
  // under way need more, so that the order has settled in the middle.
  const int64_t numRanks = static_cast<int64_t>(underWay.size());
  return std::min(most * (numRanks + 2),
                  std::max(circle + 2 * most, 4 * most + 8)) +
         2 * iterationsEach;
}

Schedule rondo::withSingleBackwards(const Schedule &schedule) {
  Schedule single;
  single.reserve(schedule.numActions());
  for (int32_t r = 0; r < schedule.numRanks(); ++r) {
    for (Action action : schedule.rank(r)) {
      const int64_t count = action.count;
      action.count = 1;
      for (int64_t k = 0; k < count; ++k, ++action.index)
        single.append(action);
    }
    single.endRank();
  }
  single.linkOrders = schedule.linkOrders;
  return single;
}
