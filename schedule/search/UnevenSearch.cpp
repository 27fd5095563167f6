//===- UnevenSearch.cpp - Search if micro-batches differ ------------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "schedule/search/UnevenSearch.h"

#include "schedule/model/Infinity.h"
#include "schedule/search/ListSearch.h"
#include "schedule/search/OneByOne.h"
#include "schedule/search/UnevenAnnealing.h"
#include "schedule/uneven/Construct.h"

#include <algorithm>

using namespace rondo;

namespace {

/// Units of 1,000 tasks.
constexpr int64_t defaultEffort = 200000;
/// 1/partsForGiven of the budget searches the given order.
constexpr int64_t partsForGiven = 6;
/// Random orders that the constructions try; starts that are annealed, and
/// those that remain after some rounds.
constexpr int randomOrders = 20;
constexpr size_t maxStarts = 24, keptStarts = 4;
/// A round of all starts takes 1/partsForStarts of what is left; later rounds
/// take 1/partsForRound each.
constexpr int64_t partsForStarts = 3, partsForRound = 8;
/// Work of the shortest round, per task.
constexpr int64_t minRound = 4000;
/// Temperatures as parts of the objective: of starts and of later rounds.
constexpr double hotStart = 0.02, hotRound = 0.01;

using Start = ListStart<RankLists>;

class Searcher : ListSearch {
public:
  Searcher(const Problem &problem, const SearchOptions &options)
      : ListSearch(problem, options), random(options.seed) {}

  SearchResult run() {
    if (!begin(defaultEffort))
      return std::move(result);
    for (const Schedule &start : options.starts)
      offer(start, "start");
    const OrderClass orders =
        options.inIndexOrder && !isOrderGiven(options.orders) ? OrderClass::Sums
                                                              : options.orders;
    tryFamilies({FamilyOrder::Given});
    const bool hasFused = hasCheaperBackward(problem);
    for (const bool isFused : {false, true}) {
      if (isFused && !hasFused)
        continue;
      const std::optional<TaskGraph> graph = makeTaskGraph(problem, isFused);
      if (!graph)
        break;
      // The last search ends with the budget.
      if (hasFused && !isFused)
        searchGraph(*graph, orders,
                    [this, end = budget.tasksUsed() + tasksLeft() / 2] {
                      return end - budget.tasksUsed();
                    });
      else
        searchGraph(*graph, orders, [this] { return tasksLeft(); });
    }
    if (!result.schedule)
      offer(oneByOne(problem), "one-by-one");
    if (givenNs < infinite)
      result.givenNs = givenNs;
    finish();
    return std::move(result);
  }

private:
  int64_t tasksLeft() const {
    return std::max<int64_t>(
        0, std::min(budget.tasksLeft(), budget.tasksInTime()));
  }
  /// Keeps a schedule if it is legal and better; returns its objective,
  /// `infinite` if it is not legal.
  int64_t offer(Schedule schedule, const std::string &origin) {
    // Schedules of families in the given order state none.
    if (ordersWeightGrads(options.orders) && schedule.accumulation.empty())
      schedule.accumulation = orderByLength(problem, LengthOrder::Given);
    return submit(
        judge(problem, std::move(schedule), ordersWeightGrads(options.orders)),
        origin);
  }

  int64_t offer(const TaskGraph &graph, OrderClass orders,
                const RankLists &lists, const char *origin) {
    Schedule schedule = toSchedule(graph, lists);
    if (ordersWeightGrads(orders))
      schedule.accumulation = lists.order;
    return offer(std::move(schedule), origin);
  }

  /// `left` returns the number of tasks that the search may still use.
  using Left = std::function<int64_t()>;

  void searchGraph(const TaskGraph &graph, OrderClass orders,
                   const Left &left) {
    if (orders != OrderClass::Index)
      searchOrders(graph, OrderClass::Index,
                   [this, end = budget.tasksUsed() + left() / partsForGiven] {
                     return end - budget.tasksUsed();
                   });
    if (!isOrderGiven(orders) && !graph.isFused)
      tryFamilies({FamilyOrder::Ascending, FamilyOrder::Descending,
                   FamilyOrder::LongShort});
    searchOrders(graph, orders, left);
  }

  void tryFamilies(std::initializer_list<FamilyOrder> orders) {
    for (FamilyChoice choice : allFamilies())
      for (FamilyOrder order : orders) {
        if (budget.isSpent(stepsOfJudging * problem.numTasks()))
          return;
        choice.order = order;
        budget.use(problem.numTasks());
        if (FamilyResult made = generate(choice, problem)) {
          const int64_t ns = offer(std::move(*made), choice.text());
          if (order == FamilyOrder::Given)
            givenNs = std::min(givenNs, ns);
        }
      }
  }

  std::vector<std::vector<int32_t>> ordersToTry(OrderClass orders) {
    std::vector<std::vector<int32_t>> list;
    for (LengthOrder rule : allLengthOrders)
      if (rule == LengthOrder::Given || !isOrderGiven(orders))
        list.push_back(orderByLength(problem, rule));
    for (int i = 0; i < randomOrders && !isOrderGiven(orders); ++i)
      list.push_back(randomOrder());
    return list;
  }

