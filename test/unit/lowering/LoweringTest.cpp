//===- LoweringTest.cpp - Messages of programs ----------------------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "test/unit/lowering/Fixture.h"

#include "lowering/Communication.h"
#include "lowering/MemoryPlan.h"
#include "lowering/ReferenceOrders.h"

#include "schedule/rules/Legality.h"
#include "schedule/rules/ProgramRules.h"
#include "gtest/gtest.h"

#include <random>

using namespace rondo;
using namespace rondo::test;

namespace {

class LoweringOfFamilies : public testing::TestWithParam<const char *> {};

TEST_P(LoweringOfFamilies, IsLegalAndAsFastAsFreeCommunication) {
  for (int32_t ranks : {1, 2, 4, 7})
    for (int32_t microbatches : {1, 3, 8, 33})
      for (int64_t latency : {0, 50, 900})
        for (int64_t bytesPerUs : {0, 700})
          for (Protocol protocol : {Protocol::Rendezvous, Protocol::Eager}) {
            Problem problem =
                linearProblem(ranks, microbatches, latency, 128, bytesPerUs);
            problem.channels.protocol = protocol;
            Schedule schedule = familySchedule(GetParam(), problem);
            Program program = lower(problem, schedule);
            ASSERT_EQ(broken(problem, schedule, program, problem.memoryCaps),
                      "");
            ProgramSimulation lowered = simulateProgram(problem, program);
            ASSERT_TRUE(lowered.complete);
            int64_t free = simulate(problem, schedule).makespanNs;
            EXPECT_LE(lowered.makespanNs, free + free / 100)
                << ranks << " ranks, " << microbatches << " micro-batches, "
                << latency << " ns, " << bytesPerUs << " bytes/us";
          }
}

INSTANTIATE_TEST_SUITE_P(Families, LoweringOfFamilies,
                         testing::Values("gpipe", "1f1b", "kfkb:k=2",
                                         "kfkb:k=3", "zb-h1", "spp"),
                         [](const auto &info) {
                           std::string name = info.param;
                           for (char &c : name)
                             c = std::isalnum(c) ? c : '_';
                           return name;
                         });

/// F = I = W = 1 per rank and a latency of 0.1, in units of 4000 ns; a chunk
/// takes 1/v.
struct Placed {
  const char *family;
  int32_t chunks;
  bool isWave;
};

class LoweringOfPlacements : public testing::TestWithParam<Placed> {};

TEST_P(LoweringOfPlacements, IsLegalAndAsFastAsFreeCommunication) {
  const Placed &placed = GetParam();
  for (int32_t ranks : {4, 8})
    for (Protocol protocol : {Protocol::Rendezvous, Protocol::Eager}) {
      Problem problem =
          linearProblem(ranks * placed.chunks, 2 * ranks, 400, 128, 0);
      layInChunks(problem, ranks, placed.isWave);
      problem.channels.protocol = protocol;
      const int64_t ns = 4000 / placed.chunks;
      for (int32_t s = 0; s < problem.numStages(); ++s)
        problem.setStageCost(s, ns, ns, ns, 100, 0);
      Schedule schedule = familySchedule(placed.family, problem);
      Program program = lower(problem, schedule);
      ASSERT_EQ(broken(problem, schedule, program, problem.memoryCaps), "");
      ProgramSimulation lowered = simulateProgram(problem, program);
      ASSERT_TRUE(lowered.complete);
      int64_t free = simulate(problem, schedule).makespanNs;
      EXPECT_LE(lowered.makespanNs, free + free / 100) << ranks << " ranks";
    }
}

INSTANTIATE_TEST_SUITE_P(
    Families, LoweringOfPlacements,
    testing::Values(Placed{"eager-1f1b", 1, false}, Placed{"zb-h2", 1, false},
                    Placed{"interleaved-1f1b", 2, false},
                    Placed{"interleaved-1f1b", 4, false},
                    Placed{"interleaved-zb", 2, false},
                    Placed{"interleaved-zb", 4, false},
                    Placed{"looped-bfs", 2, false},
                    Placed{"blockwise", 1, false},
                    Placed{"blockwise", 2, false}, Placed{"zbv", 2, true},
                    Placed{"v-half", 2, true}, Placed{"v-min", 2, true},
                    Placed{"dualpipe-v", 2, true}, Placed{"wave", 2, true},
                    Placed{"wave", 4, true}),
    [](const auto &info) {
      std::string name = info.param.family;
      for (char &c : name)
        c = std::isalnum(c) ? c : '_';
      return "f_" + name + "_" + std::to_string(info.param.chunks);
    });

TEST(Lowering, BoundedSlotsAreKept) {
  Problem problem = linearProblem(3, 12, 0, 128, 0);
  // Rank 0 is ahead, so there is always a message for rank 1.
  problem.setStageCost(0, 10, 1100, 800, 100, 0);
  for (int32_t slots : {1, 2}) {
    problem.channels.receiveSlots = slots;
    Schedule schedule = familySchedule("gpipe", problem);
    Program program = lower(problem, schedule);
    EXPECT_EQ(broken(problem, schedule, program, problem.memoryCaps), "");
    // A channel never has more receives posted and not consumed than slots.
    ActionRange actions = program.order.rank(1);
    int outstanding = 0, most = 0;
    for (Action a : actions) {
      bool receivesActivation =
          a.kind() == ActionKind::Recv &&
          problem.edges[a.subject].producer == ActionKind::Forward;
      if (receivesActivation)
        ++outstanding;
      most = std::max(most, outstanding);
      if (a.kind() == ActionKind::Forward)
        --outstanding;
    }
    EXPECT_EQ(most, slots);
  }
}

TEST(Lowering, LinkOrderDecidesSendsAndReceives) {
  Problem problem = linearProblem(2, 3, 0, 128, 1);
  Schedule schedule = familySchedule("gpipe", problem);
  schedule.linkOrders[{0, 1}] = {Action(ActionKind::Forward, 0, 1),
                                 Action(ActionKind::Forward, 0, 0),
                                 Action(ActionKind::Forward, 0, 2)};
  Program program = lower(problem, schedule);
  EXPECT_EQ(broken(problem, schedule, program, problem.memoryCaps), "");
  std::vector<int64_t> sent;
  for (Action a : program.order.rank(0))
    if (a.kind() == ActionKind::Send)
      sent.push_back(a.index);
  EXPECT_EQ(sent, (std::vector<int64_t>{1, 0, 2}));
}

TEST(Lowering, EvaluationRunsForwardOnly) {
  Problem problem = linearProblem(4, 6, 100, 128, 0);
  Schedule schedule = evaluationSchedule(problem);
  Simulation simulation = simulate(problem, schedule, true);
  ASSERT_TRUE(simulation.complete);
  Program program = insertCommunication(problem, schedule, simulation, {});
  ASSERT_EQ(planMemory({problem, problem.replicas, 4, replicaBuffers(problem)},
                       program),
            std::nullopt);
  EXPECT_EQ(checkChannels(problem, program), std::nullopt);
  EXPECT_EQ(checkWaitCycle(problem, program), std::nullopt);
  EXPECT_EQ(checkBuffers(problem, program), std::nullopt);
}

/// Tasks in an order that is random but valid within each rank, of a chain
/// whose stages are on random ranks.
TEST(Lowering, RandomOrdersAreLegal) {
  std::mt19937 random(7);
  auto upTo = [&](int64_t n) {
    return std::uniform_int_distribution<int64_t>(0, n)(random);
  };
  int lowered = 0;
  for (int round = 0; round < 400; ++round) {
    Problem problem =
        linearProblem(2 + upTo(3), 1 + upTo(6), upTo(400), 128, upTo(1) * 500);
    int32_t ranks = 1 + upTo(problem.numStages() - 1);
    problem.memoryCaps.assign(ranks, noMemoryCap);
    for (int32_t replica = 0; replica < problem.replicas.size(); ++replica)
      problem.replicas.moveTo(replica, int32_t(upTo(ranks - 1)));
    problem.channels.receiveSlots = upTo(2);
    problem.channels.protocol =
        upTo(1) ? Protocol::Eager : Protocol::Rendezvous;
    const Schedule schedule = randomOrders(problem, random, /*hasSteps=*/false);
    ASSERT_EQ(checkSchedule(problem, schedule), std::nullopt);
    Program program = lower(problem, schedule);
    std::string wrong = broken(problem, schedule, program, problem.memoryCaps);
    // Orders with too few slots are detected, and no others.
    if (problem.channels.receiveSlots == 0) {
      ASSERT_EQ(wrong, "") << "round " << round;
      int64_t free = simulate(problem, schedule).makespanNs;
      EXPECT_LE(simulateProgram(problem, program).makespanNs, free + free / 100)
          << "round " << round;
      ++lowered;
    } else if (!wrong.empty()) {
      ASSERT_NE(wrong.find("[L2]"), std::string::npos) << wrong;
    }
  }
  EXPECT_GT(lowered, 50);
}

} // namespace
