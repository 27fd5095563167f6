//===- ProgramCollectivesTest.cpp - Collectives and steps -----------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Times are closed forms of the durations.
//
//===----------------------------------------------------------------------===//

#include "ProgramExamples.h"
#include "schedule/program/ProgramSimulator.h"
#include "schedule/rules/ProgramRules.h"

using namespace rondo;
using namespace rondo::test;

namespace {

Collective tied(std::vector<int32_t> stages, int64_t ns) {
  return {CollectiveKind::TiedGradients, "w", std::move(stages), ns};
}

int64_t makespan(const Problem &problem, const Program &program) {
  ProgramSimulation run = simulateProgram(problem, program);
  EXPECT_TRUE(run.complete);
  return run.makespanNs;
}

// F, I and W take 3, 4 and 2; one micro-batch takes 18 down and up.
Problem twoRanks() { return linearProblem(2, 1, {3, 4, 2}); }

TEST(ProgramCollectives, StepsAndCollectivesTakeTheirTime) {
  Problem problem = twoRanks();
  Program program = programOf(
      {"0F0 >0F0 <1I0 0B0 A0 E0 S0", "<0F0 1F0 1B0 >1I0 A0 E0 S1"}, problem);
  EXPECT_EQ(makespan(problem, program), 18);
  program.collectives[0].ns = 100;
  EXPECT_EQ(makespan(problem, program), 18 + 100);
  problem.cost(0, ActionKind::Step).ns = 10;
  problem.cost(1, ActionKind::Step).ns = 40;
  EXPECT_EQ(makespan(problem, program), 18 + 100 + 40);
  ProgramSimulation run = simulateProgram(problem, program);
  // On rank 1, which arrives 6 before rank 0.
  EXPECT_EQ(run.startNs[11], 12); // A0
  EXPECT_EQ(run.endNs[11], 118);
  EXPECT_EQ(run.startNs[12], 12); // E0
  EXPECT_EQ(run.endNs[12], 118);
  EXPECT_EQ(run.startNs[13], 118); // S1
  EXPECT_EQ(run.endNs[13], 158);
}

TEST(ProgramCollectives, ALaneRunsBesideTheTasks) {
  Problem problem = problemOn({0, 0}, 1, 1, {3, 4, 2});
  Program program = programOf({"0F0 1F0 1B0 A0 0B0 E0 S1 S0"}, problem);
  // 0B takes 6, starting at 12; the collective of stage 1 takes `ns`.
  for (int64_t ns : {0, 5, 6, 7, 50}) {
    program.collectives = {tied({1}, ns)};
    EXPECT_EQ(makespan(problem, program), 12 + std::max<int64_t>(6, ns));
  }
  // A step before 0B delays it.
  program = programOf({"0F0 1F0 1B0 S1 0B0 S0"}, problem);
  program.collectives.clear();
  problem.cost(1, ActionKind::Step).ns = 9;
  EXPECT_EQ(makespan(problem, program), 12 + 9 + 6);
}

TEST(ProgramCollectives, ARankRunsOneAfterTheOther) {
  Problem problem = twoRanks();
  Program program = programOf(
      {"0F0 >0F0 <1I0 0B0 A0 A1 E1 E0 S0", "<0F0 1F0 1B0 >1I0 A0 A1 E0 E1 S1"},
      problem);
  program.collectives = {tied({0, 1}, 30), tied({0, 1}, 7)};
  ProgramSimulation run = simulateProgram(problem, program);
  ASSERT_TRUE(run.complete);
  EXPECT_EQ(run.endNs[4], 18 + 30);
  EXPECT_EQ(run.endNs[5], 18 + 30 + 7);
  EXPECT_EQ(run.makespanNs, 18 + 30 + 7);
  // Nor does the order of awaits matter.
  EXPECT_EQ(checkWaitCycle(problem, program), std::nullopt);
  // One rank's second collective waits for its first, on a third rank's lane.
  Problem three = problemOn({0, 1, 2}, 3, 1, {3, 4, 2});
  Program chain = programOf({"0F0 >0F0 <1I0 0B0 A0 E0",
                             "<0F0 1F0 >1F0 <2I0 1B0 >1I0 A0 A1 E0 E1",
                             "<1F0 2F0 2B0 >2I0 A1 E1"},
                            three);
  chain.collectives = {tied({0, 1}, 30), tied({1, 2}, 7)};
  EXPECT_EQ(makespan(three, chain), 27 + 30 + 7);
}

TEST(ProgramCollectives, OrdersThatDisagreeAreACircle) {
  Problem problem = twoRanks();
  Program program = programOf(
      {"0F0 >0F0 <1I0 0B0 A0 A1 E0 E1", "<0F0 1F0 1B0 >1I0 A1 A0 E1 E0"},
      problem);
  program.collectives = {tied({0, 1}, 0), tied({0, 1}, 0)};
  auto fault = checkWaitCycle(problem, program);
  ASSERT_TRUE(fault);
  EXPECT_EQ(describe(*fault, problem),
            "on rank 0, await 0 waits for all_reduce 1 on rank 1 -> on rank 1, "
            "await 1 waits for all_reduce 0 on rank 0 [L2]");
  EXPECT_FALSE(simulateProgram(problem, program).complete);
}

// Rank 0 awaits after a receive that rank 1 sends after its own await.
TEST(ProgramCollectives, ACollectiveNeedsNoAwaitToBegin) {
  Problem problem = twoRanks();
  Program program = programOf(
      {"0F0 >0F0 A0 <1I0 0B0 E0", "<0F0 1F0 1B0 A0 E0 >1I0"}, problem);
  program.collectives = {tied({0, 1}, 5)};
  EXPECT_EQ(checkWaitCycle(problem, program), std::nullopt);
  // Rank 1 issues it at 12; 0B takes 6 after its end.
  EXPECT_EQ(makespan(problem, program), 12 + 5 + 6);
}

TEST(ProgramCollectives, ACircleOfACollectiveAndAMessage) {
  Problem problem = twoRanks();
  Program program = programOf(
      {"0F0 >0F0 <1I0 0B0 A0 E0", "<0F0 1F0 1B0 A0 E0 >1I0"}, problem);
  program.collectives = {tied({0, 1}, 1)};
  auto fault = checkWaitCycle(problem, program);
  ASSERT_TRUE(fault);
  EXPECT_EQ(describe(*fault, problem),
            "rank 0 waits for rank 1 to send 1I0, at 0B0 -> rank 1 waits for "
            "rank 0 to issue all_reduce 0, at await 0 [L2]");
}

// Rank 2 awaits a collective that follows another on rank 1, whose host is at a
// message of rank 2.
TEST(ProgramCollectives, ACircleThroughALane) {
  Problem problem = problemOn({0, 1, 2}, 3, 1, {3, 4, 2});
  const std::string first = "0F0 >0F0 <1I0 0B0 A0 E0",
                    last = "<1F0 2F0 2B0 A1 E1 >2I0";
  Program program = programOf(
      {first, "<0F0 1F0 >1F0 A0 A1 <2I0 1B0 >1I0 E0 E1", last}, problem);
  program.collectives = {tied({0, 1}, 1), tied({1, 2}, 1)};
  auto fault = checkWaitCycle(problem, program);
  ASSERT_TRUE(fault);
  EXPECT_EQ(describe(*fault, problem),
            "rank 0 waits for rank 1 to send 1I0, at 0B0 -> rank 1 waits for "
            "rank 2 to send 2I0, at 1B0 -> on rank 2, await 1 waits for "
            "all_reduce 0 on rank 1 -> rank 1 waits for rank 0 to issue "
            "all_reduce 0, at all_reduce 0 [L2]");
  // In the other order nothing waits for it.
  program = programOf({first, "<0F0 1F0 >1F0 A1 A0 <2I0 1B0 >1I0 E0 E1", last},
                      problem);
  program.collectives = {tied({0, 1}, 1), tied({1, 2}, 1)};
  EXPECT_EQ(checkWaitCycle(problem, program), std::nullopt);
}

TEST(ProgramCollectives, AnAbsentRankIsNamed) {
  Problem problem = twoRanks();
  Program program =
      programOf({"0F0 >0F0 <1I0 0B0 A0 E0", "<0F0 1F0 1B0 >1I0"}, problem);
  auto fault = checkWaitCycle(problem, program);
  ASSERT_TRUE(fault);
  EXPECT_EQ(describe(*fault, problem),
            "rank 0 waits for rank 1 to issue all_reduce "
            "0, at await 0 [L2]");
  // It has issued one, but rank 0 waits for a second.
  program = programOf({"0F0 >0F0 <1I0 0B0 A0 A0 E0", "<0F0 1F0 1B0 >1I0 A0 E0"},
                      problem);
  program.collectives = {tied({0, 1}, 1)};
  fault = checkWaitCycle(problem, program);
  ASSERT_TRUE(fault);
  EXPECT_EQ(
      describe(*fault, problem),
      "rank 0 waits for rank 1 to issue all_reduce 0, at all_reduce 0 [L2]");
  program = programOf({"0F0 >0F0 <1I0 0B0 E0", "<0F0 1F0 1B0 >1I0"}, problem);
  fault = checkWaitCycle(problem, program);
  ASSERT_TRUE(fault);
  EXPECT_EQ(describe(*fault, problem),
            "rank 0 waits for itself to issue all_reduce 0, at await 0, which "
            "comes before it [L2]");
}

} // namespace
