//===- UnevenSearch.cpp - Search if micro-batches differ ------------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "schedule/search/UnevenSearch.h"

#include "schedule/lists/Construct.h"
#include "schedule/search/ListSearch.h"
#include "schedule/search/OneByOne.h"

#include <algorithm>
#include <functional>

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
/// A round of all starts takes 1/partsForStarts of what is left; a chain of the
/// later rounds takes 1/partsForRound. Many fresh starts find more than a few
/// long chains.
constexpr int64_t partsForStarts = 8, partsForRound = 40;
/// Work of the shortest round, per task, and of the first of a start.
constexpr int64_t minRound = 4000, minFirstRound = 1000;
/// Work of a construction, per task.
constexpr int64_t stepsOfConstruction = 4;
/// If less than this times the square of the number of tasks is left, half of
/// it improves orders by constructions: moves of single tasks would be too few.
constexpr int64_t movesPerTask = 300;
/// Temperatures as parts of the objective: of starts, of later rounds and of
/// orders.
/// `weightOfEnds` is for half of the chains of a round.
constexpr double weightOfEnds = 0.1, hotStart = 0.02, hotRound = 0.01,
                 hotOrder = 0.003;

class Searcher : ListSearch {
public:
  Searcher(const Problem &problem, const SearchOptions &options)
      : ListSearch(problem, options), random(options.seed) {}

  SearchResult run() {
    if (!begin(1000 * defaultEffort))
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
        searchGraph({*graph, orders},
                    [this, end = budget.tasksUsed() + tasksLeft() / 2] {
                      return end - budget.tasksUsed();
                    });
      else
        searchGraph({*graph, orders}, [this] { return tasksLeft(); });
    }
    if (!result.schedule)
      offer(oneByOne(problem), "one-by-one");
    if (givenNs < never)
      result.givenNs = givenNs;
    return end();
  }

