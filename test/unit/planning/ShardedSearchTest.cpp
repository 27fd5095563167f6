//===- ShardedSearchTest.cpp - Search of plans whose stages are sharded ---===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "planning/ShardedSearch.h"
#include "planning/gathers/FittingGathers.h"
#include "planning/gathers/Units.h"
#include "test/unit/planning/ShardedPlan.h"

#include "schedule/bounds/ShardedBound.h"
#include "schedule/simulate/Objective.h"

#include <limits>

using namespace rondo;
using namespace rondo::test;

namespace {

/// Seconds. Every reading of the clock takes `perLook`.
double now = 0, perLook = 0;
double lookAtClock() { return now += perLook; }

/// Finds nothing, so that what is returned comes from families.
SearchResult findNothing(const Problem &, const SearchOptions &) { return {}; }

SearchResult searchOf(const Problem &problem, double secondsPerLook,
                      const RunSearch &run = findNothing) {
  SearchOptions options;
  options.timeLimitMs = 1000;
  options.clock = lookAtClock;
  now = 0;
  perLook = secondsPerLook;
  return searchSharded(PlanFigures(), problem, options, run);
}

/// The families that fit, in the order in which they are tried, with their
/// times.
std::vector<std::pair<std::string, int64_t>>
familiesThatFit(const Problem &problem) {
  std::vector<FamilyChoice> choices = allFamilies();
  for (int64_t unit : unitsWorthTrying(problem))
    choices.push_back(*chooseFamily("blockwise", {{"u", unit}}));
  std::vector<std::pair<std::string, int64_t>> fit;
  for (const FamilyChoice &choice : choices) {
    FamilyResult order = generate(choice, problem);
    Simulation run;
    if (order && !checkAndSimulate(
                     problem, withGathers(problem, std::move(*order)), run))
      fit.push_back({choice.text(), run.makespanNs});
  }
  return fit;
}

TEST(ShardedSearch, FamiliesStopAtHalfOfTheTime) {
  const Problem problem = shardedChain(2, 2, 2, 4);
  const auto fit = familiesThatFit(problem);
  ASSERT_GT(fit.size(), 2u);
  auto best = fit.front();
  for (const auto &family : fit)
    if (family.second < best.second)
      best = family;
  ASSERT_NE(best, fit.front());
  const SearchResult unhurried = searchOf(problem, 0);
  ASSERT_TRUE(unhurried.schedule);
  EXPECT_EQ(unhurried.origin, best.first);
  // The first reading after the first schedule that fits is at 0.6 of the time.
  const SearchResult hurried = searchOf(problem, 0.6);
  ASSERT_TRUE(hurried.schedule);
  EXPECT_EQ(hurried.origin, fit.front().first);
  EXPECT_GT(hurried.simulation.makespanNs, unhurried.simulation.makespanNs);
}

/// Without one that fits, families go on, however late it is.
TEST(ShardedSearch, FamiliesGoOnUntilOneFits) {
  Problem problem = shardedChain(2, 2, 2, 4);
  const std::string first = familiesThatFit(problem).front().first;
  int64_t least = std::numeric_limits<int64_t>::max();
  for (int64_t unit : unitsWorthTrying(problem)) {
    const Schedule order =
        tasksOf(problem, "blockwise:u=" + std::to_string(unit));
    const Simulation run =
        simulate(problem, placeGathers(problem, order, {{1, 1}}));
    least = std::min(
        least, *std::max_element(run.peakBytes.begin(), run.peakBytes.end()));
  }
  problem.memoryCaps.assign(problem.numRanks(), least);
  const auto fit = familiesThatFit(problem);
  ASSERT_FALSE(fit.empty());
  ASSERT_NE(fit.front().first, first);
  const SearchResult late = searchOf(problem, 10);
  ASSERT_TRUE(late.schedule);
  EXPECT_EQ(late.origin, fit.front().first);
}

TEST(ShardedSearch, TheBoundCountsMoves) {
  Problem problem = shardedChain(2, 2, 2, 4);
  problem.link = {0, 20};
  for (int32_t stage = 0; stage < problem.numStages(); ++stage)
    problem.setShards(stage, ShardedState::Weights, wholeBytes, wholeBytes);
  const SearchResult found = searchOf(problem, 0);
  ASSERT_TRUE(found.schedule);
  EXPECT_EQ(found.bound.ns, shardedBound(problem).ns);
  EXPECT_GT(found.bound.ns, quickBound(withWholeState(problem)).ns);
  EXPECT_LE(found.bound.ns, found.simulation.makespanNs);
}

/// Residencies are moved for the order, and the next search has the memory that
/// they leave.
TEST(ShardedSearch, OrderAndResidencyMoveInTurns) {
  Problem problem = shardedChain(2, 3, 2, 6);
  problem.link = {0, 200};
  for (int32_t stage = 0; stage < problem.numStages(); ++stage)
    problem.setShards(stage, ShardedState::Weights, wholeBytes, wholeBytes);
  const Schedule order = tasksOf(problem, "blockwise:u=3");
  problem.memoryCaps.assign(
      problem.numRanks(),
      simulate(problem, placeGathers(problem, order, {{3, 3}})).peakBytes[0]);
  std::vector<std::vector<int64_t>> caps;
  const SearchResult found = searchOf(
      problem, 0, [&](const Problem &whole, const SearchOptions &options) {
        caps.push_back(whole.memoryCaps);
        // The search starts from the best schedule so far.
        EXPECT_EQ(options.starts.size(), 1u);
        EXPECT_FALSE(whole.replicas.areSharded());
        SearchResult result;
        result.schedule = order;
        result.origin = "stub";
        return result;
      });
  ASSERT_TRUE(found.schedule);
  EXPECT_EQ(judge(problem, *found.schedule), "");
  ASSERT_GE(caps.size(), 2u);
  EXPECT_NE(caps[0], caps[1]);
  EXPECT_LE(found.simulation.makespanNs,
            simulate(problem, withGathers(problem, order)).makespanNs);
}

/// Two stages on the same two ranks with crossed shares, so that each rank
/// sends a message to the other.
Problem crossedShares() {
  Problem problem;
  problem.microbatches = 2;
  problem.samples = 2;
  problem.memoryCaps.assign(2, noMemoryCap);
  problem.replicas.addStage({{0, 1}, {1, 1}}, 2);
  problem.replicas.addStage({{1, 1}, {0, 1}}, 2);
  problem.link = {0, 1000};
  for (int32_t stage = 0; stage < 2; ++stage) {
    problem.setStageCost(stage, 1200, 1600, 800, 96, 32);
    problem.setShards(stage, ShardedState::Weights, wholeBytes, wholeBytes);
  }
  problem.makeChain({0, 0});
  EXPECT_FALSE(problem.check());
  return problem;
}

std::string faultOf(const PlanFigures &plan, const Problem &problem) {
  SearchOptions options;
  options.timeLimitMs = 0;
  options.effort = 1;
  const SearchResult found = searchSharded(plan, problem, options, findNothing);
  EXPECT_EQ(found.schedule.has_value(), !found.fault.has_value());
  return found.fault ? describe(*found.fault) : "";
}

/// If nothing is found, launches in flight are the reason only if programs that
/// gather for one micro-batch at a time also wait for each other.
TEST(ShardedSearch, SaysWhetherLaunchesOrMemoryAreMissing) {
  const std::string launches =
      "no schedule was found whose programs run with 2 launches of a rank in "
      "flight; a target with a higher resident may have one";
  const Problem crossed = crossedShares();
  PlanFigures plan = shardedFigures(crossed);
  plan.resident = 2;
  EXPECT_EQ(faultOf(plan, crossed), launches);
  plan.resident = 3;
  EXPECT_EQ(faultOf(plan, crossed), "");
  // Some orders of a chain run with one launch in flight, but have no memory.
  const Problem chain = shardedChain(2, 2, 2, 4);
  plan = shardedFigures(chain);
  plan.resident = 1;
  ASSERT_TRUE(mayBlock(plan, chain));
  EXPECT_EQ(faultOf(plan, chain), "");
  plan.devices.assign(chain.numRanks(), 1);
  EXPECT_NE(faultOf(plan, chain).find("whose programs fit the devices"),
            std::string::npos);
}

} // namespace
