//===- Thinned.cpp - Fewer micro-batches in flight ------------------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "schedule/search/Thinned.h"
#include "schedule/search/LessMemory.h"

#include <algorithm>

using namespace rondo;

namespace {

/// Chooses micro-batches of an order, the earliest first.
class Choice {
public:
  Choice(const Problem &problem, const Schedule &schedule)
      : problem(problem), schedule(schedule),
        held(size_t(schedule.numActions())), rankOf(held.size()) {
    for (int32_t rank = 0; rank < schedule.numRanks(); ++rank)
      std::fill_n(rankOf.begin() + schedule.rankBegin(rank),
                  schedule.rank(rank).size(), rank);
    for (Action action : schedule.all())
      microbatches = std::max(microbatches, int32_t(action.index) + 1);
    listActions();
  }

  /// Keeps up to `most` micro-batches.
  void run(int32_t most) {
    isKept.assign(microbatches, false);
    for (int32_t k = 0; k < microbatches && numKept < most; ++k) {
      end = k + 1;
      if (!fits(k))
        continue;
      isKept[k] = true;
      ++numKept;
      forEachRange(k, [&](int64_t from, int64_t to, int64_t bytes) {
        for (int64_t i = from; i < to; ++i)
          held[i] += bytes;
        return true;
      });
    }
  }

  int32_t kept() const { return numKept; }
  /// Number of micro-batches that have been considered.
  int32_t seen() const { return end; }
  /// Cost in steps of a search; ten of `numLooks` take as long as a step.
  int64_t steps() const { return numLooks / 10; }

  /// The order of the kept micro-batches, renumbered.
  Schedule order() const {
    std::vector<int32_t> number(microbatches);
    for (int32_t k = 0, next = 0; k < microbatches; ++k)
      number[k] = isKept[k] ? next++ : -1;
    Schedule result;
    for (int32_t rank = 0; rank < schedule.numRanks(); ++rank) {
      for (Action action : schedule.rank(rank))
        if (number[action.index] >= 0)
          result.append(
              {action.kind(), int64_t(action.subject), number[action.index]});
      result.endRank();
    }
    return result;
  }

private:
  /// Lists the positions of each micro-batch's actions, in ascending order.
  void listActions() {
    begins.assign(size_t(microbatches) + 1, 0);
    for (Action action : schedule.all())
      ++begins[action.index + 1];
    for (int32_t k = 0; k < microbatches; ++k)
      begins[k + 1] += begins[k];
    std::vector<int64_t> next(begins.begin(), begins.end() - 1);
    positions.resize(held.size());
    int64_t position = 0;
    for (Action action : schedule.all())
      positions[next[action.index]++] = position++;
  }

  /// Calls visit(from, to, bytes) for each range of positions over which
  /// micro-batch k holds `bytes`. Stops and returns false once `visit` returns
  /// false.
  template <typename Visit> bool forEachRange(int32_t k, const Visit &visit) {
    int64_t bytes = 0;
    for (int64_t i = begins[k]; i < begins[k + 1]; ++i) {
      const int64_t at = positions[i];
      const Action action = schedule.all()[at];
      const Cost &cost = problem.cost(int32_t(action.subject), action.kind());
      bytes += cost.acquireBytes;
      ++numLooks;
      if (!visit(at, at + 1, bytes))
        return false;
      bytes -= cost.releaseBytes;
      if (bytes == 0)
        continue;
      const int64_t to = i + 1 < begins[k + 1] ? positions[i + 1] : at + 1;
      numLooks += (to - at) / 8;
      if (!visit(at + 1, to, bytes))
        return false;
    }
    return true;
  }

  bool fits(int32_t k) {
    return forEachRange(k, [&](int64_t from, int64_t to, int64_t bytes) {
      if (from == to)
        return true;
      return *std::max_element(held.begin() + from, held.begin() + to) +
                 bytes <=
             problem.memoryCaps[rankOf[from]];
    });
  }

  const Problem &problem;
  const Schedule &schedule;
  int32_t microbatches = 0, numKept = 0, end = 0;
  int64_t numLooks = 0;
  /// [position in the schedule]: bytes that the kept micro-batches hold while
  /// its action runs; and its rank.
  std::vector<int64_t> held;
  std::vector<int32_t> rankOf;
  /// The positions of micro-batch k's actions are positions[begins[k]] to
  /// positions[begins[k + 1] - 1].
  std::vector<int64_t> begins, positions;
  std::vector<bool> isKept;
};

} // namespace

bool rondo::isThinnable(const Problem &problem, const Schedule &schedule) {
  const std::vector<int64_t> peaks = peaksOf(problem, schedule);
  bool isOver = false;
  for (size_t rank = 0; rank < peaks.size(); ++rank) {
    const int64_t cap = problem.memoryCaps[rank], peak = peaks[rank];
    isOver |= peak > cap;
    if (peak > cap && peak - cap > cap / 2)
      return false;
  }
  return isOver;
}

std::optional<Schedule> rondo::thinned(const Problem &problem,
                                       const FamilyChoice &choice,
                                       const Schedule &given, Budget &budget) {
  const int32_t wanted = problem.microbatches;
  Problem longer = problem;
  Schedule schedule = given;
  for (int round = 0;; ++round) {
    const int64_t steps = choice.family->stepsBeyondTasks(longer);
    if (budget.isSpent() ||
        !budget.hasTimeFor(4 * schedule.numActions() + steps))
      return std::nullopt;
    Choice chosen(problem, schedule);
    chosen.run(wanted);
    budget.use(chosen.steps() + schedule.numActions());
    if (chosen.kept() == wanted)
      return chosen.order();
    if (round == 2 || 3 * chosen.kept() < 2 * chosen.seen())
      return std::nullopt;
    longer.microbatches += int32_t(1 + int64_t(wanted - chosen.kept()) *
                                           chosen.seen() / chosen.kept());
    budget.use(steps);
    FamilyResult more = generate(choice, longer);
    if (!more)
      return std::nullopt;
    schedule = std::move(*more);
  }
}
