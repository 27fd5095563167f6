//===- CardsTest.cpp - Messages that share network cards ------------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "AllOrders.h"
#include "ProgramExamples.h"
#include "RandomProblem.h"
#include "SteppedRun.h"

#include "schedule/CollectiveTime.h"
#include "schedule/Objective.h"
#include "schedule/Search.h"
#include "schedule/search/Timer.h"

using namespace rondo;
using namespace rondo::test;

namespace {

/// Stages 0 and 1 feed stages 2 and 3; each is on a rank of its own. A message
/// takes 10 ns on a link, and as long on a card of 1000 bytes/us.
Problem twoPairs() {
  Problem problem = linearProblem(4, 1, {1, 1, 1, 0, 0});
  problem.makeGraph({{}, {}, {0}, {1}}, {10, 10, 0, 0});
  problem.link = {/*latencyNs=*/3, /*bytesPerUs=*/1000};
  return problem;
}
const std::vector<std::string> pairOrders = {"0F0 0B0", "1F0 1B0", "2F0 2B0",
                                             "3F0 3B0"};

Simulation run(const Problem &problem) {
  EXPECT_FALSE(problem.check());
  Simulation result =
      simulate(problem, scheduleOf(pairOrders), /*keepTimes=*/true);
  EXPECT_TRUE(result.complete);
  return result;
}

TEST(Cards, MessagesShareTheOutgoingSide) {
  Problem problem = twoPairs();
  // F at 1, its message at 14, F and B until 17, its gradient at 30.
  EXPECT_EQ(run(problem).makespanNs, 32);
  problem.cards = {{1000}, {0, 0, -1, -1}};
  const Simulation shared = run(problem);
  // Both are ready at 1: that of rank 0 goes first.
  EXPECT_EQ(shared.startNs[4], 14);
  EXPECT_EQ(shared.startNs[6], 24);
  // Gradients are ready 10 ns apart, so the incoming side delays none.
  EXPECT_EQ(shared.makespanNs, 42);
}

TEST(Cards, TheSlowestOfLinkAndCardsCounts) {
  Problem problem = twoPairs();
  problem.cards = {{500, 2000}, {0, 0, 1, 1}};
  const Simulation shared = run(problem);
  EXPECT_EQ(shared.startNs[4], 1 + 20 + 3);
  EXPECT_EQ(shared.startNs[6], 1 + 40 + 3);
  // A link without a rate has the cards'.
  problem.link.bytesPerUs = 0;
  EXPECT_EQ(problem.linkBetween(0, 2).bytesPerUs, 500);
  EXPECT_EQ(problem.linkBetween(0, 1).bytesPerUs, 0);
  EXPECT_EQ(run(problem).startNs, shared.startNs);
}

TEST(Cards, NothingCrossesThemWithin) {
  Problem problem = twoPairs();
  const Simulation apart = run(problem);
  problem.cards = {{1, 1}, {0, 1, 0, 1}};
  EXPECT_EQ(run(problem).startNs, apart.startNs);
  // Nor between two cards of one server.
  problem.cards = {{1, 1}, {0, 0, 1, 1}, {5, 5}};
  EXPECT_EQ(run(problem).startNs, apart.startNs);
  problem.cards.servers = {-1, -1};
  EXPECT_GT(run(problem).makespanNs, apart.makespanNs);
  // One direction does not delay the other.
  problem = linearProblem(2, 2, {5, 5, 5, 0, 0}, /*outputBytes=*/5);
  problem.link.bytesPerUs = 1000;
  const Schedule schedule = scheduleOf({"0F0 0F1 0B0 0B1", "1F0 1B0 1F1 1B1"});
  const int64_t makespan = simulate(problem, schedule).makespanNs;
  problem.cards = {{1000, 1000}, {0, 1}};
  EXPECT_EQ(simulate(problem, schedule).makespanNs, makespan);
}

// Messages of rank 0 wait for their link order; the card does not wait for
// them.
TEST(Cards, LinkOrdersComeFirst) {
  Problem problem = linearProblem(4, 2, {1, 1, 1, 0, 0});
  problem.makeGraph({{}, {}, {0}, {1}}, {10, 10, 0, 0});
  problem.link.bytesPerUs = 1000;
  problem.cards = {{1000}, {0, 0, -1, -1}};
  Schedule schedule = scheduleOf({"0F0 0F1 0B1 0B0", "1F0 1F1 1B0 1B1",
                                  "2F1 2F0 2B1 2B0", "3F0 3F1 3B0 3B1"});
  schedule.linkOrders[{0, 2}] = actionsOf("0F1 0F0");
  const Simulation run = simulate(problem, schedule, /*keepTimes=*/true);
  ASSERT_TRUE(run.complete);
  // 1F0 from 1 to 11. At 2, 0F1 and 0F0 have their turn, and 1F1 is ready.
  EXPECT_EQ(run.startNs[8], 21);
  EXPECT_EQ(run.startNs[9], 31);
  EXPECT_EQ(run.startNs[12], 11);
  EXPECT_EQ(run.startNs[13], 41);
}

void drawCards(Engine &random, Problem &problem) {
  problem.cards = {};
  for (int64_t card = pick(random, 1, 3); card > 0; --card)
    problem.cards.bytesPerUs.push_back(pick(random, 1, 4) * 400);
  for (int32_t r = 0; r < problem.numRanks(); ++r)
    problem.cards.ofRank.push_back(
        int32_t(pick(random, -1, problem.cards.count() - 1)));
  if (pick(random, 0, 1))
    for (int32_t card = 0; card < problem.cards.count(); ++card)
      problem.cards.servers.push_back(int32_t(pick(random, -1, 1)));
}

/// Every task takes time, so that what is ready at one time is known then.
Problem drawWithCards(Engine &random, bool isGraph) {
  const int32_t ranks = int32_t(pick(random, 2, 4));
  std::vector<int32_t> rankOf;
  for (int64_t stages = pick(random, 2, 6); stages > 0; --stages)
    rankOf.push_back(int32_t(pick(random, 0, ranks - 1)));
  Problem problem =
      drawChain(random, rankOf, ranks, LinkCosts::Serial, /*leastNs=*/1);
  if (isGraph) {
    std::vector<std::vector<int32_t>> inputs(problem.numStages());
    for (int32_t s = 1; s < problem.numStages(); ++s)
      for (int32_t from = 0; from < s; ++from)
        if (pick(random, 0, 1))
          inputs[s].push_back(from);
    problem.makeGraph(inputs, std::vector<int64_t>(problem.numStages(), 7));
  }
  drawCards(random, problem);
  EXPECT_FALSE(problem.check());
  return problem;
}

Schedule drawSchedule(Engine &random, const Problem &problem) {
  const bool fuse = pick(random, 0, 1);
  const auto flat = FlatProblem::of(problem, fuse ? BackwardCosts::Fused
                                                  : BackwardCosts::Split);
  Orders orders = drawOrders(random, *flat, fuse);
  orders.links.clear();
  return toSchedule(*flat, orders, fuse);
}

TEST(Cards, TimesAreThoseOfEveryNanosecond) {
  Engine random(20);
  int slower = 0;
  for (int round = 0; round < 2000; ++round) {
    Problem problem = drawWithCards(random, round % 2);
    const Schedule schedule = drawSchedule(random, problem);
    const Simulation found = simulate(problem, schedule, /*keepTimes=*/true);
    ASSERT_TRUE(found.complete) << "round " << round;
    SteppedRun expected(problem, schedule);
    ASSERT_EQ(found.makespanNs, expected.run(100000)) << "round " << round;
    ASSERT_EQ(found.startNs, expected.startNs) << "round " << round;
    ASSERT_EQ(found.endNs, expected.endNs) << "round " << round;
    problem.cards.ofRank.assign(problem.numRanks(), -1);
    slower += simulate(problem, schedule).makespanNs < found.makespanNs;
  }
  EXPECT_GT(slower, 500);
}

/// A card for each rank, faster than its links, changes nothing where a rank
/// sends to one other and receives from one.
TEST(Cards, OwnCardsOfATwoRankPipelineChangeNothing) {
  Engine random(21);
  for (int round = 0; round < 200; ++round) {
    Problem problem = drawChain(random, {0, 1, 0, 1}, 2, LinkCosts::Serial);
    const Schedule schedule = drawSchedule(random, problem);
    const Simulation apart = simulate(problem, schedule, /*keepTimes=*/true);
    int64_t fastest = 1;
    for (int32_t from : {0, 1})
      fastest =
          std::max(fastest, problem.linkBetween(from, 1 - from).bytesPerUs);
    if (problem.linkBetween(0, 1).bytesPerUs == 0 ||
        problem.linkBetween(1, 0).bytesPerUs == 0)
      continue; // a card would give it a rate
    problem.cards = {{fastest, fastest}, {0, 1}};
    const Simulation own = simulate(problem, schedule, /*keepTimes=*/true);
    ASSERT_EQ(own.startNs, apart.startNs) << "round " << round;
  }
}

TEST(Cards, CollectivesHoldThem) {
  // The sum of stages 0 and 1 crosses the card of rank 0, which stage 2's
  // gradient comes in by.
  Problem problem = linearProblem(3, 1, {3, 4, 2, 0, 0});
  problem.makeGraph({{}, {}, {0}}, {10, 0, 0});
  problem.link.bytesPerUs = 1000;
  Program program = programOf(
      {"0F0 >0F0 <2I0 A0 0B0 E0", "1F0 1B0 A0 E0", "<0F0 2F0 2B0 >2I0"},
      problem);
  program.collectives = {{CollectiveKind::TiedGradients, "w", {0, 1}, 40}};
  auto makespan = [&] {
    ProgramSimulation run = simulateProgram(problem, program);
    EXPECT_TRUE(run.complete);
    return run.makespanNs;
  };
  // 0F0 until 3 and 13 on its way; 2B0 until 22; gradient at 32; 0B0 until 38.
  // The sum, from 9 to 49, beside it.
  EXPECT_EQ(makespan(), 49);
  problem.cards = {{1000}, {0, -1, -1}};
  // The message holds the card's outgoing side until 13, so the sum goes from
  // there to 53; then the gradient until 63, and 0B0.
  EXPECT_EQ(makespan(), 69);
  // Within a card it does not cross it.
  problem.cards = {{1000}, {0, 0, -1}};
  EXPECT_EQ(makespan(), 49);
  // What takes no time crosses none.
  problem.cards = {{1000}, {0, -1, -1}};
  program.collectives[0].ns = 0;
  EXPECT_EQ(makespan(), 38);
}

TEST(Cards, OneQueueARankMeetsBeforeItAsks) {
  Problem problem = twoPairs();
  problem.channels.queues = Queues::PerRank;
  Program program = programOf({"0F0 >0F0 <2I0 0B0", "1F0 >1F0 <3I0 1B0",
                               "<0F0 2F0 2B0 >2I0", "<1F0 3F0 3B0 >3I0"},
                              problem);
  EXPECT_EQ(simulateProgram(problem, program).makespanNs, 32);
  problem.cards = {{1000}, {0, 0, -1, -1}};
  const ProgramSimulation run = simulateProgram(problem, program);
  ASSERT_TRUE(run.complete);
  EXPECT_EQ(run.makespanNs, 42);
}

// 2 homes a card: each sum has 2 * 2 of 4 pieces leave a card, twice.
TEST(Cards, SumsOverHomesShareThem) {
  Problem problem = problemOn({0}, 4, 1);
  problem.link = {5, 4000};
  problem.homes = {};
  problem.homes.addStage({{0, 1}, {1, 1}, {2, 1}, {3, 1}});
  const std::vector<int32_t> all{0, 1, 2, 3};
  // 3/4 of 4000 bytes twice at 4000 bytes/us, and two latencies.
  EXPECT_EQ(sumOverHomesNs(problem, all, 4000), 1500 + 10);
  problem.cards = {{4000, 4000}, {0, 0, 1, 1}};
  EXPECT_EQ(sumOverHomesNs(problem, all, 4000), 2000 + 10);
  problem.cards = {{2000}, {0, 0, -1, -1}};
  EXPECT_EQ(sumOverHomesNs(problem, all, 4000), 4000 + 10);
  // A slow card of one home slows its links.
  problem.cards = {{1000}, {0, -1, -1, -1}};
  EXPECT_EQ(sumOverHomesNs(problem, all, 4000), 6000 + 10);
  // Two cards of one server and two of another: each home's card carries what
  // it sends to the other server.
  problem.cards = {{1000, 1000, 1000, 1000}, {0, 1, 2, 3}, {0, 0, 1, 1}};
  EXPECT_EQ(sumOverHomesNs(problem, all, 4000), 6000 + 10);
  problem.links = {{{0, 2}, {5, 4000}}};
  problem.cards.servers = {7, 7, 7, 7};
  EXPECT_EQ(sumOverHomesNs(problem, all, 4000), 1500 + 10);
  // All on one card do not cross it.
  problem.cards = {{1}, {0, 0, 0, 0}};
  EXPECT_EQ(sumOverHomesNs(problem, all, 4000), 1500 + 10);
}

// Link orders too: a burst of a contended link asks for each of its messages.
TEST(Cards, TheSearchTimesThem) {
  Engine random(22);
  int timed = 0, ordered = 0;
  for (int round = 0; round < 2000; ++round) {
    Problem problem = drawWithCards(random, round % 2);
    problem.objective = Objective::Makespan;
    problem.memoryCaps.assign(problem.numRanks(), noMemoryCap);
    const auto flat = FlatProblem::of(problem, BackwardCosts::Split);
    const Orders orders = drawOrders(random, *flat, false);
    const Schedule schedule = toSchedule(*flat, orders, /*fuse=*/false);
    const Simulation simulation = simulate(problem, schedule);
    const int64_t found = Timer(*flat).run(orders);
    if (!simulation.complete) {
      EXPECT_GE(found, never) << "round " << round;
      continue;
    }
    ASSERT_EQ(found, simulation.makespanNs) << "round " << round;
    ++timed;
    ordered += !schedule.linkOrders.empty();
  }
  EXPECT_GT(timed, 1000);
  EXPECT_GT(ordered, 50);
}

// No bound is above the best order, nothing that is called optimal is worse
// than it, and the search finds it nearly always.
TEST(Cards, ProofsHoldAgainstAllOrders) {
  Engine random(23);
  int proven = 0, above = 0, delayed = 0, cases = 0;
  while (cases < 90) {
    const int32_t ranks = int32_t(pick(random, 2, 4));
    // Two chains over the ranks, so that their messages meet on the cards.
    Problem problem =
        linearProblem(ranks, ranks < 4 ? int32_t(pick(random, 1, 2)) : 1);
    for (int32_t s = 0; s < ranks; ++s)
      problem.setStageCost(s, pick(random, 1, 5), pick(random, 1, 5),
                           pick(random, 1, 5), 0, 0);
    std::vector<std::vector<int32_t>> inputs(ranks);
    for (int32_t s = 1; s < ranks; ++s)
      inputs[s] = {int32_t(ranks == 4 && s > 1 ? s - 2 : s - 1)};
    if (ranks == 4)
      inputs[1] = {};
    problem.makeGraph(inputs, std::vector<int64_t>(ranks, 7));
    problem.link = {pick(random, 0, 3), pick(random, 1, 4) * 700};
    drawCards(random, problem);
    if (cases % 3 == 0)
      problem.objective = Objective::Span;
    ASSERT_FALSE(problem.check());
    const AllOrders all(problem);
    if (all.numOrders() > 20000)
      continue;
    ++cases;
    const int64_t least = all.least();
    SearchOptions options;
    options.timeLimitMs = 0;
    options.effort = 200;
    const SearchResult found = search(problem, options);
    ASSERT_TRUE(found.schedule);
    EXPECT_LE(found.bound.ns, least);
    EXPECT_LE(quickBound(problem).ns, least);
    const int64_t value = objectiveOf(problem, found.simulation);
    EXPECT_EQ(value, objectiveOf(problem, simulate(problem, *found.schedule)));
    if (found.provenOptimal) {
      EXPECT_LE(value, least);
      ++proven;
    }
    above += value > least;
    Problem apart = problem;
    apart.cards = {};
    delayed += AllOrders(apart).least() < least;
  }
  EXPECT_GT(proven, 20);
  EXPECT_LE(above, 2);
  EXPECT_GT(delayed, 10);
}

} // namespace
