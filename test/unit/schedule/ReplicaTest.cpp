//===- ReplicaTest.cpp - Stages on several ranks --------------------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "RandomProblem.h"

#include "schedule/Bounds.h"
#include "schedule/Family.h"
#include "schedule/Legality.h"
#include "schedule/Search.h"
#include "schedule/Simulator.h"

#include <gtest/gtest.h>

using namespace rondo;
using namespace rondo::test;

namespace {

/// A chain of stages with these shares, each of 60, 80 and 40 ns for F, I and W
/// and 48 and 16 bytes of activations, and messages of 24 bytes.
Problem chainOn(int32_t ranks, int32_t samples,
                const std::vector<std::vector<Share>> &stages) {
  Problem problem;
  problem.microbatches = 4;
  problem.samples = samples;
  problem.memoryCaps.assign(ranks, noMemoryCap);
  for (const std::vector<Share> &shares : stages)
    problem.homes.addStage(shares);
  for (int32_t s = 0; s < problem.numStages(); ++s)
    problem.setStageCost(s, 60, 80, 40, 48, 16);
  problem.makeChain(std::vector<int64_t>(stages.size(), 24));
  return problem;
}

std::string fault(const Problem &problem) {
  auto found = problem.check();
  return found ? describe(*found) : "";
}

TEST(Replica, FaultsOfShares) {
  EXPECT_EQ(fault(chainOn(3, 4, {{{0, 4}}, {{1, 3}, {2, 1}}})), "");
  EXPECT_EQ(
      fault(chainOn(3, 4, {{{0, 4}}, {{1, 2}, {2, 1}}})),
      "the homes of stage 1 take 3 samples together; a micro-batch has 4");
  EXPECT_EQ(fault(chainOn(3, 4, {{{0, 4}}, {{1, 2}, {1, 2}}})),
            "stage 1 is on rank 1 twice; each of its homes needs a rank of its "
            "own");
  EXPECT_EQ(fault(chainOn(3, 4, {{{0, 4}}, {{1, 4}, {2, 0}}})),
            "stage 1 takes 0 samples on rank 2; a home takes at least 1");
  EXPECT_EQ(fault(chainOn(2, 4, {{{0, 4}}, {{0, 2}, {1, 2}}})),
            "stage 0 takes 4 samples on rank 0, stage 1 2 there, not the same "
            "ones: rank 0 would need a message to itself; give both the same "
            "share");
}

TEST(Replica, CostsAndMessagesFollowTheShares) {
  // 6 samples: 4 + 2 feed 3 + 3, so the first home of stage 0 has samples of
  // both homes of stage 1, and the second only of the last.
  Problem problem = chainOn(4, 6, {{{0, 4}, {1, 2}}, {{2, 3}, {3, 3}}});
  ASSERT_EQ(fault(problem), "");
  EXPECT_EQ(problem.cost(0, ActionKind::Forward).ns, 40);
  EXPECT_EQ(problem.cost(1, ActionKind::Forward).ns, 20);
  EXPECT_EQ(problem.cost(1, ActionKind::InputGrad).ns, 27); // 26.7
  EXPECT_EQ(problem.cost(2, ActionKind::Forward).acquireBytes, 24);
  std::vector<std::array<int64_t, 4>> edges;
  for (const Edge &edge : problem.edges)
    edges.push_back({edge.from, edge.to, edge.bytes, edge.stageEdge});
  const std::vector<std::array<int64_t, 4>> expected = {
      {0, 2, 12, 0}, {0, 3, 4, 0}, {1, 3, 8, 0},
      {2, 0, 12, 1}, {3, 0, 4, 1}, {3, 1, 8, 1}};
  EXPECT_EQ(edges, expected);
}

TEST(Replica, ARankWaitsForAllParts) {
  // One home of 4 samples feeds two of 2; then the way back.
  Problem problem = chainOn(3, 4, {{{0, 4}}, {{1, 2}, {2, 2}}});
  problem.microbatches = 1;
  problem.link.latencyNs = 5;
  Schedule schedule = scheduleOf({"0F0 0B0", "1F0 1B0", "2F0 2B0"});
  EXPECT_EQ(verdict(problem, schedule), "");
  Simulation simulation = simulate(problem, schedule, true);
  // 60, 5, 30 + 60 on each half, 5, 120.
  EXPECT_EQ(simulation.makespanNs, 280);
  EXPECT_EQ(simulation.startNs, (std::vector<int64_t>{0, 160, 65, 95, 65, 95}));
}

TEST(Replica, FamiliesWriteTheSameOrderForEveryHome) {
  Problem problem =
      chainOn(6, 8, {{{0, 6}, {1, 2}}, {{2, 8}}, {{3, 3}, {4, 3}, {5, 2}}});
  for (const FamilyChoice &choice : allFamilies()) {
    FamilyResult result = generate(choice, problem);
    if (auto *fault = std::get_if<Fault>(&result)) {
      // Only those that ask for chunks or an even number of micro-batches.
      EXPECT_NE(describe(*fault).find("needs"), std::string::npos)
          << describe(*fault);
      continue;
    }
    const Schedule &schedule = std::get<Schedule>(result);
    EXPECT_EQ(verdict(problem, schedule), "") << choice.text();
  }
  Schedule schedule = std::get<Schedule>(
      generate(std::get<FamilyChoice>(parseFamily("1f1b")), problem));
  EXPECT_EQ(textOf(schedule.rank(1)), "1F0 1F1 1F2 1B0 1F3 1B1 1B2 1B3");
  EXPECT_EQ(textOf(schedule.rank(5)), "5F0 5B0 5F1 5B1 5F2 5B2 5F3 5B3");
}

TEST(Replica, FamiliesNeedGroupsOfRanks) {
  Problem problem = chainOn(3, 4, {{{0, 2}, {1, 2}}, {{1, 2}, {2, 2}}});
  FamilyResult result =
      generate(std::get<FamilyChoice>(parseFamily("1f1b")), problem);
  ASSERT_TRUE(std::holds_alternative<Fault>(result));
  EXPECT_EQ(describe(std::get<Fault>(result)),
            "a family takes ranks with the same stages for one, but ranks 0 "
            "and 1, which both have stage 0, have other stages that differ; "
            "search, or a schedule by hand, orders them");
}

/// Each home as a stage of its own: the same tasks and messages.
Problem withAStagePerHome(const Problem &problem) {
  Problem same = problem;
  same.homes = Homes();
  for (const Home &home : problem.homes)
    same.homes.addStage(home.rank, problem.samples);
  return same;
}

TEST(Replica, SearchFindsAndProvesWhatItDoesForHomesAsStages) {
  Engine random(7);
  int proven = 0;
  for (int i = 0; i < 60; ++i) {
    const int32_t ranks = int32_t(pick(random, 2, 4));
    Problem problem;
    problem.microbatches = int32_t(pick(random, 1, 3));
    problem.samples = 4;
    problem.memoryCaps.assign(ranks, noMemoryCap);
    problem.link = {pick(random, 0, 5), pick(random, 0, 1) * 900};
    const int32_t stages = int32_t(pick(random, 1, 3));
    for (int32_t s = 0; s < stages; ++s) {
      // One home, or two neighbours that share alike: no message to itself.
      const int32_t rank = int32_t(pick(random, 0, ranks - 1));
      if (pick(random, 0, 1))
        problem.homes.addStage({{rank, 2}, {(rank + 1) % ranks, 2}});
      else
        problem.homes.addStage(rank, 4);
    }
    for (int32_t s = 0; s < stages; ++s)
      problem.setStageCost(s, pick(random, 1, 30), pick(random, 1, 30),
                           pick(random, 1, 30), 8, 4);
    problem.makeChain(std::vector<int64_t>(stages, pick(random, 0, 9)));
    if (problem.check())
      continue;
    const Problem same = withAStagePerHome(problem);
    ASSERT_EQ(fault(same), "");
    SearchOptions options;
    options.effort = 20000;
    const SearchResult one = search(problem, options),
                       other = search(same, options);
    ASSERT_TRUE(one.schedule && other.schedule);
    EXPECT_EQ(verdict(problem, *one.schedule), "");
    EXPECT_LE(one.bound.ns, one.simulation.makespanNs);
    if (!one.provenOptimal || !other.provenOptimal)
      continue;
    ++proven;
    EXPECT_EQ(one.simulation.makespanNs, other.simulation.makespanNs);
  }
  EXPECT_GT(proven, 20);
}

} // namespace
