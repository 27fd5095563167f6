//===- UnevenTest.cpp - Micro-batches that differ -------------------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "CaseCount.h"
#include "Exhaustive.h"
#include "RandomProblem.h"

#include "schedule/lists/Construct.h"
#include "schedule/model/Infinity.h"
#include "schedule/model/MicrobatchOrder.h"
#include "schedule/rules/Legality.h"
#include "schedule/search/ListAnnealing.h"
#include "schedule/search/Search.h"

using namespace rondo;
using namespace rondo::test;

namespace {

/// Sets F, I and W of each micro-batch: times, and bytes held until W.
void setTimes(Problem &problem, const std::vector<int64_t> &times,
              const std::vector<int64_t> &bytes) {
  const auto count = static_cast<size_t>(problem.microbatches);
  std::vector<Cost> costs(problem.costs.size() * count);
  for (int32_t s = 0; s < problem.numReplicas(); ++s)
    for (size_t i = 0; i < count; ++i) {
      auto of = [&](ActionKind kind) -> Cost & {
        return costs[(size_t(s) * numCostColumns + costColumn(kind)) * count +
                     i];
      };
      of(ActionKind::Forward) = {times[i], bytes[i], 0};
      of(ActionKind::InputGrad) = {times[i], 0, 0};
      of(ActionKind::WeightGrad) = {times[i], 0, bytes[i]};
      of(ActionKind::Backward) = {2 * times[i], 0, bytes[i]};
    }
  problem.setUneven(std::move(costs), {});
}

/// Two ranks, one stage each, F = I = W = bytes = t.
Problem twoRanks(const std::vector<int64_t> &times, int64_t cap) {
  Problem problem = linearProblem(2, static_cast<int32_t>(times.size()));
  problem.memoryCaps.assign(2, cap);
  setTimes(problem, times, times);
  return problem;
}

/// A tiny chain with random times, bytes and messages by micro-batch.
Problem drawUneven(Engine &random) {
  Problem problem = drawTiny(random);
  if (problem.microbatches == 1)
    problem.microbatches = 2;
  const auto count = static_cast<size_t>(problem.microbatches);
  std::vector<Cost> costs(problem.costs.size() * count);
  std::vector<int64_t> bytes;
  std::vector<std::vector<int64_t>> least(size_t(problem.numRanks()),
                                          std::vector<int64_t>(count));
  for (int32_t s = 0; s < problem.numStages(); ++s)
    for (size_t i = 0; i < count; ++i) {
      auto of = [&](ActionKind kind) -> Cost & {
        return costs[(size_t(s) * numCostColumns + costColumn(kind)) * count +
                     i];
      };
      const int64_t taken = pick(random, 0, 5), freed = pick(random, 0, taken);
      of(ActionKind::Forward) = {pick(random, 0, 6), taken, 0};
      of(ActionKind::InputGrad) = {pick(random, 0, 6), 0, freed};
      of(ActionKind::WeightGrad) = {pick(random, 0, 6), 0, taken - freed};
      const int64_t both =
          of(ActionKind::InputGrad).ns + of(ActionKind::WeightGrad).ns;
      of(ActionKind::Backward) = {
          both - (pick(random, 0, 5) ? 0 : std::min<int64_t>(both, 2)), 0,
          taken};
      least[problem.rankOf(s)][i] += taken;
    }
  for (size_t e = 0; e < problem.edges.size() * count; ++e)
    bytes.push_back(pick(random, 0, 4));
  problem.setUneven(std::move(costs), std::move(bytes));
  for (int32_t r = 0; r < problem.numRanks(); ++r) {
    const int64_t most = *std::max_element(least[r].begin(), least[r].end());
    problem.memoryCaps[r] =
        pick(random, 0, 3) ? most + pick(random, 0, most + 1) : noMemoryCap;
  }
  return problem;
}

int64_t objectiveOfSearch(const Problem &problem, OrderClass orders,
                          int64_t effort = 2000) {
  SearchOptions options;
  options.timeLimitMs = 0;
  options.effort = effort;
  options.orders = orders;
  const SearchResult result = search(problem, options);
  return result.schedule ? result.simulation.makespanNs : -1;
}

TEST(Uneven, EqualMicrobatchesNeedNoTable) {
  Problem problem = linearProblem(2, 3);
  setTimes(problem, {2, 2, 2}, {3, 3, 3});
  EXPECT_FALSE(problem.isUneven());
  EXPECT_EQ(problem.cost(0, ActionKind::Forward).ns, 2);
  EXPECT_EQ(problem.cost(1, ActionKind::WeightGrad).releaseBytes, 3);
  setTimes(problem, {2, 2, 2}, {3, 4, 3});
  EXPECT_TRUE(problem.isUneven());
  EXPECT_EQ(problem.cost(0, ActionKind::Forward, 1).acquireBytes, 4);
  EXPECT_EQ(problem.check(), std::nullopt);
}

TEST(Uneven, ChecksEachMicrobatch) {
  Problem problem = twoRanks({4, 1, 1}, noMemoryCap);
  problem
      .unevenCosts[(numCostColumns + costColumn(ActionKind::WeightGrad)) * 3 +
                   2]
      .releaseBytes = 7;
  const auto fault = problem.check();
  ASSERT_TRUE(fault);
  EXPECT_EQ(fault->kind, FaultKind::ReleasesMore);
  EXPECT_EQ(int64_t(fault->action.index), 2);
  problem = twoRanks({4, 1, 1}, noMemoryCap);
  problem.unevenCosts.pop_back();
  EXPECT_EQ(problem.check()->kind, FaultKind::UnevenTableSize);
}

// 1F1B, by hand: twoRanks(4, 1, 1) in two orders under a cap of 5.
TEST(Uneven, SimulatesByMicrobatch) {
  const Problem problem = twoRanks({4, 1, 1}, 5);
  const struct {
    const char *first, *second;
    std::vector<int32_t> order;
    int64_t ns;
  } rows[] = {
      {"0F0 0F1 0B0 0F2 0B1 0B2", "1F0 1B0 1F1 1B1 1F2 1B2", {0, 1, 2}, 30},
      {"0F1 0F0 0B1 0F2 0B0 0B2", "1F1 1B1 1F0 1B0 1F2 1B2", {1, 0, 2}, 27}};
  for (const auto &row : rows) {
    Schedule schedule = scheduleOf({row.first, row.second});
    schedule.accumulation = row.order;
    Simulation simulation;
    ASSERT_EQ(checkAndSimulate(problem, schedule, simulation), std::nullopt);
    EXPECT_EQ(simulation.makespanNs, row.ns);
    EXPECT_EQ(simulation.peakBytes, (std::vector<int64_t>{5, 4}));
    EXPECT_EQ(checkAccumulation(problem, schedule), std::nullopt);
    schedule.accumulation = {2, 1, 0};
    EXPECT_EQ(checkAccumulation(problem, schedule)->kind,
              FaultKind::OutOfGivenOrder);
  }
  Schedule full = scheduleOf({"0F0 0F1 0F2 0B0 0B1 0B2", rows[0].second});
  EXPECT_EQ(checkMemory(problem, full)->kind, FaultKind::OverCap);
}

// Optima by exhaustive search of an independent program.
TEST(Uneven, SearchesEachClassOfOrders) {
  const Problem capped = twoRanks({4, 1, 1}, 5);
  EXPECT_EQ(objectiveOfSearch(capped, OrderClass::Index), 25);
  EXPECT_EQ(objectiveOfSearch(capped, OrderClass::WPerm), 23);
  const Problem four = twoRanks({1, 5, 1, 5}, noMemoryCap);
  EXPECT_EQ(objectiveOfSearch(four, OrderClass::Index), 39);
  EXPECT_EQ(objectiveOfSearch(four, OrderClass::Sums), 38);
  EXPECT_EQ(objectiveOfSearch(four, OrderClass::Perm), 37);
}

TEST(Uneven, SearchKeepsItsClassAndRepeats) {
  const Problem problem = twoRanks({1, 5, 1, 5}, 7);
  for (OrderClass orders :
       {OrderClass::Index, OrderClass::Sums, OrderClass::Perm,
        OrderClass::WPerm, OrderClass::Free}) {
    SearchOptions options;
    options.timeLimitMs = 0;
    options.effort = 300;
    options.orders = orders;
    const SearchResult one = search(problem, options),
                       two = search(problem, options);
    ASSERT_TRUE(one.schedule);
    EXPECT_TRUE(
        std::equal(one.schedule->all().begin(), one.schedule->all().end(),
                   two.schedule->all().begin(), two.schedule->all().end()));
    ASSERT_TRUE(one.givenNs);
    EXPECT_LE(one.simulation.makespanNs, *one.givenNs);
    EXPECT_GE(one.simulation.makespanNs, one.bound.ns);
    if (ordersWeightGrads(orders)) {
      EXPECT_EQ(checkAccumulation(problem, *one.schedule), std::nullopt);
    }
    if (isOrderGiven(orders)) {
      EXPECT_TRUE(isIndexOrder(one.schedule->accumulation));
    }
    std::vector<int64_t> last(2, -1);
    for (Action action : one.schedule->all())
      if (orders == OrderClass::Index && action.kind() == ActionKind::Forward) {
        EXPECT_LT(last[action.subject], int64_t(action.index));
        last[action.subject] = int64_t(action.index);
      }
  }
}

// Families that exceed the caps are no result.
TEST(Uneven, SearchIsLegalUnderTightCaps) {
  int found = 0;
  for (int seed = 0; seed < caseCount(60); ++seed) {
    Engine random(seed);
    const Problem problem = drawUneven(random);
    if (!problem.isUneven())
      continue;
    SearchOptions options;
    options.timeLimitMs = 0;
    options.effort = 100;
    const SearchResult result = search(problem, options);
    ASSERT_TRUE(result.schedule) << seed;
    Simulation simulation;
    ASSERT_EQ(checkAndSimulate(problem, *result.schedule, simulation),
              std::nullopt)
        << seed;
    const int64_t ns = problem.objective == Objective::Span
                           ? simulation.spanNs
                           : simulation.makespanNs;
    EXPECT_LE(result.bound.ns, ns) << seed;
    if (result.provenOptimal) {
      EXPECT_NE(Exhaustive(problem, ns, false).below(20000),
                Exhaustive::Answer::Yes)
          << seed;
    }
    found += result.provenOptimal;
  }
  EXPECT_GT(found, caseCount(60) / 8);
}

TEST(Uneven, FamiliesTakeAnOrder) {
  const Problem problem = twoRanks({4, 1, 2}, noMemoryCap);
  EXPECT_EQ(orderByLength(problem, LengthOrder::Ascending),
            (std::vector<int32_t>{1, 2, 0}));
  EXPECT_EQ(orderByLength(problem, LengthOrder::LongShort),
            (std::vector<int32_t>{0, 1, 2}));
  const auto choice = parseFamily("1f1b:order=ascending");
  ASSERT_TRUE(choice);
  EXPECT_EQ(choice->text(), "1f1b:order=ascending");
  const FamilyResult made = generate(*choice, problem);
  ASSERT_TRUE(made);
  EXPECT_EQ(made->accumulation, (std::vector<int32_t>{1, 2, 0}));
  EXPECT_EQ(int64_t(made->rank(0)[0].index), 1);
  EXPECT_EQ(checkAccumulation(problem, *made), std::nullopt);
  EXPECT_EQ(parseFamily("1f1b:order=upwards").fault().kind,
            FaultKind::NoSuchOrder);
}

// 1F1B begins with two F on rank 0, which exceed the cap.
TEST(Uneven, FamiliesWaitForMemory) {
  for (const char *family : {"1f1b", "zb-h1", "gpipe"})
    for (const char *order : {"given", "ascending", "best"}) {
      const Problem problem = twoRanks({4, 3, 1, 2}, 4);
      const auto choice = parseFamily(std::string(family) + ":order=" + order);
      ASSERT_TRUE(choice);
      const FamilyResult made = generate(*choice, problem);
      ASSERT_TRUE(made);
      Simulation simulation;
      EXPECT_EQ(checkAndSimulate(problem, *made, simulation), std::nullopt)
          << family << " " << order;
    }
}

TEST(Uneven, MessagesOfALinkTakeTurns) {
  Problem problem = twoRanks({1, 1}, noMemoryCap);
  problem.link = {0, 1000};
  // The second message leaves after 20 ns, and its way back takes 13 ns.
  problem.setUneven({}, {10, 9, 10, 9});
  int64_t best = 0;
  for (const BoundArgument &argument : boundArguments())
    if (!argument.isOfShards)
      best = std::max(best, provenBy(argument, problem, 1000));
  EXPECT_EQ(best, 33);
  EXPECT_GE(objectiveOfSearch(problem, OrderClass::WPerm), 33);
}

TEST(Uneven, AnnealingCountsNics) {
  Problem problem = linearProblem(4, 4);
  problem.memoryCaps.assign(4, noMemoryCap);
  problem.nics = {{500, 500}, {0, 1, 0, 1}};
  setTimes(problem, {3, 1, 2, 1}, {1, 1, 1, 1});
  std::vector<int64_t> bytes;
  for (size_t e = 0; e < problem.edges.size(); ++e)
    for (int64_t size : {3, 1, 2, 1})
      bytes.push_back(size);
  problem.setUneven(problem.unevenCosts, std::move(bytes));
  const std::optional<TaskGraph> graph = makeTaskGraph(problem, false);
  ASSERT_TRUE(graph);
  const auto simulated = [&](const RankLists &lists) {
    return simulate(problem, toSchedule(*graph, lists)).makespanNs;
  };
  SearchOptions options;
  options.timeLimitMs = 0;
  Budget budget(options);
  for (const bool isExact : {false, true}) {
    ListAnnealing annealing(*graph, OrderClass::WPerm, 1, budget);
    if (isExact)
      annealing.exactNs = simulated;
    RankLists lists;
    ASSERT_TRUE(construct(*graph, {}, OrderClass::WPerm, {0, 1, 2, 3}, lists));
    const int64_t ns = annealing.run(lists, 0, 50000, {0.02, 0});
    // The timer takes NICs for free.
    if (isExact)
      EXPECT_EQ(ns, simulated(lists));
    else
      EXPECT_LT(ns, simulated(lists));
  }
}

TEST(Uneven, NoScheduleIsBelowABound) {
  int compared = 0;
  for (int seed = 0; seed < caseCount(400); ++seed) {
    Engine random(seed);
    const Problem problem = drawUneven(random);
    if (!problem.isUneven())
      continue;
    ASSERT_EQ(problem.check(), std::nullopt);
    for (const BoundArgument &argument : boundArguments()) {
      if (argument.isOfShards)
        continue;
      const int64_t bound = provenBy(argument, problem, 1000);
      const auto answer = Exhaustive(problem, bound, false).below(20000);
      EXPECT_NE(answer, Exhaustive::Answer::Yes)
          << argument.name << " " << bound << " with seed " << seed;
      compared += bound > 0 && answer == Exhaustive::Answer::No;
    }
  }
  EXPECT_GT(compared, caseCount(400));
}

/// Two ranks with a stage that recomputes each, and two micro-batches.
Problem drawRecomputing(Engine &random) {
  Problem problem = linearProblem(2, 2);
  std::vector<Cost> costs(problem.costs.size() * 2);
  for (int32_t s = 0; s < 2; ++s) {
    int64_t most = 0;
    for (size_t i = 0; i < 2; ++i) {
      auto of = [&](ActionKind kind) -> Cost & {
        return costs[(size_t(s) * numCostColumns + costColumn(kind)) * 2 + i];
      };
      auto time = [&] { return pick(random, 1, 20); };
      const int64_t kept = pick(random, 0, 3), again = pick(random, 0, 5),
                    freed = pick(random, 0, again);
      of(ActionKind::Forward) = {time(), kept, 0};
      of(ActionKind::Recompute) = {time(), again, kept};
      of(ActionKind::InputGrad) = {time(), 0, freed};
      of(ActionKind::WeightGrad) = {time(), 0, again - freed};
      of(ActionKind::Backward) = {of(ActionKind::InputGrad).ns +
                                      of(ActionKind::WeightGrad).ns,
                                  0, again};
      most = std::max(most, kept + again);
    }
    problem.memoryCaps[s] =
        pick(random, 0, 2) ? most + pick(random, 0, most + 1) : noMemoryCap;
  }
  problem.setUneven(std::move(costs), {});
  problem.recomputation.assign(2, Recomputation::FromInput);
  return problem;
}

/// All orders of F, R, I and W of two micro-batches on a rank.
std::vector<std::vector<Action>> ordersOfTwo(int32_t stage) {
  const ActionKind kinds[] = {ActionKind::Forward, ActionKind::Recompute,
                              ActionKind::InputGrad, ActionKind::WeightGrad};
  std::vector<std::vector<Action>> orders;
  std::vector<int32_t> turns = {0, 0, 0, 0, 1, 1, 1, 1};
  do {
    size_t next[2] = {0, 0};
    std::vector<Action> order;
    for (int32_t i : turns)
      order.emplace_back(kinds[next[i]++], stage, i);
    orders.push_back(std::move(order));
  } while (std::next_permutation(turns.begin(), turns.end()));
  return orders;
}

/// The least makespan of all orders of two ranks with two micro-batches.
int64_t optimumOfTwo(const Problem &problem) {
  static const auto first = ordersOfTwo(0), second = ordersOfTwo(1);
  int64_t optimum = infinite;
  for (const std::vector<Action> &one : first)
    for (const std::vector<Action> &other : second) {
      Schedule schedule;
      for (const auto *order : {&one, &other}) {
        for (Action action : *order)
          schedule.append(action);
        schedule.endRank();
      }
      if (!checkSchedule(problem, schedule))
        optimum = std::min(optimum, simulate(problem, schedule).makespanNs);
    }
  return optimum;
}

// R may run before its gradient arrives.
TEST(Uneven, RecomputationHasItsOwnPlace) {
  int reached = 0, early = 0;
  for (int seed = 0; seed < caseCount(120); ++seed) {
    Engine random(seed);
    const Problem problem = drawRecomputing(random);
    ASSERT_EQ(problem.check(), std::nullopt);
    const int64_t optimum = optimumOfTwo(problem);
    ASSERT_LT(optimum, infinite);
    for (const BoundArgument &argument : boundArguments()) {
      if (argument.isOfShards)
        continue;
      const int64_t bound = provenBy(argument, problem, 1000);
      EXPECT_LE(bound, optimum) << argument.name << " with seed " << seed;
      reached += bound == optimum;
    }
    SearchOptions options;
    options.timeLimitMs = 0;
    options.effort = 1000;
    options.orders = OrderClass::Free;
    const SearchResult found = search(problem, options);
    ASSERT_TRUE(found.schedule) << seed;
    EXPECT_EQ(checkSchedule(problem, *found.schedule), std::nullopt);
    EXPECT_EQ(found.simulation.makespanNs, optimum) << seed;
    for (int32_t r = 0; r < 2; ++r)
      for (int64_t i = 0; i + 1 < found.schedule->rank(r).size(); ++i)
        early += found.schedule->rank(r)[i].kind() == ActionKind::Recompute &&
                 found.schedule->rank(r)[i + 1].kind() == ActionKind::Recompute;
  }
  EXPECT_GT(reached, 0);
  EXPECT_GT(early, 0);
}

TEST(Uneven, ThreadsDoNotChangeTheResult) {
  const Problem problem = twoRanks({1, 5, 2, 4, 3}, 9);
  SearchOptions options;
  options.timeLimitMs = 0;
  options.effort = 500;
  const SearchResult one = search(problem, options);
  options.threads = 3;
  const SearchResult three = search(problem, options);
  ASSERT_TRUE(one.schedule && three.schedule);
  EXPECT_TRUE(std::equal(one.schedule->all().begin(), one.schedule->all().end(),
                         three.schedule->all().begin(),
                         three.schedule->all().end()));
  EXPECT_EQ(one.effort, three.effort);
}

} // namespace
