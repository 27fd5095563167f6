//===- ListSearch.cpp - Common part of searches on rank lists -------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "schedule/search/ListSearch.h"

#include "schedule/simulate/Objective.h"

#include <algorithm>
#include <atomic>

using namespace rondo;

void rondo::insertStart(std::vector<ListStart> &starts, ListStart start,
                        size_t most, bool replaces) {
  if (start.ns == infinite)
    return;
  const auto at = std::lower_bound(
      starts.begin(), starts.end(), start.ns,
      [](const ListStart &one, int64_t value) { return one.ns < value; });
  if (at == starts.end() || at->ns != start.ns)
    starts.insert(at, std::move(start));
  else if (replaces)
    *at = std::move(start);
  if (starts.size() > most)
    starts.pop_back();
}

int64_t ListSearch::tasksLeft() const {
  const int64_t inTime = budget.tasksInTime();
  return std::max<int64_t>(
      0, std::min(budget.tasksLeft(), inTime < never / workers.count()
                                          ? inTime * workers.count()
                                          : never));
}

int64_t ListSearch::offer(Schedule schedule, const std::string &origin) {
  const bool inIndexOrder = takeOrder(problem, options, schedule);
  return judgeAndKeep(std::move(schedule), inIndexOrder, origin);
}

int64_t ListSearch::offer(const ListDomain &domain, const RankLists &lists) {
  return offer(scheduleOf(domain, lists), domain.origin);
}

Schedule ListSearch::scheduleOf(const ListDomain &domain,
                                const RankLists &lists) const {
  Schedule schedule = toSchedule(domain.graph, lists);
  if (problem.isUneven() && ordersWeightGrads(domain.orders))
    schedule.accumulation = lists.order;
  return schedule;
}

ListAnnealing ListSearch::makeAnnealing(const ListDomain &domain, uint64_t seed,
                                        Budget &own) const {
  ListAnnealing annealing(domain.graph, domain.orders, seed, own);
  if (!problem.nics.empty())
    annealing.exactNs = [this, &graph = domain.graph](const RankLists &lists) {
      return objectiveOf(problem, simulate(problem, toSchedule(graph, lists)));
    };
  return annealing;
}

void ListSearch::runChains(const ListDomain &domain,
                           std::vector<ListChain> &chains, int64_t each) {
  const auto count = static_cast<int64_t>(chains.size());
  const int64_t bound = result.bound.ns;
  std::vector<Budget> parts(chains.size(), budget.part(each));
  std::vector<ListStart> ends(chains.size());
  std::vector<double> seconds(chains.size());
  std::atomic<int64_t> firstDone{count};
  const double begin = budget.seconds();
  workers.forEach(count, [&](int32_t, int64_t i) {
    // A chain before this one has reached the bound.
    if (firstDone < i)
      return;
    const double beginOfChain = budget.seconds();
    ListStart &end = ends[i] = chains[i].start;
    ListAnnealing annealing = makeAnnealing(
        domain, options.seed + numChains + uint64_t(1 + i), parts[i]);
    end.ns = annealing.run(end.lists, bound, each, chains[i].settings);
    seconds[i] = budget.seconds() - beginOfChain;
    if (end.ns <= bound)
      for (int64_t known = firstDone; i < known;)
        if (firstDone.compare_exchange_weak(known, i))
          break;
  });
  numChains += uint64_t(count);
  double together = 0;
  for (int64_t i = 0; i < count; ++i) {
    if (firstDone < i)
      break; // may have run or not
    budget.join(parts[i]);
    together += seconds[i];
    chains[i].start = std::move(ends[i]);
    if (chains[i].start.ns < objective())
      offer(domain, chains[i].start.lists);
  }
  budget.addSeconds(std::max(0.0, together - (budget.seconds() - begin)));
}

SearchResult ListSearch::end() {
  finish();
  result.effort = budget.tasksUsed() / 1000;
  result.seconds = budget.seconds();
  return std::move(result);
}
