//===- ProgramSimulatorTest.cpp - How programs run ------------------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "schedule/program/ProgramSimulator.h"
#include "ProgramExamples.h"
#include "schedule/rules/ProgramRules.h"

using namespace rondo;
using namespace rondo::test;

namespace {

using Times = std::vector<int64_t>;

Problem twoRanks() {
  Problem problem = linearProblem(2, 2, {3, 4, 2, 0, 0}, /*outputBytes=*/10);
  problem.link.latencyNs = 1;
  return problem;
}

Program oneFOneB(const Problem &problem) {
  return programOf({"0F0 >0F0 0F1 >0F1 <1I0 0B0 <1I1 0B1 A0 E0 S0",
                    "<0F0 1F0 <0F1 1B0 >1I0 1F1 1B1 >1I1 A0 E0 S1"},
                   problem);
}

TEST(ProgramSimulator, RendezvousWaitsForBothEnds) {
  Problem problem = twoRanks();
  ProgramSimulation run = simulateProgram(problem, oneFOneB(problem));
  ASSERT_TRUE(run.complete);
  EXPECT_EQ(run.startNs, (Times{0, 3, 3, 6, 6,  14, 20, 23, 29, 29, 29, //
                                0, 4, 7, 7, 13, 13, 16, 22, 22, 22, 29}));
  EXPECT_EQ(run.endNs, (Times{3, 4, 6, 8,  14, 20, 23, 29, 29, 29, 29, //
                              4, 7, 8, 13, 14, 16, 22, 23, 29, 29, 29}));
  EXPECT_EQ(run.makespanNs, 29);
}

TEST(ProgramSimulator, WithoutTimesOfActions) {
  Problem problem = twoRanks();
  const Program program = oneFOneB(problem);
  for (Protocol protocol : {Protocol::Rendezvous, Protocol::Eager}) {
    problem.channels.protocol = protocol;
    const ProgramSimulation times = simulateProgram(problem, program),
                            run = simulateProgram(problem, program,
                                                  /*resident=*/0,
                                                  /*keepTimes=*/false);
    EXPECT_TRUE(run.complete);
    EXPECT_EQ(run.makespanNs, times.makespanNs);
    EXPECT_TRUE(run.startNs.empty() && run.endNs.empty());
  }
}

TEST(ProgramSimulator, EagerGoesBeforeTheReceive) {
  Problem problem = twoRanks();
  problem.channels.protocol = Protocol::Eager;
  Program program = oneFOneB(problem);
  ProgramSimulation run = simulateProgram(problem, program);
  ASSERT_TRUE(run.complete);
  EXPECT_EQ(run.endNs[3], 7);  // send 0F1, issued at 6
  EXPECT_EQ(run.endNs[13], 7); // its receive, posted at 7
  // With one slot it waits until 1F0 has consumed the first message at 7.
  problem.channels.receiveSlots = 1;
  run = simulateProgram(problem, program);
  ASSERT_TRUE(run.complete);
  EXPECT_EQ(run.endNs[3], 8);
  EXPECT_EQ(run.endNs[13], 8);
}

TEST(ProgramSimulator, LinkCarriesOneMessageAtATime) {
  Problem problem = twoRanks();
  problem.link.bytesPerUs = 1000; // 10 ns per message
  Program program = programOf({"0F0 >0F0 0F1 >0F1 <1I0 <1I1 0B0 0B1 A0 E0 S0",
                               "<0F0 <0F1 1F0 1F1 1B0 >1I0 1B1 >1I1 A0 E0 S1"},
                              problem);
  ProgramSimulation run = simulateProgram(problem, program);
  ASSERT_TRUE(run.complete);
  EXPECT_EQ(run.endNs[1], 14);
  EXPECT_EQ(run.endNs[3], 24);
  EXPECT_EQ(run.endNs[11], 14);
  EXPECT_EQ(run.endNs[12], 24);
  EXPECT_EQ(run.startNs[14], 24); // 1F1
}

TEST(ProgramSimulator, SlotOfASendIsFreeAtItsEnd) {
  Problem problem = twoRanks();
  problem.link.latencyNs = 50;
  Program program = oneFOneB(problem);
  EXPECT_EQ(simulateProgram(problem, program).startNs[2], 3);
  placeApart(program, problem);
  EXPECT_EQ(simulateProgram(problem, program).startNs[2], 3);
  // With one slot for both outputs, 0F1 waits until rank 1 has the first.
  program.place(0, BufferKind::Output).slotOf = {0};
  ProgramSimulation run = simulateProgram(problem, program);
  ASSERT_TRUE(run.complete);
  EXPECT_EQ(run.endNs[1], 53);
  EXPECT_EQ(run.startNs[2], 53);
  EXPECT_EQ(checkBuffers(problem, program), std::nullopt);
}

TEST(ProgramSimulator, ReceiveWaitsForTheSendThatReadsItsSlot) {
  // Stages 0 and 2 on rank 0; 0F0's output and 2F0's input share a slot.
  Problem problem = problemOn({0, 1, 0}, 2, 1);
  problem.link.latencyNs = 5;
  Program program =
      programOf({"0F0 >0F0 <1F0 2F0 2B0 >2I0 <1I0 0B0 A0 E0 S0 S2",
                 "<0F0 1F0 >1F0 <2I0 1B0 >1I0 A0 E0 S1"},
                problem);
  placeApart(program, problem);
  program.place(2, BufferKind::Input) = program.place(0, BufferKind::Output);
  EXPECT_EQ(checkBuffers(problem, program), std::nullopt);
  ProgramSimulation run = simulateProgram(problem, program);
  ASSERT_TRUE(run.complete);
  EXPECT_EQ(run.startNs[2], 6); // 1 + latency
}

TEST(ProgramSimulator, OneRankNeedsNoMessages) {
  Problem problem = problemOn({0, 0}, 1, 2);
  Program program =
      programOf({"0F0 1F0 1B0 0B0 0F1 1F1 1B1 0B1 A0 E0 S0 S1"}, problem);
  ProgramSimulation run = simulateProgram(problem, program);
  ASSERT_TRUE(run.complete);
  EXPECT_EQ(run.makespanNs, 12);
}

// One queue per rank.

TEST(ProgramSimulator, OneQueueHoldsBothRanksUntilTheArrival) {
  Problem problem = linearProblem(3, 2, {3, 3, 3});
  problem.link.latencyNs = 10;
  // Rank 1 posts the receive of 0F1 when it sends 1F0, at 16.
  Program program = programOf(
      {"0F0 >0F0 0F1 >0F1", "<0F0 1F0 >1F0 <0F1 1F1", "<1F0 2F0"}, problem);
  EXPECT_EQ(simulateProgram(problem, program).makespanNs, 29);
  problem.channels.queues = Queues::PerRank;
  EXPECT_EQ(simulateProgram(problem, program).makespanNs, 39);
  // An eager message cannot bypass a queue.
  problem.channels.protocol = Protocol::Eager;
  EXPECT_EQ(simulateProgram(problem, program).makespanNs, 39);
}

TEST(ProgramSimulator, OneQueueDeadlocksWhereBothRanksSendFirst) {
  Problem problem = linearProblem(2, 2, {3, 3, 3});
  // 0F1 goes to rank 1 while 1I0 goes to rank 0.
  Program program = programOf({"0F0 >0F0 0F1 >0F1 <1I0 0B0 <1I1 0B1",
                               "<0F0 1F0 1B0 >1I0 <0F1 1F1 1B1 >1I1"},
                              problem);
  EXPECT_TRUE(simulateProgram(problem, program).complete);
  problem.channels.queues = Queues::PerRank;
  ProgramSimulation run = simulateProgram(problem, program);
  EXPECT_FALSE(run.complete);
  ASSERT_EQ(run.cycle.size(), 2u);
  EXPECT_EQ(programActionName(run.cycle[0].at, problem), "send 0F1 to rank 1");
  EXPECT_EQ(programActionName(run.cycle[0].needs, problem),
            "recv 0F1 from rank 0");
  EXPECT_EQ(programActionName(run.cycle[1].at, problem), "send 1I0 to rank 0");
  EXPECT_EQ(run.cycle[1].onRank, 0);
}

} // namespace
