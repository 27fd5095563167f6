//===- ReplicaTest.cpp - Stages on several ranks --------------------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "RandomProblem.h"

#include "schedule/bounds/Bounds.h"
#include "schedule/families/Family.h"
#include "schedule/rules/Legality.h"
#include "schedule/search/Search.h"
#include "schedule/simulate/Simulator.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <numeric>

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
    problem.replicas.addStage(shares);
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
      "the replicas of stage 1 take 3 samples together; a micro-batch has 4");
  EXPECT_EQ(
      fault(chainOn(3, 4, {{{0, 4}}, {{1, 2}, {1, 2}}})),
      "stage 1 is on rank 1 twice; each of its replicas needs a rank of its "
      "own");
  EXPECT_EQ(fault(chainOn(3, 4, {{{0, 4}}, {{1, 4}, {2, 0}}})),
            "stage 1 takes 0 samples on rank 2; a replica takes at least 1");
  EXPECT_EQ(fault(chainOn(2, 4, {{{0, 4}}, {{0, 2}, {1, 2}}})),
            "stage 0 takes 4 samples on rank 0, stage 1 2 there, not the same "
            "ones: rank 0 would need a message to itself; give both the same "
            "share");
}

TEST(Replica, CostsAndMessagesFollowTheShares) {
  // 6 samples: 4 + 2 feed 3 + 3, so the first replica of stage 0 has samples of
  // both replicas of stage 1, and the second only of the last.
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

TEST(Replica, WhatIKeepsFollowsTheShares) {
  Problem problem = chainOn(4, 6, {{{0, 4}, {1, 2}}, {{2, 3}, {3, 3}}});
  const Problem plain = problem;
  problem.keepForWeightGrad(0, 30);
  EXPECT_EQ(fault(problem), "");
  for (auto [replica, bytes] : {std::pair(0, 20), std::pair(1, 10)}) {
    EXPECT_EQ(problem.cost(replica, ActionKind::InputGrad).acquireBytes, bytes);
    EXPECT_EQ(problem.cost(replica, ActionKind::WeightGrad).releaseBytes,
              plain.cost(replica, ActionKind::WeightGrad).releaseBytes + bytes);
    EXPECT_EQ(problem.cost(replica, ActionKind::Backward).acquireBytes, bytes);
    EXPECT_EQ(problem.cost(replica, ActionKind::Backward).releaseBytes,
              plain.cost(replica, ActionKind::Backward).releaseBytes + bytes);
  }
  EXPECT_EQ(problem.cost(2, ActionKind::InputGrad).acquireBytes, 0);
}

TEST(Replica, ARankWaitsForAllParts) {
  // One replica of 4 samples feeds two of 2; then the way back.
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

TEST(Replica, FamiliesWriteTheSameOrderForEveryReplica) {
  Problem problem =
      chainOn(6, 8, {{{0, 6}, {1, 2}}, {{2, 8}}, {{3, 3}, {4, 3}, {5, 2}}});
  for (const FamilyChoice &choice : allFamilies()) {
    FamilyResult result = generate(choice, problem);
    if (!result) {
      // Only those that ask for chunks or an even number of micro-batches.
      EXPECT_NE(describe(result.fault()).find("needs"), std::string::npos)
          << describe(result.fault());
      continue;
    }
    const Schedule &schedule = *result;
    EXPECT_EQ(verdict(problem, schedule), "") << choice.text();
  }
  Schedule schedule = *generate(*parseFamily("1f1b"), problem);
  EXPECT_EQ(textOf(schedule.rank(1)), "1F0 1F1 1F2 1B0 1F3 1B1 1B2 1B3");
  EXPECT_EQ(textOf(schedule.rank(5)), "5F0 5B0 5F1 5B1 5F2 5B2 5F3 5B3");
}

TEST(Replica, FamiliesNeedGroupsOfRanks) {
  Problem problem = chainOn(3, 4, {{{0, 2}, {1, 2}}, {{1, 2}, {2, 2}}});
  FamilyResult result = generate(*parseFamily("1f1b"), problem);
  ASSERT_TRUE(!result);
  EXPECT_EQ(describe(result.fault()),
            "a family takes ranks with the same stages for one, but ranks 0 "
            "and 1, which both have stage 0, have other stages that differ; "
            "search, or a schedule by hand, orders them");
}

/// chainOn() with stages that assign micro-batches to these ranks; a stage on
/// one rank takes all.
Problem roundRobinOn(int32_t ranks, int32_t microbatches,
                     const std::vector<std::vector<int32_t>> &stages) {
  Problem problem = chainOn(ranks, 4, {});
  problem.microbatches = microbatches;
  for (const std::vector<int32_t> &list : stages) {
    if (list.size() == 1)
      problem.replicas.addStage(list.front(), 4);
    else
      problem.replicas.addRoundRobinStage(list, 4);
  }
  for (int32_t s = 0; s < problem.numStages(); ++s)
    problem.setStageCost(s, 60, 80, 40, 48, 16);
  problem.makeChain(std::vector<int64_t>(stages.size(), 24));
  return problem;
}

TEST(RoundRobin, ReplicasThatTakeTheSameMicrobatchesHaveEdges) {
  // 2 replicas feed 3: each pair has every sixth micro-batch in common. 2 feed
  // 4: the even ones, and the odd ones.
  const Problem three = roundRobinOn(5, 6, {{0, 1}, {2, 3, 4}});
  ASSERT_EQ(fault(three), "");
  EXPECT_EQ(three.edges.size(), 12u);
  const Problem four = roundRobinOn(6, 4, {{0, 1}, {2, 3, 4, 5}});
  std::vector<std::array<int64_t, 3>> edges;
  for (const Edge &edge : four.edges)
    edges.push_back({edge.from, edge.to, edge.bytes});
  const std::vector<std::array<int64_t, 3>> expected = {
      {0, 2, 24}, {0, 4, 24}, {1, 3, 24}, {1, 5, 24},
      {2, 0, 24}, {3, 1, 24}, {4, 0, 24}, {5, 1, 24}};
  EXPECT_EQ(edges, expected);
  EXPECT_TRUE(four.carries(four.edges[1], 2));
  EXPECT_FALSE(four.carries(four.edges[1], 0));
}

TEST(RoundRobin, Faults) {
  EXPECT_EQ(
      fault(roundRobinOn(3, 2, {{0, 1, 2}})),
      "stage 0 assigns micro-batches to 3 replicas, but an iteration has 2: "
      "each replica needs one at least; give the plan "
      "3 micro-batches or more, or the stage fewer ranks");
  EXPECT_EQ(fault(roundRobinOn(2, 4, {{0, 1}, {0}})),
            "on rank 0, stage 0 takes one in 2 micro-batches and stage 1 one "
            "in 1, not the same ones: rank 0 would need a message to itself; "
            "assign both to the same ranks in the same order");
  // The same ranks in another order: no micro-batch stays on its rank.
  EXPECT_EQ(fault(roundRobinOn(2, 4, {{0, 1}, {1, 0}})), "");
  const Problem problem = roundRobinOn(3, 2, {{0, 1}, {2}});
  EXPECT_EQ(
      verdict(problem, scheduleOf({"0F1 0B1", "1F0 1B0", "2F0 2F1 2B0 2B1"})),
      "0F1 at position 0 of rank 0 belongs on rank 1, to which stage 0 "
      "assigns micro-batch 1 [S1]");
  EXPECT_EQ(verdict(problem, scheduleOf({"0F0 0B0", "1F1", "2F0 2F1 2B0 2B1"})),
            "0B1, or 0I1 and 0W1, is missing on rank 1 [S1]");
  EXPECT_EQ(
      verdict(problem, scheduleOf({"0F0 0B0", "1F1 1B1", "2F0 2F1 2B0 2B1"})),
      "");
}

TEST(RoundRobin, PipelinesWithoutCommonReplicasEachRunTheFamily) {
  const Problem one = roundRobinOn(3, 6, {{0}, {1}, {2}});
  Problem two = roundRobinOn(6, 12, {{0, 1}, {2, 3}, {4, 5}});
  for (const FamilyChoice &choice : allFamilies()) {
    FamilyResult alone = generate(choice, one), both = generate(choice, two);
    ASSERT_EQ(bool(alone), bool(both)) << choice.text();
    if (!alone)
      continue;
    const Schedule &schedule = *both;
    EXPECT_EQ(verdict(two, schedule), "") << choice.text();
    EXPECT_EQ(simulate(two, schedule).makespanNs,
              simulate(one, *alone).makespanNs)
        << choice.text();
  }
}

TEST(RoundRobin, OneFOneBFillsBothReplicasInFrontOfOne) {
  // PipeDream gives each of two workers before one ceil(3 / 2) = 2
  // micro-batches before its first backward.
  const Problem problem = roundRobinOn(3, 7, {{0, 1}, {2}});
  const Schedule schedule = generateFamily("1f1b", problem);
  EXPECT_EQ(verdict(problem, schedule), "");
  EXPECT_EQ(textOf(schedule.rank(0)), "0F0 0F2 0B0 0F4 0B2 0F6 0B4 0B6");
  EXPECT_EQ(textOf(schedule.rank(1)), "1F1 1F3 1B1 1F5 1B3 1B5");
  EXPECT_EQ(textOf(schedule.rank(2)),
            "2F0 2B0 2F1 2B1 2F2 2B2 2F3 2B3 2F4 2B4 2F5 2B5 2F6 2B6");
}

/// Ranks at random, so that they mostly form no groups, and some caps.
Problem drawRoundRobin(Engine &random) {
  const int32_t ranks = int32_t(pick(random, 2, 5));
  std::vector<std::vector<int32_t>> stages(pick(random, 1, 3));
  for (std::vector<int32_t> &list : stages) {
    std::vector<int32_t> all(ranks);
    std::iota(all.begin(), all.end(), 0);
    std::shuffle(all.begin(), all.end(), random);
    list.assign(all.begin(), all.begin() + pick(random, 1, std::min(3, ranks)));
  }
  Problem problem = roundRobinOn(ranks, int32_t(pick(random, 3, 6)), stages);
  for (int32_t s = 0; s < problem.numStages(); ++s)
    problem.setStageCost(s, pick(random, 1, 30), pick(random, 1, 30),
                         pick(random, 1, 30), 8, 4);
  problem.link = {pick(random, 0, 5), pick(random, 0, 1) * 900};
  if (pick(random, 0, 1))
    problem.memoryCaps.assign(ranks, 8 * pick(random, 3, 6));
  return problem;
}

TEST(RoundRobin, SearchIsLegalAndNoBoundIsAboveIt) {
  Engine random(5);
  int searched = 0, proven = 0;
  for (int i = 0; i < 200; ++i) {
    const Problem problem = drawRoundRobin(random);
    if (!problem.replicas.areRoundRobin() || problem.check())
      continue;
    SearchOptions options;
    options.effort = 200;
    options.timeLimitMs = 0;
    const SearchResult result = search(problem, options);
    ASSERT_TRUE(result.schedule);
    EXPECT_EQ(verdict(problem, *result.schedule), "");
    EXPECT_LE(result.bound.ns, result.simulation.makespanNs);
    for (const FamilyChoice &choice : allFamilies()) {
      const FamilyResult schedule = generate(choice, problem);
      if (!schedule || !verdict(problem, *schedule).empty())
        continue;
      EXPECT_LE(result.simulation.makespanNs,
                simulate(problem, *schedule).makespanNs);
    }
    ++searched;
    proven += result.provenOptimal;
  }
  EXPECT_GT(searched, 50);
  EXPECT_GT(proven, 10);
}

/// Each replica as a stage of its own: the same tasks and messages.
Problem withAStagePerReplica(const Problem &problem) {
  Problem same = problem;
  same.replicas = Replicas();
  for (const Replica &replica : problem.replicas)
    same.replicas.addStage(replica.rank, problem.samples);
  return same;
}

TEST(Replica, SearchFindsAndProvesWhatItDoesForReplicasAsStages) {
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
      // One replica, or two neighbours that share alike: no message to itself.
      const int32_t rank = int32_t(pick(random, 0, ranks - 1));
      if (pick(random, 0, 1))
        problem.replicas.addStage({{rank, 2}, {(rank + 1) % ranks, 2}});
      else
        problem.replicas.addStage(rank, 4);
    }
    for (int32_t s = 0; s < stages; ++s)
      problem.setStageCost(s, pick(random, 1, 30), pick(random, 1, 30),
                           pick(random, 1, 30), 8, 4);
    problem.makeChain(std::vector<int64_t>(stages, pick(random, 0, 9)));
    if (problem.check())
      continue;
    const Problem same = withAStagePerReplica(problem);
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