  std::vector<int32_t> randomOrder() {
    std::vector<int32_t> order = orderByLength(problem, LengthOrder::Given);
    for (int32_t k = problem.microbatches; k > 1; --k)
      std::swap(order[k - 1], order[random.below(k)]);
    return order;
  }

  /// Lists by all rules and orders, best first, with different objectives.
  std::vector<Start> makeStarts(const TaskGraph &graph, OrderClass orders,
                                Annealing &annealing) {
    std::vector<Start> starts;
    auto add = [&](RankLists lists) {
      if (!annealing.legalize(lists, Overflow::Defer))
        return;
      const int64_t ns = annealing.timeOf(lists);
      insertStart(starts, {std::move(lists), ns}, maxStarts);
    };
    using WeightGrad = ConstructRule::WeightGrad;
    for (const std::vector<int32_t> &order : ordersToTry(orders))
      for (WeightGrad weightGrad :
           {WeightGrad::Fills, WeightGrad::Waits, WeightGrad::Follows})
        for (int32_t inFlight : {1 << 30, graph.ranks}) {
          if (!starts.empty() && budget.isSpent(graph.numListed()))
            return starts;
          RankLists lists;
          budget.use(4 * graph.numListed());
          if (construct(graph, {weightGrad, true, inFlight}, orders, order,
                        lists))
            add(std::move(lists));
          else
            lists = {};
        }
    RankLists lists;
    constructOneByOne(graph, orderByLength(problem, LengthOrder::Given), lists);
    if (starts.empty())
      add(std::move(lists));
    return starts;
  }

  void searchOrders(const TaskGraph &graph, OrderClass orders,
                    const Left &left) {
    Annealing annealing(graph, orders, options.seed, budget);
    auto note = [&](const RankLists &lists, int64_t ns, const char *origin) {
      if (ns < objective())
        ns = offer(graph, orders, lists, origin);
      if (orders == OrderClass::Index)
        givenNs = std::min(givenNs, ns);
    };
    annealing.onBetter = [&](const RankLists &lists, int64_t ns) {
      note(lists, ns, "annealing");
    };
    std::vector<Start> starts = makeStarts(graph, orders, annealing);
    for (const Start &start : starts)
      note(start.lists, start.ns, "construction");
    const int64_t bound = result.bound.ns;
    // Anneals all starts, then longer the better ones.
    while (starts.size() > 1 && !isDone()) {
      const int64_t each = left() / partsForStarts / int64_t(starts.size());
      for (Start &start : starts)
        if (!isDone())
          start.ns = annealing.run(start.lists, bound, each, hotStart);
      std::stable_sort(
          starts.begin(), starts.end(),
          [](const Start &a, const Start &b) { return a.ns < b.ns; });
      if (starts.size() <= keptStarts)
        break;
      starts.resize(std::max(keptStarts, starts.size() / 3));
    }
    // Alternates between the best lists and fresh starts.
    for (int64_t turn = 0; !starts.empty() && left() > 0 && !isDone(); ++turn) {
      std::stable_sort(
          starts.begin(), starts.end(),
          [](const Start &a, const Start &b) { return a.ns < b.ns; });
      const int64_t share =
          std::min(left(), std::max(left() / partsForRound,
                                    minRound * graph.numListed()));
      if (turn % 2 == 0) {
        Start &start = starts[turn / 2 % 2 == 0 ? 0 : starts.size() / 2];
        start.ns = annealing.run(start.lists, bound, share, hotRound);
        continue;
      }
      Start fresh = freshStart(graph, orders, annealing);
      if (fresh.ns == infinite)
        continue;
      fresh.ns = annealing.run(fresh.lists, bound, share, hotStart);
      if (fresh.ns <= starts.back().ns || starts.size() < keptStarts)
        starts.push_back(std::move(fresh));
      if (starts.size() > keptStarts)
        starts.erase(starts.end() - 2);
    }
  }

  /// Lists of a random order and rule; `infinite` if these do not fit.
  Start freshStart(const TaskGraph &graph, OrderClass orders,
                   Annealing &annealing) {
    const auto weightGrad =
        static_cast<ConstructRule::WeightGrad>(random.below(3));
    const int32_t inFlight =
        random.below(2)
            ? 1 << 30
            : static_cast<int32_t>(1 + random.below(2 * graph.ranks));
    Start start;
    budget.use(4 * graph.numListed());
    if (construct(graph, {weightGrad, random.below(4) > 0, inFlight}, orders,
                  isOrderGiven(orders)
                      ? orderByLength(problem, LengthOrder::Given)
                      : randomOrder(),
                  start.lists) &&
        annealing.legalize(start.lists, Overflow::Defer))
      start.ns = annealing.timeOf(start.lists);
    return start;
  }

  Random random;
  int64_t givenNs = infinite;
};

} // namespace

SearchResult rondo::searchUneven(const Problem &problem,
                                 const SearchOptions &options) {
  return Searcher(problem, options).run();
}
