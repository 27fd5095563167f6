//===- GraphTest.cpp - Families and search on graphs of stages ------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "Examples.h"

#include "schedule/bounds/Shortfall.h"
#include "schedule/families/Family.h"
#include "schedule/partial/FlatProblem.h"
#include "schedule/rules/Legality.h"
#include "schedule/search/OneByOne.h"
#include "schedule/search/Search.h"

#include <random>

using namespace rondo;
using namespace rondo::test;

namespace {

/// Stage s on rank s, or in chunks; each has inputs from some stages before it.
Problem randomGraph(std::mt19937 &random, int32_t ranks, int32_t chunks) {
  auto upTo = [&](int64_t n) {
    return std::uniform_int_distribution<int64_t>(0, n)(random);
  };
  std::vector<int32_t> rankOfStage;
  for (int32_t s = 0; s < ranks * chunks; ++s)
    rankOfStage.push_back(s % ranks);
  Problem problem = problemOn(rankOfStage, ranks, int32_t(1 + upTo(5)));
  std::vector<std::vector<int32_t>> inputs(problem.numStages());
  for (int32_t s = 1; s < problem.numStages(); ++s)
    for (int32_t from = 0; from < s; ++from)
      if (upTo(1))
        inputs[s].push_back(from);
  // Ensures that it is not a chain.
  inputs.back() = {0};
  problem.makeGraph(inputs, std::vector<int64_t>(problem.numStages(), 0));
  for (int32_t s = 0; s < problem.numStages(); ++s)
    problem.setStageCost(s, 1 + upTo(9), 1 + upTo(9), upTo(9), 4, 2);
  return problem;
}

TEST(Graph, FamiliesOrderItOrSayWhyNot) {
  std::mt19937 random(5);
  int legal = 0;
  for (int round = 0; round < 40; ++round) {
    const Problem problem = randomGraph(random, 3, 1 + round % 2);
    ASSERT_FALSE(problem.check());
    ASSERT_FALSE(problem.isChain());
    for (const FamilyChoice &choice : allFamilies()) {
      FamilyResult result = generate(choice, problem);
      if (!result) {
        if (choice.family->needsChain) {
          EXPECT_NE(
              describe(result.fault()).find("needs a chain of stages; stage "),
              std::string::npos)
              << describe(result.fault());
        }
        continue;
      }
      ASSERT_FALSE(choice.family->needsChain) << choice.family->name;
      EXPECT_FALSE(checkSchedule(problem, *result)) << choice.family->name;
      ++legal;
    }
  }
  EXPECT_GT(legal, 200);
}

TEST(Graph, AChainIsOneInAnyForm) {
  Problem problem = linearProblem(4, 3);
  EXPECT_TRUE(problem.isChain());
  std::vector<Edge> edges = problem.edges;
  problem.makeGraph({{}, {0}, {1}, {2}}, {0, 0, 0, 0});
  EXPECT_TRUE(problem.isChain());
  ASSERT_EQ(problem.edges.size(), edges.size());
  for (size_t e = 0; e < edges.size(); ++e) {
    EXPECT_EQ(problem.edges[e].from, edges[e].from);
    EXPECT_EQ(problem.edges[e].to, edges[e].to);
    EXPECT_EQ(problem.edges[e].producer, edges[e].producer);
  }
}

TEST(Graph, TheSearchHasAScheduleAndABoundThatHolds) {
  std::mt19937 random(6);
  for (int round = 0; round < 30; ++round) {
    const Problem problem = randomGraph(random, 2 + round % 2, 1 + round % 3);
    SearchOptions options;
    options.effort = 50;
    options.timeLimitMs = 0;
    const SearchResult result = search(problem, options);
    ASSERT_TRUE(result.schedule);
    EXPECT_FALSE(checkSchedule(problem, *result.schedule));
    EXPECT_LE(result.bound.ns, result.simulation.makespanNs);
    EXPECT_GT(result.bound.ns, 0);
    // No worse than any family.
    for (const FamilyChoice &choice : allFamilies()) {
      FamilyResult made = generate(choice, problem);
      if (made) {
        EXPECT_GE(simulate(problem, *made).makespanNs,
                  result.simulation.makespanNs);
      }
    }
  }
}

TEST(Graph, HasOneEndOrSeveral) {
  Problem problem = linearProblem(4, 1);
  const std::vector<int64_t> bytes(4, 0);
  EXPECT_TRUE(isSingleEnded(problem));
  problem.makeGraph({{}, {0}, {0}, {1, 2}}, bytes);
  EXPECT_TRUE(isSingleEnded(problem));
  problem.makeGraph({{}, {0}, {0}, {2}}, bytes);
  EXPECT_FALSE(isSingleEnded(problem));
  // A gradient that does not come.
  problem.makeGraph({{}, {0}, {0}, {1, 2}}, bytes);
  problem.edges.pop_back();
  EXPECT_FALSE(isSingleEnded(problem));
}

/// With several ends a rank may free one stage's bytes before it takes
/// another's: less than one micro-batch of all its stages is enough.
TEST(Graph, WithSeveralEndsFitsLessThanAMicrobatch) {
  Problem problem = problemOn({0, 0}, 1, 3, {2, 2, 2, 4, 2});
  problem.makeGraph({{}, {}}, {0, 0});
  problem.memoryCaps = {4};
  EXPECT_FALSE(findShortfall(problem));
  SearchOptions options;
  options.effort = 100;
  options.timeLimitMs = 0;
  const SearchResult result = search(problem, options);
  ASSERT_TRUE(result.schedule);
  EXPECT_FALSE(checkSchedule(problem, *result.schedule));
  EXPECT_EQ(result.simulation.makespanNs, 36);
  problem.memoryCaps = {3};
  EXPECT_TRUE(findShortfall(problem));
}

/// More tasks than a beam searches, tight caps and serial links.
TEST(Graph, TheSearchBeatsOneByOneUnderCaps) {
  std::mt19937 random(7);
  int64_t found = 0, oneAtATime = 0;
  for (int round = 0; round < 12; ++round) {
    Problem problem = randomGraph(random, 3, 1 + round % 3);
    problem.microbatches = 24;
    for (Edge &edge : problem.edges)
      edge.bytes = 1 + round % 4;
    problem.link = {round % 3, round % 2 * 1000};
    const std::vector<int64_t> least = leastActivationBytes(problem);
    for (int32_t r = 0; r < problem.numRanks(); ++r)
      problem.memoryCaps[r] = least[r] + 4 * (1 + round % 3);
    SearchOptions options;
    options.effort = 1000;
    options.timeLimitMs = 0;
    const SearchResult result = search(problem, options);
    ASSERT_TRUE(result.schedule);
    Simulation simulation;
    EXPECT_FALSE(checkAndSimulate(problem, *result.schedule, simulation));
    EXPECT_LE(result.bound.ns, simulation.makespanNs);
    const int64_t slow = simulate(problem, oneByOne(problem)).makespanNs;
    EXPECT_LE(simulation.makespanNs, slow);
    found += simulation.makespanNs;
    oneAtATime += slow;
  }
  EXPECT_LT(4 * found, 3 * oneAtATime);
}

} // namespace
