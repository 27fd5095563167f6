//===- ReplicaTest.cpp - Programs of stages with several replicas ---------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "test/unit/lowering/Fixture.h"

#include "lowering/Communication.h"
#include "lowering/MemoryPlan.h"
#include "schedule/families/Family.h"
#include "schedule/model/BufferNumbers.h"

#include "schedule/rules/ProgramRules.h"
#include "gtest/gtest.h"

#include <random>

using namespace rondo;
using namespace rondo::test;

namespace {

constexpr int64_t sampleBytes = 64;

/// Groups of one to three ranks with a stage each, and skip edges; shares are
/// unequal where they can be, or whole micro-batches are assigned.
Problem drawProblem(std::mt19937 &random) {
  auto upTo = [&](int64_t n) {
    return std::uniform_int_distribution<int64_t>(0, n)(random);
  };
  Problem problem;
  problem.microbatches = static_cast<int32_t>(3 + upTo(5));
  problem.samples = 6;
  problem.link = {upTo(300), upTo(1) * 700};
  if (upTo(1))
    problem.channels.protocol = Protocol::Eager;
  const int32_t stages = static_cast<int32_t>(1 + upTo(3));
  int32_t ranks = 0;
  std::vector<std::vector<int32_t>> inputs(stages);
  for (int32_t s = 0; s < stages; ++s) {
    const int32_t replicas = static_cast<int32_t>(1 + upTo(2));
    std::vector<Share> shares;
    for (int32_t h = 0; h < replicas; ++h)
      shares.push_back({ranks++, h + 1 < replicas ? 1 + int32_t(upTo(1)) : 0});
    int32_t left = problem.samples;
    for (const Share &share : shares)
      left -= share.samples;
    shares.back().samples = left;
    if (replicas > 1 && upTo(1)) {
      std::vector<int32_t> roundRobin;
      for (const Share &share : shares)
        roundRobin.push_back(share.rank);
      problem.replicas.addRoundRobinStage(roundRobin, problem.samples);
    } else {
      problem.replicas.addStage(shares);
    }
    for (int32_t before = 0; before < s; ++before)
      if (before + 1 == s || upTo(2) == 0)
        inputs[s].push_back(before);
  }
  problem.memoryCaps.assign(ranks, noMemoryCap);
  for (int32_t s = 0; s < stages; ++s)
    problem.setStageCost(s, 600 + upTo(600), 700, 500, 100, 50);
  problem.makeGraph(
      inputs, std::vector<int64_t>(stages, problem.samples * sampleBytes));
  return problem;
}

/// Bytes of every kind, in proportion to a replica's samples.
std::vector<ReplicaBuffers> buffersOf(const Problem &problem) {
  const EdgeTable edges(problem);
  std::vector<ReplicaBuffers> result(problem.numReplicas());
  for (int32_t h = 0; h < problem.numReplicas(); ++h) {
    auto set = [&](BufferKind kind, bool exists) {
      const int64_t bytes = problem.replicas[h].samples * sampleBytes;
      result[h][static_cast<int>(kind)] = exists ? bytes : 0;
    };
    const bool isFed = !edges.inputs(h, ActionKind::Forward).empty(),
               feeds = !edges.outputs(h, ActionKind::Forward).empty();
    set(BufferKind::Weights, true);
    set(BufferKind::Gradients, true);
    set(BufferKind::Workspace, true);
    set(BufferKind::SavedForInputGrad, true);
    set(BufferKind::SavedForWeightGrad, true);
    set(BufferKind::Input, isFed);
    set(BufferKind::InputGrad, isFed);
    set(BufferKind::Output, feeds);
    set(BufferKind::OutputGrad, feeds);
  }
  return result;
}

TEST(Replica, ProgramsOfRandomProblemsKeepAllRules) {
  std::mt19937 random(3);
  int parts = 0, programs = 0, roundRobin = 0;
  for (int i = 0; i < 150; ++i) {
    const Problem problem = drawProblem(random);
    ASSERT_FALSE(problem.check()) << describe(*problem.check());
    for (const char *family : {"gpipe", "1f1b", "zb-h1", "zb-h2"}) {
      FamilyResult result = generate(*parseFamily(family), problem);
      ASSERT_TRUE(result) << family;
      const Schedule &schedule = *result;
      Program program = insertCommunication(
          problem, schedule, simulate(problem, schedule, true), {});
      auto fault = planMemory(
          {problem, problem.replicas, problem.numRanks(), buffersOf(problem)},
          program);
      ASSERT_FALSE(fault) << describe(*fault, problem);
      ASSERT_EQ(broken(problem, schedule, program, problem.memoryCaps), "")
          << family;
      EXPECT_TRUE(simulateProgram(problem, program).complete);
      ++programs;
    }
    roundRobin += problem.replicas.areRoundRobin();
    if (!problem.edges.empty())
      parts += static_cast<int>(problem.edges.size()) -
               problem.edges.back().stageEdge - 1;
  }
  EXPECT_EQ(programs, 600);
  EXPECT_GT(parts, 100);
  EXPECT_GT(roundRobin, 50);
}

TEST(Replica, PartsShareABuffer) {
  // A replica of 6 samples feeds replicas of 4 and 2, which feed one of 6.
  Problem problem;
  problem.microbatches = 2;
  problem.samples = 6;
  problem.memoryCaps.assign(4, noMemoryCap);
  problem.replicas.addStage(0, 6);
  problem.replicas.addStage({{1, 4}, {2, 2}});
  problem.replicas.addStage(3, 6);
  for (int32_t s = 0; s < 3; ++s)
    problem.setStageCost(s, 10, 10, 10, 0, 0);
  problem.makeChain({6 * sampleBytes, 6 * sampleBytes, 0});
  const BufferNumbers buffers(problem);
  // Edges: 0>1, 0>2, 1>3, 2>3, then the gradients 1>0, 2>0, 3>1, 3>2.
  ASSERT_EQ(problem.edges.size(), 8u);
  EXPECT_EQ(buffers.sent(0), buffers.sent(1));
  EXPECT_NE(buffers.received(0), buffers.received(1));
  EXPECT_EQ(buffers.received(2), buffers.received(3));
  EXPECT_EQ(buffers.received(4), buffers.received(5));
  EXPECT_EQ(buffers.sent(6), buffers.sent(7));
  EXPECT_EQ(buffers.count(), 4 * numBufferKinds);
}

/// Two replicas of one sample each feed a replica of two.
Problem twoReplicasAndOne() {
  Problem problem;
  problem.microbatches = 1;
  problem.samples = 2;
  problem.memoryCaps.assign(3, noMemoryCap);
  problem.replicas.addStage({{0, 1}, {1, 1}});
  problem.replicas.addStage(2, 2);
  for (int32_t s = 0; s < 2; ++s)
    problem.setStageCost(s, 10, 10, 10, 0, 0);
  problem.makeChain({2 * sampleBytes, 0});
  return problem;
}

// A task that reads two parts does not find what only one of them has filled.
TEST(Replica, APartThatIsNotReceivedIsMissed) {
  const Problem problem = twoReplicasAndOne();
  const Schedule schedule = familySchedule("gpipe", problem);
  Program program = insertCommunication(problem, schedule,
                                        simulate(problem, schedule, true), {});
  ASSERT_FALSE(
      planMemory({problem, problem.replicas, 3, buffersOf(problem)}, program));
  ASSERT_EQ(checkBuffers(problem, program), std::nullopt);
  std::vector<std::vector<Action>> orders;
  for (int32_t rank = 0; rank < 3; ++rank)
    orders.emplace_back(program.order.rank(rank).begin(),
                        program.order.rank(rank).end());
  ASSERT_EQ(orders[2][1].kind(), ActionKind::Recv);
  orders[2].erase(orders[2].begin() + 1);
  program.order = Schedule(orders);
  auto fault = checkBuffers(problem, program);
  ASSERT_TRUE(fault);
  EXPECT_EQ(fault->kind, FaultKind::ReadsOtherBuffer);
  EXPECT_EQ(fault->rank, 2);
}

TEST(Replica, FaultsOfBuffersNameTheStage) {
  const Problem problem = twoReplicasAndOne();
  const Schedule schedule = familySchedule("gpipe", problem);
  Program program = insertCommunication(problem, schedule,
                                        simulate(problem, schedule, true), {});
  std::vector<ReplicaBuffers> buffers = buffersOf(problem);
  buffers[2][static_cast<int>(BufferKind::Weights)] = -8;
  auto fault = planMemory({problem, problem.replicas, 3, buffers}, program);
  ASSERT_TRUE(fault);
  EXPECT_EQ(describe(*fault, problem)
                .find("stage 1 asks for -8 bytes of "
                      "weights"),
            0u);
}

TEST(Replica, ASlotHoldsPartsOfOneMicrobatch) {
  std::mt19937 random(11);
  for (int i = 0; i < 400; ++i) {
    const Problem problem = drawProblem(random);
    if (!problem.replicas.isReplicated() || problem.numStages() < 2 ||
        problem.replicas[0].numTaken(problem.microbatches) < 2)
      continue;
    const Schedule schedule = familySchedule("gpipe", problem);
    Program program = insertCommunication(
        problem, schedule, simulate(problem, schedule, true), {});
    ASSERT_FALSE(planMemory(
        {problem, problem.replicas, problem.numRanks(), buffersOf(problem)},
        program));
    // All micro-batches' outputs in the slot of the first.
    const BufferNumbers buffers(problem);
    program.places[buffers.sent(0)].slotOf = {0};
    EXPECT_EQ(checkBuffers(problem, program)->kind, FaultKind::TakesFromOwner);
    return;
  }
  FAIL() << "no problem drawn has several replicas";
}

} // namespace
