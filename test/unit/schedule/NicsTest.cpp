//===- NicsTest.cpp - Messages that share NICs ----------------------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "AllOrders.h"
#include "CaseCount.h"
#include "ProgramExamples.h"
#include "RandomProblem.h"
#include "SteppedRun.h"

#include "schedule/model/CollectiveTime.h"
#include "schedule/program/ProgramSimulator.h"
#include "schedule/search/Search.h"
#include "schedule/search/Timer.h"
#include "schedule/simulate/Network.h"
#include "schedule/simulate/Objective.h"

using namespace rondo;
using namespace rondo::test;

namespace {

/// Stages 0 and 1 feed stages 2 and 3; each is on a rank of its own. A message
/// takes 10 ns on a link, and as long on a NIC of 1000 bytes/us.
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

TEST(Nics, MessagesShareTheOutgoingSide) {
  Problem problem = twoPairs();
  // F at 1, its message at 14, F and B until 17, its gradient at 30.
  EXPECT_EQ(run(problem).makespanNs, 32);
  problem.nics = {{1000}, {0, 0, -1, -1}};
  const Simulation shared = run(problem);
  // Both are ready at 1: that of rank 0 goes first.
  EXPECT_EQ(shared.startNs[4], 14);
  EXPECT_EQ(shared.startNs[6], 24);
  // Gradients are ready 10 ns apart, so the incoming side delays none.
  EXPECT_EQ(shared.makespanNs, 42);
}

TEST(Network, LinksAreNumberedByEdgesAndTurnAround) {
  Problem problem = twoPairs();
  problem.nics = {{1000, 500}, {0, 0, 1, 1}};
  LinkTable links(problem);
  // 0 to 2, 1 to 3 by F, then the same back by I.
  ASSERT_EQ(links.count(), 4);
  EXPECT_EQ(links.ofEdge(1), 1);
  EXPECT_EQ(links[1].from, 1);
  EXPECT_EQ(links[1].to, 3);
  EXPECT_EQ(links[1].link.bytesPerUs, 500);
  EXPECT_EQ(links[1].sides.out, 0);
  links.reverse();
  EXPECT_EQ(links[1].from, 3);
  EXPECT_EQ(links[1].sides.out, 1);
  EXPECT_EQ(links[1].sides.in, 0);
  problem.replicas = {};
  for (int32_t s = 0; s < 4; ++s)
    problem.replicas.addStage(0);
  EXPECT_EQ(LinkTable(problem).count(), 0);
  EXPECT_EQ(LinkTable(problem).ofEdge(1), -1);
}

TEST(Network, LinksCarryOneMessageAtATime) {
  Problem problem = twoPairs();
  problem.nics = {{1000}, {0, 0, -1, -1}};
  const LinkTable links(problem);
  Network network(links, /*withNics=*/false);
  EXPECT_FALSE(network.crossesNics(0));
  EXPECT_EQ(network.carry(0, 5, 10), 15);
  EXPECT_EQ(network.carry(0, 7, 10), 25);
  EXPECT_EQ(network.carry(1, 7, 10), 17);
  network.reset();
  EXPECT_EQ(network.carry(0, 7, 10), 17);
}

TEST(Network, TheFirstThatIsReadyGetsItsNics) {
  Problem problem = twoPairs();
  problem.nics = {{1000}, {0, 0, -1, -1}};
  Network network{LinkTable(problem)};
  ASSERT_TRUE(network.crossesNics(1));
  network.ask(1, 9, /*what=*/10);
  // Not before the message that was asked first.
  network.ask(1, 3, /*what=*/11);
  network.ask(0, 9, /*what=*/12);
  // After the messages that are ready at the same time.
  network.askForNics(/*number=*/0, 9, /*what=*/13);
  network.askForNics(/*number=*/1, 8, /*what=*/14);
  EXPECT_EQ(network.asked(1), 2);
  for (const int64_t what : {14, 12, 10, 11, 13}) {
    ASSERT_TRUE(network.hasRequests());
    EXPECT_EQ(network.first().what, what);
    const int64_t readyNs = network.next().readyNs;
    EXPECT_EQ(readyNs, what == 14 ? 8 : 9);
  }
  EXPECT_FALSE(network.hasRequests());
  // Both links cross the outgoing side of the NIC, the way back its other one.
  EXPECT_EQ(network.carry(0, 9, 10), 19);
  EXPECT_EQ(network.carry(1, 9, 10), 29);
  EXPECT_EQ(network.carry(2, 9, 10), 19);
  EXPECT_EQ(network.carryOverNics({0}, 9, 10), 39);
  EXPECT_EQ(network.carryOverNics({}, 9, 10), 19);
}

TEST(Nics, TheSlowestOfLinkAndNicsCounts) {
  Problem problem = twoPairs();
  problem.nics = {{500, 2000}, {0, 0, 1, 1}};
  const Simulation shared = run(problem);
  EXPECT_EQ(shared.startNs[4], 1 + 20 + 3);
  EXPECT_EQ(shared.startNs[6], 1 + 40 + 3);
  // A link without a rate has the NICs'.
  problem.link.bytesPerUs = 0;
  EXPECT_EQ(problem.linkBetween(0, 2).bytesPerUs, 500);
  EXPECT_EQ(problem.linkBetween(0, 1).bytesPerUs, 0);
  EXPECT_EQ(run(problem).startNs, shared.startNs);
}

TEST(Nics, NothingCrossesThemWithin) {
  Problem problem = twoPairs();
  const Simulation apart = run(problem);
  problem.nics = {{1, 1}, {0, 1, 0, 1}};
  EXPECT_EQ(run(problem).startNs, apart.startNs);
  // Nor between two NICs of one server.
  problem.nics = {{1, 1}, {0, 0, 1, 1}, {5, 5}};
  EXPECT_EQ(run(problem).startNs, apart.startNs);
  problem.nics.servers = {-1, -1};
  EXPECT_GT(run(problem).makespanNs, apart.makespanNs);
  // One direction does not delay the other.
  problem = linearProblem(2, 2, {5, 5, 5, 0, 0}, /*outputBytes=*/5);
  problem.link.bytesPerUs = 1000;
  const Schedule schedule = scheduleOf({"0F0 0F1 0B0 0B1", "1F0 1B0 1F1 1B1"});
  const int64_t makespan = simulate(problem, schedule).makespanNs;
  problem.nics = {{1000, 1000}, {0, 1}};
  EXPECT_EQ(simulate(problem, schedule).makespanNs, makespan);
}

// Messages of rank 0 wait for their link order; the NIC does not wait for
// them.
TEST(Nics, LinkOrdersComeFirst) {
  Problem problem = linearProblem(4, 2, {1, 1, 1, 0, 0});
  problem.makeGraph({{}, {}, {0}, {1}}, {10, 10, 0, 0});
  problem.link.bytesPerUs = 1000;
  problem.nics = {{1000}, {0, 0, -1, -1}};
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

void drawNics(Engine &random, Problem &problem) {
  problem.nics = {};
  for (int64_t nic = pick(random, 1, 3); nic > 0; --nic)
    problem.nics.bytesPerUs.push_back(pick(random, 1, 4) * 400);
  for (int32_t r = 0; r < problem.numRanks(); ++r)
    problem.nics.ofRank.push_back(
        int32_t(pick(random, -1, problem.nics.count() - 1)));
  if (pick(random, 0, 1))
    for (int32_t nic = 0; nic < problem.nics.count(); ++nic)
      problem.nics.servers.push_back(int32_t(pick(random, -1, 1)));
}

/// Every task takes time, so that what is ready at one time is known then.
Problem drawWithNics(Engine &random, bool isGraph) {
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
  drawNics(random, problem);
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

TEST(Nics, TimesAreThoseOfEveryNanosecond) {
  Engine random(20);
  int slower = 0;
  for (int round = 0; round < 2000; ++round) {
    Problem problem = drawWithNics(random, round % 2);
    const Schedule schedule = drawSchedule(random, problem);
    const Simulation found = simulate(problem, schedule, /*keepTimes=*/true);
    ASSERT_TRUE(found.complete) << "round " << round;
    SteppedRun expected(problem, schedule);
    ASSERT_EQ(found.makespanNs, expected.run(100000)) << "round " << round;
    ASSERT_EQ(found.startNs, expected.startNs) << "round " << round;
    ASSERT_EQ(found.endNs, expected.endNs) << "round " << round;
    problem.nics.ofRank.assign(problem.numRanks(), -1);
    slower += simulate(problem, schedule).makespanNs < found.makespanNs;
  }
  EXPECT_GT(slower, 500);
}

/// A NIC for each rank, faster than its links, changes nothing where a rank
/// sends to one other and receives from one.
TEST(Nics, OwnNicsOfATwoRankPipelineChangeNothing) {
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
      continue; // a NIC would give it a rate
    problem.nics = {{fastest, fastest}, {0, 1}};
    const Simulation own = simulate(problem, schedule, /*keepTimes=*/true);
    ASSERT_EQ(own.startNs, apart.startNs) << "round " << round;
  }
}

TEST(Nics, CollectivesHoldThem) {
  // The sum of stages 0 and 1 crosses the NIC of rank 0, which stage 2's
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
  // The sum, from 9 to 49, at the same time.
  EXPECT_EQ(makespan(), 49);
  problem.nics = {{1000}, {0, -1, -1}};
  // The message holds the NIC's outgoing side until 13, so the sum goes from
  // there to 53; then the gradient until 63, and 0B0.
  EXPECT_EQ(makespan(), 69);
  // Within a NIC it does not cross it.
  problem.nics = {{1000}, {0, 0, -1}};
  EXPECT_EQ(makespan(), 49);
  // Messages without a duration cross no NIC.
  problem.nics = {{1000}, {0, -1, -1}};
  program.collectives[0].ns = 0;
  EXPECT_EQ(makespan(), 38);
}

TEST(Nics, OneQueueARankMeetsBeforeItAsks) {
  Problem problem = twoPairs();
  problem.channels.queues = Queues::PerRank;
  Program program = programOf({"0F0 >0F0 <2I0 0B0", "1F0 >1F0 <3I0 1B0",
                               "<0F0 2F0 2B0 >2I0", "<1F0 3F0 3B0 >3I0"},
                              problem);
  EXPECT_EQ(simulateProgram(problem, program).makespanNs, 32);
  problem.nics = {{1000}, {0, 0, -1, -1}};
  const ProgramSimulation run = simulateProgram(problem, program);
  ASSERT_TRUE(run.complete);
  EXPECT_EQ(run.makespanNs, 42);
}

// 2 replicas a NIC: each sum has 2 * 2 of 4 pieces leave a NIC, twice.
TEST(Nics, SumsOverReplicasShareThem) {
  Problem problem = problemOn({0}, 4, 1);
  problem.link = {5, 4000};
  problem.replicas = {};
  problem.replicas.addStage({{0, 1}, {1, 1}, {2, 1}, {3, 1}});
  const std::vector<int32_t> all{0, 1, 2, 3};
  // 3/4 of 4000 bytes twice at 4000 bytes/us, and two latencies.
  EXPECT_EQ(sumOverReplicasNs(problem, all, 4000), 1500 + 10);
  problem.nics = {{4000, 4000}, {0, 0, 1, 1}};
  EXPECT_EQ(sumOverReplicasNs(problem, all, 4000), 2000 + 10);
  problem.nics = {{2000}, {0, 0, -1, -1}};
  EXPECT_EQ(sumOverReplicasNs(problem, all, 4000), 4000 + 10);
  // A slow NIC of one replica slows its links.
  problem.nics = {{1000}, {0, -1, -1, -1}};
  EXPECT_EQ(sumOverReplicasNs(problem, all, 4000), 6000 + 10);
  // Two NICs of one server and two of another: each replica's NIC carries what
  // it sends to the other server.
  problem.nics = {{1000, 1000, 1000, 1000}, {0, 1, 2, 3}, {0, 0, 1, 1}};
  EXPECT_EQ(sumOverReplicasNs(problem, all, 4000), 6000 + 10);
  problem.links = {{{0, 2}, {5, 4000}}};
  problem.nics.servers = {7, 7, 7, 7};
  EXPECT_EQ(sumOverReplicasNs(problem, all, 4000), 1500 + 10);
  // All on one NIC do not cross it.
  problem.nics = {{1}, {0, 0, 0, 0}};
  EXPECT_EQ(sumOverReplicasNs(problem, all, 4000), 1500 + 10);
}

TEST(Nics, SumsTakeTwoLatenciesOrThoseOfARing) {
  EXPECT_EQ(sumNs(4000, 4, {5, 4000}), 1500 + 2 * 5);
  EXPECT_EQ(sumNs(4000, 4, {5, 4000}, SumPath::Ring), 1500 + 6 * 5);
  EXPECT_EQ(sumNs(4001, 2, {0, 4000}), 1001);
  EXPECT_EQ(sumNs(4000, 1, {5, 4000}, SumPath::Ring), 0);
  EXPECT_EQ(sumNs(4000, 4, {5, 0}), 2 * 5);
  // Products above 64 bits.
  EXPECT_EQ(sumNs(int64_t(1) << 60, 2, {0, 1000}), int64_t(1) << 60);
}

// Link orders too: a burst of a contended link asks for each of its messages.
TEST(Nics, TheSearchTimesThem) {
  Engine random(22);
  int timed = 0, ordered = 0;
  for (int round = 0; round < 2000; ++round) {
    Problem problem = drawWithNics(random, round % 2);
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
TEST(Nics, ProofsHoldAgainstAllOrders) {
  Engine random(23);
  int proven = 0, above = 0, delayed = 0, cases = 0;
  while (cases < caseCount(90)) {
    const int32_t ranks = int32_t(pick(random, 2, 4));
    // Two chains over the ranks, so that their messages meet on the NICs.
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
    drawNics(random, problem);
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
    apart.nics = {};
    delayed += AllOrders(apart).least() < least;
  }
  EXPECT_GT(proven, caseCount(20));
  EXPECT_LE(above, 2);
  EXPECT_GT(delayed, 10);
}

} // namespace
