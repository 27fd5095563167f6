//===- UnitsTest.cpp - How many micro-batches a unit has ------------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "planning/gathers/Units.h"
#include "planning/gathers/FittingGathers.h"
#include "test/unit/planning/ShardedPlan.h"

#include "schedule/simulate/Simulator.h"

#include <algorithm>

using namespace rondo;
using namespace rondo::test;

namespace {

/// shardedChain() with another rate of links and other bytes to reduce.
Problem chainOn(int32_t groups, int32_t chunks, int32_t microbatches,
                int64_t bytesPerUs, int64_t gradientBytes = wholeBytes,
                ShardedState how = ShardedState::Weights) {
  Problem problem = shardedChain(groups, chunks, 2, microbatches, how);
  problem.link = {0, bytesPerUs};
  for (int32_t stage = 0; stage < problem.numStages(); ++stage)
    problem.setShards(stage, how, wholeBytes, gradientBytes);
  return problem;
}

/// Half of 1000 bytes pass a link; F, I and W take 600, 800 and 400 ns.
TEST(Units, HidingIsThatOfTheLinks) {
  Hiding fast = hidingOf(chainOn(2, 2, 8, 1000));
  EXPECT_EQ(fast.gather.moveNs, 500);
  EXPECT_EQ(fast.gather.taskNs, 600);
  EXPECT_EQ(fast.reduction.taskNs, 800);
  EXPECT_EQ(fast.leastUnit(), 1);
  Hiding slow = hidingOf(chainOn(2, 2, 8, 200));
  EXPECT_EQ(slow.gather.leastUnit(), 5); // 2500 in units of 600.
  EXPECT_EQ(slow.reduction.leastUnit(), 4);
  EXPECT_EQ(slow.leastUnit(), 5);
  EXPECT_DOUBLE_EQ(slow.gather.partOf(5), 2500.0 / 3000);
  // Moves once an iteration have no unit to hide in.
  EXPECT_EQ(hidingOf(chainOn(2, 2, 8, 200, wholeBytes, ShardedState::Gradients))
                .leastUnit(),
            4);
  EXPECT_EQ(hidingOf(chainOn(2, 2, 8, 200, wholeBytes, ShardedState::Optimizer))
                .leastUnit(),
            1);
  Problem instant = chainOn(2, 2, 8, 200);
  for (int32_t replica = 0; replica < instant.numReplicas(); ++replica)
    instant.cost(replica, ActionKind::Forward).ns = 0;
  EXPECT_EQ(hidingOf(instant).leastUnit(), noUnit);
}

/// The worst chunk counts, after the one before it on its rank.
TEST(Units, HidingIsThatOfTheWorstChunk) {
  Problem problem = chainOn(1, 3, 4, 200);
  problem.cost(problem.replicas.numberOf(1), ActionKind::Forward).ns = 100;
  // Chunk 2 is gathered at the time of chunk 1.
  EXPECT_EQ(hidingOf(problem).gather.leastUnit(), 25);
}

/// Chunks in one group, so that the schedule has no bubble, and F is the
/// shortest task: all that a unit exposes is the first gather and the last
/// reduction, if it is as long as hiding asks.
TEST(Units, ShorterUnitsExposeGathers) {
  auto exposed = [](int64_t unit) {
    Problem problem = chainOn(1, 3, static_cast<int32_t>(unit), 200, 20);
    for (int32_t replica = 0; replica < problem.numReplicas(); ++replica)
      problem.cost(replica, ActionKind::WeightGrad).ns = 800;
    const Schedule placed = placeGathers(
        problem, tasksOf(problem, "blockwise:u=" + std::to_string(unit)),
        {{2, 1}});
    const Simulation run = simulate(problem, placed);
    return run.makespanNs - run.rankWorkNs[0];
  };
  const Problem problem = chainOn(1, 3, 8, 200, 20);
  const int64_t least = hidingOf(problem).leastUnit();
  ASSERT_EQ(least, 5);
  const int64_t gather = problem.cost(0, ActionKind::Unshard).ns,
                reduction = problem.cost(0, ActionKind::ReduceGrad).ns;
  EXPECT_EQ(exposed(least), gather + reduction);
  EXPECT_EQ(exposed(least + 1), gather + reduction);
  EXPECT_GT(exposed(least - 1), gather + reduction);
}

TEST(Units, RatesWhatTheSimulatorSays) {
  const Problem problem = chainOn(2, 2, 8, 400);
  const std::vector<UnitCandidate> rated = rateUnits(problem, {2, 4, 8});
  ASSERT_EQ(rated.size(), 3u);
  for (const UnitCandidate &one : rated) {
    const Schedule placed = withGathers(
        problem, tasksOf(problem, "blockwise:u=" + std::to_string(one.unit)));
    const Simulation run = simulate(problem, placed);
    EXPECT_EQ(one.makespanNs, run.makespanNs);
    EXPECT_EQ(one.peakBytes, run.peakBytes);
    EXPECT_EQ(one.makespanNs - one.idleNs - one.exposedNs, run.rankWorkNs[0]);
    int64_t most = 0;
    for (int32_t rank = 0; rank < problem.numRanks(); ++rank)
      most = std::max(most, countGathers(problem, placed.rank(rank)).bytes);
    EXPECT_EQ(one.trafficBytes, most);
    EXPECT_TRUE(one.fits());
  }
}

TEST(Units, LimitIsWhatIsInTheWay) {
  UnitCandidate one;
  EXPECT_EQ(one.limit(), UnitLimit::Nothing);
  one.idleNs = 3;
  EXPECT_EQ(one.limit(), UnitLimit::Bubble);
  one.exposedNs = 4;
  EXPECT_EQ(one.limit(), UnitLimit::Traffic);
  one.missingBytes = 1;
  EXPECT_EQ(one.limit(), UnitLimit::Memory);
}

int64_t chosenUnit(const Problem &problem, const PlanArenas &arenas = {}) {
  auto choice = parseFamily("blockwise:u=auto");
  auto chosen = withNumbers(*choice, problem, arenas);
  if (!chosen)
    return -1;
  return chosen->arguments.at("u");
}

/// The time of a unit; the longest number if it exceeds a cap.
int64_t timeOf(const Problem &problem, int64_t unit) {
  const UnitCandidate rated = rateUnits(problem, {unit}).front();
  return rated.fits() ? rated.makespanNs : noUnit;
}

/// Compared with all units, on other links and with less memory.
TEST(Units, ChosenUnitIsHardlyLongerThanTheBestOfAll) {
  for (int32_t groups : {2, 4})
    for (int32_t chunks : {1, 2, 3})
      for (int64_t rate : {int64_t(50), int64_t(200), int64_t(5000)})
        for (int64_t room : {int64_t(2000), int64_t(4000), noMemoryCap}) {
          Problem problem = chainOn(groups, chunks, 12, rate);
          if (room != noMemoryCap)
            problem.memoryCaps.assign(problem.numRanks(),
                                      room + 48 * 4 * chunks);
          int64_t best = noUnit;
          for (int64_t unit = 1; unit <= 12; ++unit)
            best = std::min(best, timeOf(problem, unit));
          if (best == noUnit)
            continue;
          const int64_t time = timeOf(problem, chosenUnit(problem));
          EXPECT_LE(double(time), 1.01 * double(best))
              << groups << " " << chunks << " " << rate << " " << room;
        }
}

/// Slow links ask for longer units where not all chunks can be whole, less
/// memory for shorter ones.
TEST(Units, ClusterAndMemoryDecide) {
  auto withRoom = [](Problem problem, int64_t microbatches) {
    // Room for the activations of `microbatches`, 48 bytes a chunk, and three
    // chunks' state.
    problem.memoryCaps.assign(problem.numRanks(),
                              4 * 48 * microbatches + 3 * wholeBytes);
    return problem;
  };
  const Problem fast = withRoom(chainOn(2, 4, 12, 5000), 12),
                slow = withRoom(chainOn(2, 4, 12, 50), 12),
                small = withRoom(slow, 6);
  EXPECT_GT(chosenUnit(slow), chosenUnit(fast));
  EXPECT_LT(chosenUnit(small), chosenUnit(slow));
  EXPECT_LT(timeOf(small, chosenUnit(small)), noUnit);
}

/// Programs may need more than caps say.
TEST(Units, ArenasCountToo) {
  const Problem problem = chainOn(4, 2, 12, 5000);
  PlanFigures plan = shardedFigures(problem);
  // So large that fewer whole chunks make no room for a longer unit.
  for (ReplicaBuffers &buffers : plan.buffers)
    buffers[int(BufferKind::SavedForInputGrad)] = 4096;
  const std::vector<int64_t> tried = unitsWorthTrying(problem);
  ASSERT_GT(chosenUnit(problem), 3);
  plan.devices = arenasOf(
      plan, problem, withGathers(problem, tasksOf(problem, "blockwise:u=3")));
  EXPECT_EQ(chosenUnit(problem, PlanArenas(plan, problem)), 3);
  // If the orders are too large to lower all, the best are lowered until one
  // fits.
  const PlanArenas large(plan, problem, /*maxActions=*/0);
  const std::vector<UnitCandidate> rated = rateUnits(problem, tried, large);
  const auto lowered =
      std::count_if(rated.begin(), rated.end(), [](const UnitCandidate &one) {
        return !one.arenaBytes.empty();
      });
  EXPECT_GT(lowered, 1);
  EXPECT_LT(lowered, int64_t(tried.size()));
  const UnitCandidate &best = rated[bestUnit(rated).value()];
  EXPECT_TRUE(best.fits());
  EXPECT_FALSE(best.arenaBytes.empty());
  EXPECT_EQ(excessOver(plan.devices, best.arenaBytes),
            std::vector<int64_t>(problem.numRanks(), 0));
  EXPECT_EQ(chosenUnit(problem, large), best.unit);
  // None fits: the one that lacks least.
  plan.devices.assign(problem.numRanks(), 1);
  EXPECT_EQ(chosenUnit(problem, PlanArenas(plan, problem)), tried.front());
}

/// Arenas that are not known stop no unit.
TEST(Units, UnknownArenasFit) {
  const Problem problem = chainOn(4, 2, 12, 5000);
  PlanFigures plan = shardedFigures(problem);
  plan.devices.assign(problem.numRanks(), 1);
  const std::vector<int64_t> tried = unitsWorthTrying(problem);
  for (const UnitCandidate &one :
       rateUnits(problem, tried, PlanArenas(plan, problem))) {
    EXPECT_EQ(one.limit(), UnitLimit::Memory);
    const auto worst =
        std::max_element(one.arenaBytes.begin(), one.arenaBytes.end());
    ASSERT_NE(worst, one.arenaBytes.end());
    EXPECT_EQ(one.missingBytes, *worst - 1);
    EXPECT_EQ(one.missingOn, worst - one.arenaBytes.begin());
  }
  ASSERT_NE(chosenUnit(problem, PlanArenas(plan, problem)),
            chosenUnit(problem));
  plan.declaresWeights = false;
  const PlanArenas unknown(plan, problem);
  EXPECT_EQ(chosenUnit(problem, unknown), chosenUnit(problem));
  for (const UnitCandidate &one : rateUnits(problem, tried, unknown)) {
    EXPECT_TRUE(one.fits());
    EXPECT_TRUE(one.arenaBytes.empty());
  }
}

/// If the fastest gathers of a unit do not fit, others are placed.
TEST(Units, GathersOfAUnitFitItsDevices) {
  const Problem problem = chainOn(2, 3, 6, 200);
  PlanFigures plan = shardedFigures(problem);
  const Schedule tasks = tasksOf(problem, "blockwise:u=3");
  plan.devices =
      arenasOf(plan, problem, placeGathers(problem, tasks, {{1, 1}}));
  const std::vector<int64_t> nothing(problem.numRanks(), 0);
  ASSERT_NE(excessOver(plan.devices,
                       arenasOf(plan, problem, withGathers(problem, tasks))),
            nothing);
  const UnitCandidate free = rateUnits(problem, {3}).front(),
                      fitting =
                          rateUnits(problem, {3}, PlanArenas(plan, problem))
                              .front();
  EXPECT_TRUE(fitting.fits());
  EXPECT_EQ(excessOver(plan.devices, fitting.arenaBytes), nothing);
  EXPECT_GT(fitting.makespanNs, free.makespanNs);
  EXPECT_GT(fitting.gathers, free.gathers);
}

std::string faultOf(const std::string &family, const Problem &problem) {
  auto choice = parseFamily(family);
  if (!choice)
    return describe(choice.fault());
  auto chosen = withNumbers(*choice, problem);
  if (!chosen)
    return describe(chosen.fault());
  auto made = generate(*chosen, problem);
  return made ? "" : describe(made.fault());
}

TEST(Units, AutoIsAWordOfFamilies) {
  const Problem problem = chainOn(2, 2, 4, 1000);
  for (const char *text : {"blockwise:u=auto", "blockwise:u=auto,v=auto",
                           "blockwise:u=4", "blockwise:u=4,v=2"})
    EXPECT_EQ(parseFamily(text)->text(), text);
  EXPECT_EQ(faultOf("blockwise:u=auto", problem), "");
  EXPECT_EQ(faultOf("blockwise:u=4,v=2", problem), "");
  EXPECT_EQ(faultOf("kfkb:k=auto", problem),
            "k of kfkb cannot be auto; give it a number");
  EXPECT_EQ(faultOf("blockwise:v=3", problem),
            "blockwise is asked for 3 chunks a rank, but this plan has 2; "
            "`rondo compare --chunks` and `rondo search --chunks` cut other "
            "plans; ranks with the same stages count as one");
  EXPECT_EQ(faultOf("blockwise:v=auto", problem),
            "blockwise cannot choose v here: this plan has 2 chunks a rank, "
            "and other plans are tried by `rondo compare FILE --family "
            "blockwise:v=auto` and `rondo search FILE --chunks auto -o "
            "FILE.mlir`");
  // A family writes orders of numbers.
  auto undecided = generate(*parseFamily("blockwise:u=auto"), problem);
  EXPECT_EQ(describe(undecided.fault()),
            "u of blockwise cannot be auto; give it a number");
  // A number that means auto inside is none.
  EXPECT_NE(faultOf("blockwise:u=-9223372036854775808", problem), "");
}

} // namespace