private:
  /// `left` returns the number of tasks that the search may still use.
  using Left = std::function<int64_t()>;

  void searchGraph(const ListDomain &domain, const Left &left) {
    if (domain.orders != OrderClass::Index)
      searchOrders({domain.graph, OrderClass::Index},
                   [this, end = budget.tasksUsed() + left() / partsForGiven] {
                     return end - budget.tasksUsed();
                   });
    if (!isOrderGiven(domain.orders) && !domain.graph.isFused)
      tryFamilies({FamilyOrder::Ascending, FamilyOrder::Descending,
                   FamilyOrder::LongShort});
    searchOrders(domain, left);
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

  /// Moves a micro-batch to another place.
  void moveOne(std::vector<int32_t> &order) {
    const auto count = static_cast<int64_t>(order.size());
    const auto from = order.begin() + random.below(count),
               to = order.begin() + random.below(count);
    if (from < to)
      std::rotate(from, from + 1, to + 1);
    else
      std::rotate(to, from, from + 1);
  }

  /// Lists that a rule constructs for an order.
  struct Construction {
    std::vector<int32_t> order;
    ConstructRule rule;
    ListStart start;
  };

  Construction constructed(const ListDomain &domain, ListAnnealing &annealing,
                           std::vector<int32_t> order,
                           const ConstructRule &rule) {
    Construction made{std::move(order), rule, {}};
    budget.use(stepsOfConstruction * domain.graph.numTasks());
    if (construct(domain.graph, rule, domain.orders, made.order,
                  made.start.lists) &&
        annealing.legalize(made.start.lists, Overflow::Defer))
      made.start.ns = annealing.timeOf(made.start.lists);
    return made;
  }

  /// Random but for the direction that goes first.
  ConstructRule randomRule(const TaskGraph &graph) {
    ConstructRule rule;
    rule.weightGrad = static_cast<ConstructRule::WeightGrad>(random.below(3));
    if (random.below(2) == 0)
      rule.inFlight = static_cast<int32_t>(1 + random.below(2 * graph.ranks));
    return rule;
  }

  /// Anneals the order of micro-batches and the rule of construction with
  /// `tasks` tasks of work; adds lists that are better than all before.
  void annealOrders(const ListDomain &domain, ListAnnealing &annealing,
                    Construction current, int64_t tasks,
                    std::vector<ListStart> &starts) {
    const int64_t begin = budget.tasksUsed(), count = domain.graph.microbatches;
    const double hot = hotOrder * double(current.start.ns);
    int64_t best = current.start.ns, used = 0;
    while (used < tasks && !isDone()) {
      std::vector<int32_t> order = current.order;
      ConstructRule rule = current.rule;
      if (random.below(8) == 0) {
        rule = randomRule(domain.graph);
        rule.isBackwardFirst = random.below(4) > 0;
        rule.isTapered = random.below(2) > 0;
      } else if (random.below(2) == 0) {
        std::swap(order[random.below(count)], order[random.below(count)]);
      } else {
        moveOne(order);
      }
      Construction next =
          constructed(domain, annealing, std::move(order), rule);
      used = budget.tasksUsed() - begin;
      const double temperature = hot * (1 - double(used) / double(tasks));
      if (next.start.ns == infinite ||
          next.start.ns - current.start.ns >
              int64_t(temperature * random.exponential()))
        continue;
      current = std::move(next);
      if (current.start.ns >= best)
        continue;
      best = current.start.ns;
      insertStart(starts, current.start, maxStarts);
    }
  }

  /// Lists by all rules and orders, best first, with different objectives.
  std::vector<ListStart> makeStarts(const ListDomain &domain,
                                    ListAnnealing &annealing,
                                    const Left &left) {
    const TaskGraph &graph = domain.graph;
    std::vector<ListStart> starts;
    Construction best;
    const int64_t size = graph.numTasks();
    const bool isLarge = left() / size < movesPerTask * size;
    using WeightGrad = ConstructRule::WeightGrad;
    for (const std::vector<int32_t> &order : ordersToTry(domain.orders))
      for (WeightGrad weightGrad :
           {WeightGrad::Fills, WeightGrad::Waits, WeightGrad::Follows})
        for (const auto &[inFlight, isTapered] : {std::pair(1 << 30, false),
                                                  {graph.ranks, false},
                                                  {graph.ranks, true}}) {
          if (isTapered && !isLarge)
            continue;
          if (!starts.empty() && budget.isSpent(size))
            return starts;
          Construction made =
              constructed(domain, annealing, order,
                          {weightGrad, true, inFlight, isTapered, {}});
          if (made.start.ns < best.start.ns)
            best = made;
          insertStart(starts, std::move(made.start), maxStarts);
        }
    if (starts.empty()) {
      RankLists lists =
          constructOneByOne(graph, orderByLength(problem, LengthOrder::Given));
      if (annealing.legalize(lists, Overflow::Defer)) {
        const int64_t ns = annealing.timeOf(lists);
        starts.push_back({std::move(lists), ns});
      }
    } else if (isLarge && !isOrderGiven(domain.orders)) {
      annealOrders(domain, annealing, std::move(best), left() / 2, starts);
    }
    // Fewer starts if each would have too few moves.
    const int64_t most = left() / partsForStarts / (minFirstRound * size);
    if (isLarge && most < int64_t(starts.size()))
      starts.resize(std::max<int64_t>(most, 1));
    return starts;
  }

  /// Anneals `count` starts on all threads with `each` tasks of work, and notes
  /// the best objective of the given order.
  void anneal(const ListDomain &domain, std::vector<ListStart *> some,
              int64_t each, double hot) {
    std::vector<ListChain> chains;
    for (ListStart *start : some)
      chains.push_back({std::move(*start), {hot, 0}});
    runChains(domain, chains, each);
    for (size_t i = 0; i < some.size(); ++i) {
      *some[i] = std::move(chains[i].start);
      note(domain, *some[i]);
    }
  }

  void note(const ListDomain &domain, const ListStart &start) {
    if (domain.orders == OrderClass::Index)
      givenNs = std::min(givenNs, start.ns);
  }

  void searchOrders(const ListDomain &domain, const Left &left) {
    ListAnnealing annealing = makeAnnealing(domain, options.seed, budget);
    std::vector<ListStart> starts = makeStarts(domain, annealing, left);
    const auto sortStarts = [&] {
      std::stable_sort(
          starts.begin(), starts.end(),
          [](const ListStart &a, const ListStart &b) { return a.ns < b.ns; });
    };
    sortStarts();
    for (const ListStart &start : starts) {
      if (start.ns < objective())
        offer({domain.graph, domain.orders, "construction"}, start.lists);
      note(domain, start);
    }
    // Anneals all starts, then longer the better ones.
    while (starts.size() > 1 && !isDone()) {
      const int64_t each = left() / partsForStarts / int64_t(starts.size());
      std::vector<ListStart *> all;
      for (ListStart &start : starts)
        all.push_back(&start);
      anneal(domain, all, each, hotStart);
      sortStarts();
      if (starts.size() <= keptStarts)
        break;
      starts.resize(std::max(keptStarts, starts.size() / 3));
    }
    // Chains from the best lists and from fresh starts.
    while (!starts.empty() && left() > 0 && !isDone()) {
      const int64_t share =
          std::min(left(), std::max(left() / partsForRound,
                                    minRound * domain.graph.numTasks()));
      const size_t middle = starts.size() / 2;
      std::vector<ListChain> chains = {{starts.front(), {hotRound, 0}}};
      if (middle > 0)
        chains.push_back({starts[middle], {hotRound, weightOfEnds}});
      const size_t known = chains.size();
      for (const double weight : {0., weightOfEnds})
        if (ListStart fresh = freshStart(domain, annealing);
            fresh.ns < infinite)
          chains.push_back({std::move(fresh), {hotStart, weight}});
      runChains(domain, chains,
                std::min(share, left() / int64_t(chains.size())));
      for (size_t i = 0; i < chains.size(); ++i) {
        ListStart &end = chains[i].start;
        note(domain, end);
        if (i < known)
          starts[i == 0 ? 0 : middle] = std::move(end);
        else if (end.ns <= starts.back().ns || starts.size() < keptStarts)
          starts.push_back(std::move(end));
      }
      sortStarts();
      if (starts.size() > keptStarts)
        starts.resize(keptStarts);
    }
  }

  /// Lists of a random order and rule; `infinite` if these do not fit.
  ListStart freshStart(const ListDomain &domain, ListAnnealing &annealing) {
    ConstructRule rule = randomRule(domain.graph);
    std::vector<int32_t> order =
        isOrderGiven(domain.orders) ? orderByLength(problem, LengthOrder::Given)
                                    : randomOrder();
    rule.isBackwardFirst = random.below(4) > 0;
    // The activations of one micro-batch may be held while others pass.
    if (!ordersForwards(domain.orders) && random.below(2) > 0) {
      rule.forwards = order;
      moveOne(rule.forwards);
    }
    return constructed(domain, annealing, std::move(order), rule).start;
  }

  Random random;
  int64_t givenNs = never;
};

} // namespace

SearchResult rondo::searchUneven(const Problem &problem,
                                 const SearchOptions &options) {
  return Searcher(problem, options).run();
}
