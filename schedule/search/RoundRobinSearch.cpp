//===- RoundRobinSearch.cpp - Search with round-robin stages --------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "schedule/search/RoundRobinSearch.h"

#include "schedule/families/Replicas.h"
#include "schedule/search/Greedy.h"
#include "schedule/search/OneByOne.h"
#include "schedule/search/Orders.h"
#include "schedule/search/Random.h"

#include <algorithm>

using namespace rondo;

namespace {

/// The search stops after this many trials without improvement.
constexpr int64_t maxInVain = 4000;

class GreedySearch {
public:
  GreedySearch(const Problem &problem, uint64_t seed)
      : problem(problem), random(seed), greedy(problem) {}

  void run(int64_t bound, int64_t maxTasks, Budget &budget,
           const Offer &offer) {
    const int64_t begin = budget.tasksUsed();
    const int64_t tasks = problem.numTasks();
    Priorities best = first();
    int64_t value = never;
    for (int64_t inVain = 0; inVain < maxInVain && value > bound; ++inVain) {
      if (budget.isSpent(4 * tasks) || budget.tasksUsed() - begin >= maxTasks)
        return;
      Priorities trial = best;
      if (inVain > 0 || value < never)
        change(trial);
      budget.use(4 * tasks);
      std::optional<Schedule> made = greedy.run(trial);
      const int64_t found = made ? offer(std::move(*made), "greedy") : never;
      if (found > value)
        continue;
      if (found < value)
        inVain = 0;
      value = found;
      best = std::move(trial);
    }
  }

private:
  /// The initial priorities: I before F before W, old micro-batches before new
  /// ones.
  Priorities first() {
    Priorities priorities;
    for (int32_t replica = 0; replica < problem.numReplicas(); ++replica) {
      auto ns = [&](ActionKind kind) { return problem.cost(replica, kind).ns; };
      longest = std::max({longest, ns(ActionKind::Forward),
                          ns(ActionKind::Backward), ns(ActionKind::Recompute)});
      priorities.isFused.push_back(hasCheaperBackward(problem, replica));
    }
    // Keeps offsets far below 2^63.
    longest = std::min(longest, int64_t(1) << 40);
    for (Task task : allTasks)
      priorities.offset[task].assign(problem.numReplicas(),
                                     task == Task::I ? -2 * longest : 0);
    priorities.period = longest;
    return priorities;
  }

  void change(Priorities &priorities) {
    const int64_t what = random.below(10);
    if (what == 0) {
      priorities.ordersWeightGrads = !priorities.ordersWeightGrads;
    } else if (what == 1) {
      const size_t replica = size_t(random.below(problem.numReplicas()));
      priorities.isFused[replica] = !priorities.isFused[replica];
    } else if (what == 2) {
      priorities.period = 1 + random.below(4 * longest);
    } else {
      const int64_t amount = random.below(8 * longest + 1) - 4 * longest;
      const Task task = allTasks[random.below(tasksPerMicrobatch)];
      if (what == 3)
        for (int64_t &offset : priorities.offset[task])
          offset += amount;
      else
        priorities.offset[task][random.below(problem.numReplicas())] += amount;
    }
  }

  const Problem &problem;
  Random random;
  Greedy greedy;
  int64_t longest = 1;
};

} // namespace

static void searchRounds(const Problem &problem, const SearchOptions &options,
                         Budget &budget, const Offer &offer) {
  const auto groups = RankGroups::of(problem);
  if (!groups)
    return;
  SearchOptions half = options;
  half.observer = nullptr;
  if (options.timeLimitMs > 0)
    half.timeLimitMs = std::max<int64_t>(
        1, (options.timeLimitMs - int64_t(budget.seconds() * 1000)) / 2);
  if (options.effort > 0)
    half.effort =
        std::max<int64_t>(1, (options.effort - budget.tasksUsed() / 1000) / 2);
  const SearchResult inner = search(groups->groupProblem(), half);
  budget.use(inner.effort * 1000);
  if (inner.schedule)
    offer(groups->spread(*inner.schedule), inner.origin);
}

void rondo::searchRoundRobin(const Problem &problem,
                             const SearchOptions &options, int64_t bound,
                             Budget &budget, const Offer &offer) {
  searchRounds(problem, options, budget, offer);
  searchGreedily(problem, options.seed, bound, never, budget, offer);
}

void rondo::searchGreedily(const Problem &problem, uint64_t seed, int64_t bound,
                           int64_t tasks, Budget &budget, const Offer &offer) {
  GreedySearch(problem, seed).run(bound, tasks, budget, offer);
}
