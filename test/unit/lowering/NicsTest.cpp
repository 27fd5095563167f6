//===- NicsTest.cpp - Programs whose messages share NICs ------------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "test/unit/lowering/Fixture.h"

#include "lowering/Communication.h"
#include "schedule/simulate/Simulator.h"

#include "gtest/gtest.h"

#include <random>

using namespace rondo;
using namespace rondo::test;

namespace {

/// Random NICs of two servers or of none.
void addNics(std::mt19937 &random, Problem &problem) {
  const int32_t count = 1 + int32_t(random() % 3);
  problem.nics = {};
  for (int32_t nic = 0; nic < count; ++nic) {
    problem.nics.bytesPerUs.push_back(100 + int64_t(random() % 400));
    problem.nics.servers.push_back(int32_t(random() % 3) - 1);
  }
  for (int32_t r = 0; r < problem.numRanks(); ++r)
    problem.nics.ofRank.push_back(int32_t(random() % (count + 1)) - 1);
}

// A program that sends as soon as its tasks end takes as long as its schedule,
// whichever NICs its messages share; one that meets its receives, no less.
TEST(Nics, ProgramsTakeAsLongAsTheirSchedules) {
  std::mt19937 random(6);
  int shared = 0;
  for (int round = 0; round < 300; ++round) {
    const int32_t ranks = 2 + int32_t(random() % 4);
    Problem problem = linearProblem(2 * ranks, 1 + int32_t(random() % 6),
                                    int64_t(random() % 300), 256, 300);
    layInChunks(problem, ranks, round % 2 == 0);
    const Schedule schedule = randomOrders(problem, random, /*hasSteps=*/false);
    const int64_t apartNs = simulate(problem, schedule).makespanNs;
    addNics(random, problem);
    ASSERT_FALSE(problem.check());
    const Simulation simulation = simulate(problem, schedule, true);
    ASSERT_TRUE(simulation.complete);
    shared += simulation.makespanNs > apartNs;
    problem.channels.protocol = Protocol::Eager;
    const Program program =
        insertCommunication(problem, schedule, simulation, {});
    ProgramSimulation run = simulateProgram(problem, program);
    ASSERT_TRUE(run.complete);
    EXPECT_EQ(run.makespanNs, simulation.makespanNs) << "round " << round;
    problem.channels.protocol = Protocol::Rendezvous;
    run = simulateProgram(problem, program);
    ASSERT_TRUE(run.complete);
    EXPECT_GE(run.makespanNs, apartNs) << "round " << round;
  }
  EXPECT_GT(shared, 100);
}

} // namespace
