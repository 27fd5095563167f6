//===- row_numbers.cpp - Numbers of the rows of a batch -------------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "runtime/search/row_numbers.h"

#include "schedule/lists/Construct.h"
#include "schedule/model/MicrobatchOrder.h"
#include "schedule/search/Random.h"

#include <algorithm>
#include <numeric>
#include <utility>

using namespace rondo;
using rondo::runtime::maxOrders;

/// Columns of micro-batches in a table of `microbatches` columns.
template <typename Figure>
static std::vector<Figure> permuted(const std::vector<Figure> &table,
                                    const std::vector<int32_t> &order) {
  std::vector<Figure> result;
  result.reserve(table.size());
  for (size_t row = 0; row < table.size(); row += order.size())
    for (int32_t column : order)
      result.push_back(table[row + column]);
  return result;
}

namespace {

/// Work of a trial, per task: of the graph, of the construction, and of its
/// times.
constexpr int64_t stepsOfTrial = 8;

class Numbering {
public:
  Numbering(const Problem &problem, int64_t effort)
      : problem(problem), trial(problem), tasksLeft(1000 * effort),
        given(orderByLength(problem, LengthOrder::Given)) {}

  std::vector<std::vector<int32_t>> run() {
    for (const std::vector<int32_t> &order : firstOrders()) {
      use(order);
      for (const ConstructRule &rule : rules())
        keep(tried(order, rule));
    }
    // No construction fits: any numbers have the one-by-one order.
    if (best.empty())
      return {given};
    Trial current = best.front();
    while (tasksLeft > 0) {
      Trial next = changed(current);
      if (next.ends <= current.ends)
        current = next;
      keep(std::move(next));
    }
    std::vector<std::vector<int32_t>> orders;
    for (Trial &trial : best)
      orders.push_back(std::move(trial.order));
    return orders;
  }

private:
  struct Trial {
    std::vector<int32_t> order;
    ConstructRule rule;
    /// The objective, then the sum of the ends of all ranks.
    std::pair<int64_t, int64_t> ends{infinite, infinite};
  };

  std::vector<ConstructRule> rules() const {
    using WeightGrad = ConstructRule::WeightGrad;
    std::vector<ConstructRule> list;
    for (WeightGrad weightGrad :
         {WeightGrad::Fills, WeightGrad::Waits, WeightGrad::Follows})
      for (const int32_t inFlight : {1 << 30, problem.numRanks()})
        list.push_back({weightGrad, true, inFlight, false});
    return list;
  }

  /// Each rule of lengths, and the same with every other round of replicas in
  /// reverse, so that no replica has the longest row of each round.
  std::vector<std::vector<int32_t>> firstOrders() const {
    int64_t round = 1;
    for (const Replica &replica : problem.replicas)
      round = std::min<int64_t>(std::lcm<int64_t>(round, replica.turns),
                                problem.microbatches);
    std::vector<std::vector<int32_t>> orders;
    for (LengthOrder rule : allLengthOrders) {
      orders.push_back(orderByLength(problem, rule));
      std::vector<int32_t> turned = orders.back();
      for (int64_t begin = round; begin < problem.microbatches;
           begin += 2 * round)
        std::reverse(turned.begin() + begin,
                     turned.begin() + std::min<int64_t>(begin + round,
                                                        problem.microbatches));
      orders.push_back(std::move(turned));
    }
    return orders;
  }

  void use(const std::vector<int32_t> &order) {
    trial.unevenCosts = permuted(problem.unevenCosts, order);
    trial.unevenBytes = permuted(problem.unevenBytes, order);
    graph = makeTaskGraph(trial, /*isFused=*/false);
  }

  /// A trial of the order of use().
  Trial tried(std::vector<int32_t> order, const ConstructRule &rule) {
    Trial result{std::move(order), rule};
    tasksLeft -= stepsOfTrial * problem.numTasks();
    RankLists lists;
    if (!graph || !construct(*graph, rule, OrderClass::Sums, given, lists))
      return result;
    Legalizer legalizer(*graph, OrderClass::Sums);
    ListTimer timer(*graph);
    for (int32_t r = 0; r < graph->ranks; ++r) {
      if (!legalizer.legalize(lists, r, Overflow::Defer))
        return result;
      timer.derive(lists, r);
    }
    if (const int64_t ns = timer.run(lists); ns < infinite)
      result.ends = {ns, timer.sumOfEnds()};
    return result;
  }

  /// Keeps a trial among the best ones. Of two with the same objective or order
  /// the better one stays, or the first.
  void keep(Trial next) {
    const auto same =
        std::find_if(best.begin(), best.end(), [&](const Trial &one) {
          return one.order == next.order || one.ends.first == next.ends.first;
        });
    if (next.ends.first == infinite ||
        (same != best.end() && same->ends.first <= next.ends.first))
      return;
    if (same != best.end())
      best.erase(same);
    best.insert(std::upper_bound(best.begin(), best.end(), next,
                                 [](const Trial &one, const Trial &other) {
                                   return one.ends < other.ends;
                                 }),
                std::move(next));
    if (best.size() > maxOrders)
      best.pop_back();
  }

  /// Another rule, or an exchange or a shift in the order.
  Trial changed(const Trial &of) {
    std::vector<int32_t> order = of.order;
    ConstructRule rule = of.rule;
    const int64_t count = problem.microbatches, a = random.below(count),
                  b = random.below(count);
    if (random.below(8) == 0) {
      const std::vector<ConstructRule> all = rules();
      rule = all[random.below(static_cast<int64_t>(all.size()))];
    } else if (random.below(2) == 0) {
      std::swap(order[a], order[b]);
    } else if (a < b) {
      std::rotate(order.begin() + a, order.begin() + a + 1,
                  order.begin() + b + 1);
    } else {
      std::rotate(order.begin() + b, order.begin() + a, order.begin() + a + 1);
    }
    use(order);
    return tried(std::move(order), rule);
  }

  const Problem &problem;
  /// `problem` with the numbers of the last use(), and its graph.
  Problem trial;
  std::optional<TaskGraph> graph;
  int64_t tasksLeft;
  /// 0, 1, 2, ...
  const std::vector<int32_t> given;
  Random random{0};
  /// Sorted by objective, the best first.
  std::vector<Trial> best;
};

} // namespace

std::vector<std::vector<int32_t>>
rondo::runtime::numberRows(const Problem &problem, int64_t effort) {
  return Numbering(problem, effort).run();
}
