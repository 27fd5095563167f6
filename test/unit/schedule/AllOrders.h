//===- AllOrders.h - The best of all orders of a tiny problem ---*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#ifndef RONDO_TEST_UNIT_SCHEDULE_ALLORDERS_H
#define RONDO_TEST_UNIT_SCHEDULE_ALLORDERS_H

#include "SteppedRun.h"

#include <limits>

namespace rondo::test {

/// Every order of the ranks, without link orders, as the stepped run times it.
class AllOrders {
public:
  explicit AllOrders(const Problem &problem) : problem(problem) {
    for (int32_t r = 0; r < problem.numRanks(); ++r) {
      lists.emplace_back();
      prefix.clear();
      extend(r, std::vector<int>(tasksOf(r).size(), 0));
    }
  }

  int64_t numOrders() const {
    int64_t product = 1;
    for (const auto &list : lists)
      product *= int64_t(list.size());
    return product;
  }
  int64_t least() const {
    std::vector<size_t> chosen(lists.size(), 0);
    int64_t best = std::numeric_limits<int64_t>::max();
    while (true) {
      Schedule schedule;
      for (size_t r = 0; r < lists.size(); ++r) {
        for (Action action : lists[r][chosen[r]])
          schedule.append(action);
        schedule.endRank();
      }
      SteppedRun run(problem, schedule);
      const int64_t ns = run.run(500);
      if (ns >= 0)
        best = std::min(best, problem.objective == Objective::Makespan
                                  ? ns
                                  : spanOf(schedule, run));
      size_t r = 0;
      while (r < lists.size() && ++chosen[r] == lists[r].size())
        chosen[r++] = 0;
      if (r == lists.size())
        return best;
    }
  }

private:
  static int64_t spanOf(const Schedule &schedule, const SteppedRun &run) {
    int64_t span = 0;
    for (int32_t r = 0; r < schedule.numRanks(); ++r)
      span = std::max(span, run.endNs[schedule.rankBegin(r + 1) - 1] -
                                run.startNs[schedule.rankBegin(r)]);
    return span;
  }
  std::vector<std::pair<int32_t, int32_t>> tasksOf(int32_t rank) const {
    std::vector<std::pair<int32_t, int32_t>> tasks;
    for (int32_t s = 0; s < problem.numStages(); ++s)
      for (int32_t i = 0; problem.rankOf(s) == rank && i < problem.microbatches;
           ++i)
        tasks.push_back({s, i});
    return tasks;
  }
  /// `done`: number of F, I and W done, one entry per task.
  void extend(int32_t rank, std::vector<int> done) {
    const auto tasks = tasksOf(rank);
    if (std::all_of(done.begin(), done.end(), [](int d) { return d == 3; })) {
      lists.back().push_back(prefix);
      return;
    }
    constexpr ActionKind kinds[] = {ActionKind::Forward, ActionKind::InputGrad,
                                    ActionKind::WeightGrad};
    for (size_t t = 0; t < tasks.size(); ++t) {
      if (done[t] == 3)
        continue;
      prefix.push_back(Action(kinds[done[t]], tasks[t].first, tasks[t].second));
      ++done[t];
      extend(rank, done);
      --done[t];
      prefix.pop_back();
    }
  }

  const Problem &problem;
  std::vector<std::vector<std::vector<Action>>> lists;
  std::vector<Action> prefix;
};

} // namespace rondo::test

#endif // RONDO_TEST_UNIT_SCHEDULE_ALLORDERS_H
