//===- SearchTest.cpp - The search against known optima -------------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "Examples.h"

#include "schedule/search/Search.h"
#include "schedule/search/SearchParts.h"

#include <algorithm>
#include <thread>

using namespace rondo;
using namespace rondo::test;

namespace {

SearchOptions withEffort(int64_t effort) {
  SearchOptions options;
  options.effort = effort;
  options.timeLimitMs = 0;
  return options;
}

SearchResult searchWith(const Problem &problem, int64_t effort) {
  SearchResult result = search(problem, withEffort(effort));
  EXPECT_TRUE(result.schedule) << (result.fault ? describe(*result.fault) : "");
  if (!result.schedule)
    return result;
  auto fault = checkSchedule(problem, *result.schedule);
  EXPECT_FALSE(fault) << describe(*fault, problem);
  int64_t objective = problem.objective == Objective::Span
                          ? result.simulation.spanNs
                          : result.simulation.makespanNs;
  EXPECT_LE(result.bound.ns, objective);
  EXPECT_EQ(result.provenOptimal, result.bound.ns == objective);
  return result;
}

/// Optima of fused schedules with F = 1 and B = 2, by stages, micro-batches,
/// activations that a rank may hold, and latency.
struct Optimum {
  int32_t stages, microbatches;
  int64_t cap, latency, makespan;
};

TEST(Search, FindsTheOptimaOfFusedSchedules) {
  const Optimum optima[] = {
      {2, 2, 1, 0, 12}, {2, 2, 2, 0, 9},  {2, 2, 1, 1, 16}, {2, 2, 2, 1, 11},
      {2, 3, 2, 0, 12}, {2, 3, 2, 1, 16}, {2, 3, 3, 1, 14}, {2, 4, 2, 0, 15},
      {2, 4, 3, 1, 17}, {3, 3, 2, 0, 18}, {3, 3, 3, 1, 19}, {3, 4, 1, 0, 36},
      {3, 4, 2, 0, 21}, {3, 4, 3, 0, 18}, {3, 4, 2, 1, 29}, {3, 4, 3, 1, 26},
      {3, 4, 4, 1, 22}, {4, 2, 1, 1, 36}, {4, 2, 2, 1, 21},
  };
  for (const Optimum &optimum : optima) {
    // I takes all of the backward, as if it were fused.
    Problem problem =
        linearProblem(optimum.stages, optimum.microbatches, {1, 2, 0, 1, 1});
    problem.memoryCaps.assign(optimum.stages, optimum.cap);
    problem.link.latencyNs = optimum.latency;
    EXPECT_EQ(searchWith(problem, 20000).simulation.makespanNs,
              optimum.makespan)
        << optimum.stages << " stages, " << optimum.microbatches
        << " micro-batches, cap " << optimum.cap << ", latency "
        << optimum.latency;
  }
}

TEST(Search, ProvesZeroBubbleH1) {
  Problem problem = linearProblem(8, 32, {3, 4, 2, 2, 1});
  problem.memoryCaps.assign(8, 16);
  problem.link.latencyNs = 1;
  SearchResult result = searchWith(problem, 20000);
  EXPECT_EQ(result.simulation.makespanNs, 351);
  EXPECT_TRUE(result.provenOptimal);
  EXPECT_EQ(result.stop, SearchStop::Optimal);
}

TEST(Search, IsTheSameForTheSameSeedAndEffort) {
  Problem problem = problemOn({0, 1, 2, 2, 1, 0}, 3, 12, {3, 4, 2, 2, 1});
  problem.memoryCaps.assign(3, 9);
  problem.link.latencyNs = 1;
  SearchResult one = searchWith(problem, 3000), two = searchWith(problem, 3000);
  ASSERT_EQ(one.schedule->numActions(), two.schedule->numActions());
  for (int32_t r = 0; r < 3; ++r)
    for (int64_t i = 0; i < one.schedule->rank(r).size(); ++i)
      ASSERT_EQ(one.schedule->rank(r)[i], two.schedule->rank(r)[i]);
  EXPECT_EQ(one.effort, two.effort);
  // More effort is never worse.
  EXPECT_LE(searchWith(problem, 30000).simulation.makespanNs,
            one.simulation.makespanNs);
}

TEST(Search, FitsTheLeastMemoryOfSeveralStages) {
  for (int32_t stages : {4, 6, 8}) {
    std::vector<int32_t> rankOfStage;
    for (int32_t s = 0; s < stages; ++s)
      rankOfStage.push_back(s % 2);
    Problem problem = problemOn(rankOfStage, 2, 10, {2, 3, 1, 4, 1});
    problem.memoryCaps.assign(2, 2 * stages);
    searchWith(problem, 500);
    problem.memoryCaps[1] -= 1;
    SearchResult none = search(problem, withEffort(500));
    EXPECT_FALSE(none.schedule);
    ASSERT_TRUE(none.fault);
    const std::string said = describe(*none.fault);
    EXPECT_NE(said.find("rank 1"), std::string::npos) << said;
    EXPECT_NE(said.find(std::to_string(2 * stages) + " bytes"),
              std::string::npos)
        << said;
  }
}

TEST(Search, LetsFewMicrobatchesFollowEachOtherToHoldLess) {
  Problem problem = problemOn(waveRanks(16, 2), 16, 128, {5000, 4900, 3700});
  problem.link.latencyNs = 400;
  problem.memoryCaps.assign(16, 16);
  // Patterns of one micro-batch at a time took 4.36 ms.
  EXPECT_LE(searchWith(problem, 1250).simulation.makespanNs, 4100000);
}

TEST(Search, LetsHalfAsManyMicrobatchesAsRanksFollowEachOther) {
  Problem problem = problemOn(loopedRanks(12, 4), 12, 36, {5000, 4900, 3700});
  problem.link.latencyNs = 400;
  problem.memoryCaps.assign(12, 34);
  // Groups of up to four micro-batches, or of as many as there are ranks or as
  // fit, took 2.29 ms.
  EXPECT_LE(searchWith(problem, 1250).simulation.makespanNs, 2200000);
}

TEST(Search, DoesNotCallALimitInfeasible) {
  // No family fits and each reading of the clock takes a minute.
  static thread_local int64_t looks;
  looks = 0;
  SearchOptions hurried = withEffort(1);
  hurried.timeLimitMs = 1;
  hurried.clock = [] { return 60.0 * double(++looks); };
  std::atomic<bool> interrupt = true;
  SearchOptions interrupted = withEffort(1);
  interrupted.interrupt = &interrupt;
  for (int32_t chunks : {1, 4})
    for (bool isFused : {false, true}) {
      Problem problem = problemOn(waveRanks(6, chunks), 6, 90, {5, 9, 7, 3, 0});
      problem.memoryCaps.assign(6, 3 * chunks);
      problem.link.latencyNs = 4;
      if (isFused)
        for (int32_t s = 0; s < problem.numStages(); s += 2)
          problem.cost(s, ActionKind::Backward).ns = 11;
      for (const SearchOptions &options : {hurried, interrupted}) {
        SearchResult result = search(problem, options);
        ASSERT_TRUE(result.schedule)
            << (result.fault ? describe(*result.fault) : "");
        EXPECT_FALSE(checkSchedule(problem, *result.schedule));
        EXPECT_LE(result.bound.ns, result.simulation.makespanNs);
      }
    }
}

TEST(Search, IsNotWorseThanAFamily) {
  for (Objective objective : {Objective::Makespan, Objective::Span})
    for (int32_t ranks : {2, 5}) {
      Problem problem = linearProblem(ranks, 16, {5, 4, 3, 1, 0});
      problem.objective = objective;
      problem.link.latencyNs = 2;
      int64_t found = searchWith(problem, 100).simulation.makespanNs;
      if (objective == Objective::Span)
        found = searchWith(problem, 100).simulation.spanNs;
      int compared = 0;
      for (const Family &family : families()) {
        FamilyResult made =
            family.generate(problem, chooseFamily(family.name, {})->arguments);
        if (made) {
          Simulation simulation = simulate(problem, *made);
          EXPECT_LE(found, objective == Objective::Span ? simulation.spanNs
                                                        : simulation.makespanNs)
              << family.name;
          ++compared;
        }
      }
      EXPECT_GE(compared, 8);
    }
}

TEST(Search, FusesWhereThatIsCheaper) {
  Problem problem = linearProblem(2, 6, {4, 4, 4});
  for (int32_t s : {0, 1})
    problem.cost(s, ActionKind::Backward).ns = 5;
  SearchResult result = searchWith(problem, 2000);
  int64_t fused = 0;
  for (int32_t r : {0, 1})
    for (Action action : result.schedule->rank(r))
      fused += action.kind() == ActionKind::Backward;
  EXPECT_EQ(fused, 12);
  EXPECT_EQ(result.simulation.makespanNs, 6 * 9 + 9);
}

TEST(Search, MakesAScheduleThoughInterrupted) {
  std::atomic<bool> interrupt{true};
  SearchOptions options;
  options.interrupt = &interrupt;
  Problem problem = problemOn({0, 1, 1, 0}, 2, 8, {3, 4, 2, 2, 1});
  problem.memoryCaps.assign(2, 6);
  SearchResult result = search(problem, options);
  ASSERT_TRUE(result.schedule);
  EXPECT_FALSE(checkSchedule(problem, *result.schedule));
  EXPECT_EQ(result.stop, SearchStop::Interrupted);
}

TEST(Search, TellsAnObserverWhatItKnows) {
  Problem problem = problemOn({0, 1, 1, 0}, 2, 8, {3, 4, 2, 2, 1});
  problem.memoryCaps.assign(2, 6);
  SearchOptions options = withEffort(500);
  std::vector<SearchProgress> seen;
  options.observer = [&](const SearchProgress &now) { seen.push_back(now); };
  SearchResult observed = search(problem, options);
  ASSERT_GE(seen.size(), 2u);
  // The bound comes before the first schedule.
  EXPECT_EQ(seen.front().objectiveNs, std::numeric_limits<int64_t>::max());
  for (size_t i = 1; i < seen.size(); ++i) {
    EXPECT_LE(seen[i].objectiveNs, seen[i - 1].objectiveNs);
    EXPECT_GE(seen[i].bound.ns, seen[i - 1].bound.ns);
  }
  EXPECT_EQ(seen.back().objectiveNs, observed.simulation.makespanNs);
  EXPECT_EQ(searchWith(problem, 500).simulation.makespanNs,
            observed.simulation.makespanNs);
}

TEST(Search, OfALargeProblemIsTheSameOnAnyThread) {
  std::vector<int32_t> rankOfStage;
  for (int32_t s = 0; s < 24; ++s)
    rankOfStage.push_back(s < 12 ? s : 23 - s);
  Problem problem = problemOn(rankOfStage, 12, 40, {50, 57, 31, 4, 0});
  problem.memoryCaps.assign(12, 96);
  problem.link.latencyNs = 3;
  std::vector<SearchResult> results(3);
  std::vector<std::thread> threads;
  for (SearchResult &result : results)
    threads.emplace_back([&] { result = search(problem, withEffort(800)); });
  for (std::thread &thread : threads)
    thread.join();
  SearchResult alone = searchWith(problem, 800);
  for (const SearchResult &result : results) {
    EXPECT_TRUE(areEqual(*result.schedule, *alone.schedule));
    EXPECT_EQ(result.effort, alone.effort);
    EXPECT_EQ(result.bound.ns, alone.bound.ns);
  }
}

/// Neither a wrong claim nor a trace of what is left out.
TEST(Search, HoldsWithoutAnyOneOfItsParts) {
  std::vector<std::string> names;
  for (const BoundArgument &argument : boundArguments())
    names.push_back(argument.name);
  for (const SearchPart &part : searchParts())
    names.push_back(part.name);
  int worse = 0;
  for (int32_t held : {2, 3, 5}) {
    Problem problem =
        problemOn({0, 1, 2, 3, 0, 1, 2, 3}, 4, 6, {5, 6, 4, 1, 0});
    problem.memoryCaps.assign(4, 2 * held);
    problem.link.latencyNs = 1;
    const SearchResult whole = searchWith(problem, 30000);
    ASSERT_TRUE(whole.provenOptimal);
    for (const std::string &name : names) {
      SearchOptions options;
      options.timeLimitMs = 0;
      options.effort = 3000;
      options.without = name;
      const SearchResult result = search(problem, options);
      ASSERT_TRUE(result.schedule) << name;
      EXPECT_EQ(verdict(problem, *result.schedule), "") << name;
      EXPECT_GE(result.simulation.makespanNs, whole.simulation.makespanNs);
      EXPECT_LE(result.bound.ns, whole.simulation.makespanNs) << name;
      EXPECT_TRUE(result.bound.ns == 0 || result.bound.name != name) << name;
      EXPECT_EQ(result.origin.find(name), std::string::npos) << name;
      worse += result.bound.ns < whole.bound.ns;
    }
  }
  EXPECT_GT(worse, 0);
}

TEST(Search, KeepsATimeLimitOfItsOwnClock) {
  // A clock on which each look takes a millisecond.
  static thread_local int64_t looks;
  looks = 0;
  SearchOptions options;
  options.timeLimitMs = 20;
  options.clock = [] { return double(++looks) / 1000; };
  Problem problem = linearProblem(8, 40, {5, 4, 3, 1, 0});
  problem.memoryCaps.assign(8, 6);
  problem.link.latencyNs = 2;
  SearchResult result = search(problem, options);
  EXPECT_EQ(result.stop, SearchStop::Time);
  EXPECT_LE(looks, 24);
}
} // namespace
