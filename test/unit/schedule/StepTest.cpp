//===- StepTest.cpp - Steps that have places of their own -----------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "ProgramExamples.h"
#include "schedule/rules/ProgramRules.h"

using namespace rondo;
using namespace rondo::test;

namespace {

// Stages 0 and 2 on rank 0, stage 1 on rank 1.
Problem looped(int32_t microbatches = 1) {
  return problemOn({0, 1, 0}, 2, microbatches);
}

/// Result of checkSchedule() for orders of looped().
std::string said(const std::string &rank0, const std::string &rank1) {
  return verdict(looped(), scheduleOf({rank0, rank1}));
}

TEST(Steps, StandAnywhereBehindTheirGradients) {
  EXPECT_EQ(said("0F0 2F0 2B0 2STEP0 0B0 0STEP0", "1F0 1B0 1STEP0"), "");
  EXPECT_EQ(said("0F0 2F0 2I0 0B0 0STEP0 2W0 2STEP0", "1F0 1B0 1STEP0"), "");
}

TEST(Steps, EveryStageHasOneOrNone) {
  EXPECT_EQ(said("0F0 2F0 2B0 2STEP0 0B0 0STEP0", "1F0 1B0"),
            "step of stage 1 is missing on rank 1, but step of stage 2 is at "
            "position 3 of rank 0; either every stage has a step or none [S1]");
  EXPECT_EQ(said("0F0 2F0 2B0 2STEP0 0B0 0STEP0 2STEP0", "1F0 1B0 1STEP0"),
            "step of stage 2 appears twice: at position 3 of rank 0 and at "
            "position 6 of "
            "rank 0 [S1]");
  EXPECT_EQ(
      said("0F0 2F0 2B0 2STEP1 0B0 0STEP0", "1F0 1B0 1STEP0"),
      "step 1 of stage 2 at position 3 of rank 0 does not exist: the "
      "problem has stages 0 to 2, each with 1 step, numbered from 0 [S1]");
  EXPECT_EQ(
      said("0F0 2F0 2B0 3STEP0 0B0 0STEP0", "1F0 1B0 1STEP0"),
      "step 0 of stage 3 at position 3 of rank 0 does not exist: the "
      "problem has stages 0 to 2, each with 1 step, numbered from 0 [S1]");
}

TEST(Steps, AreOnTheRankOfTheirStage) {
  EXPECT_EQ(said("0F0 2F0 2B0 2STEP0 0B0 0STEP0 1STEP0", "1F0 1B0"),
            "step of stage 1 is on rank 0, but stage 1 is on rank 1 [S2]");
}

TEST(Steps, NeedTheLastGradient) {
  EXPECT_EQ(said("0F0 2F0 2I0 2STEP0 2W0 0B0 0STEP0", "1F0 1B0 1STEP0"),
            "step of stage 2 at position 3 of rank 0 comes before 2W0 at "
            "position 4, "
            "which it needs [S3]");
  const Schedule schedule =
      scheduleOf({"0F0 0F1 2F0 2F1 2B1 2STEP0 2B0 0B0 0B1 0STEP0",
                  "1F0 1F1 1B1 1B0 1STEP0"});
  EXPECT_EQ(verdict(looped(2), schedule),
            "step of stage 2 at position 5 of rank 0 comes before 2B0 at "
            "position 6, "
            "which it needs [S3]");
  const Simulation run = simulate(looped(2), schedule);
  EXPECT_FALSE(run.complete);
  EXPECT_EQ(describeCycle(run.cycle),
            "rank 0 waits for 2W0 of rank 0 at step 2");
}

TEST(Steps, TakeTheirTimeOnTheComputeLane) {
  Problem problem = looped();
  problem.cost(2, ActionKind::Step).ns = 10;
  problem.cost(1, ActionKind::Step).ns = 100;
  Simulation run = simulate(
      problem, scheduleOf({"0F0 2F0 2B0 2STEP0 0B0 0STEP0", "1F0 1B0 1STEP0"}),
      /*keepTimes=*/true);
  ASSERT_TRUE(run.complete);
  // F and I of each stage take 1, B takes 2.
  EXPECT_EQ(run.startNs[3], 5); // 2STEP0
  EXPECT_EQ(run.endNs[3], 15);
  EXPECT_EQ(run.startNs[4], 15); // 0B0
  EXPECT_EQ(run.endNs[4], 17);
  EXPECT_EQ(run.startNs[8], 7); // 1STEP0
  EXPECT_EQ(run.makespanNs, 107);
  EXPECT_EQ(run.rankWorkNs, (std::vector<int64_t>{16, 103}));
}

//===----------------------------------------------------------------------===//
// With collectives
//===----------------------------------------------------------------------===//

const Collective norm{CollectiveKind::GradientNorm, "", {0, 1, 2}};
const Collective tied{CollectiveKind::TiedGradients, "w", {0, 2}};

std::string saidWith(const std::vector<Collective> &collectives,
                     const std::string &rank0, const std::string &rank1) {
  const Problem problem = looped();
  const Schedule schedule = scheduleOf({rank0, rank1});
  EXPECT_EQ(verdict(problem, schedule), "");
  auto fault = checkSteps(problem, schedule, collectives);
  return fault ? describe(*fault, problem) : "";
}

TEST(Steps, WaitForTheGradientsThatCollectivesRead) {
  EXPECT_EQ(saidWith({norm}, "0F0 2F0 2B0 0B0 2STEP0 0STEP0", "1F0 1B0 1STEP0"),
            "");
  EXPECT_EQ(saidWith({norm}, "0F0 2F0 2B0 2STEP0 0B0 0STEP0", "1F0 1B0 1STEP0"),
            "step of stage 2 at position 3 of rank 0 comes before 0B0 at "
            "position 4, "
            "and waits for the gradient_norm, which reads its gradient [S3]");
  EXPECT_EQ(saidWith({tied}, "0F0 2F0 2B0 2STEP0 0B0 0STEP0", "1F0 1B0 1STEP0"),
            "step of stage 2 at position 3 of rank 0 comes before 0B0 at "
            "position 4, "
            "and waits for the tied_gradients, which reads its gradient [S3]");
  EXPECT_EQ(saidWith({}, "0F0 2F0 2B0 2STEP0 0B0 0STEP0", "1F0 1B0 1STEP0"),
            "");
}

std::string checked(const std::vector<std::string> &ranks,
                    const std::vector<std::string> &order,
                    std::vector<Collective> collectives) {
  const Problem problem = looped();
  Program program = programOf(order, problem);
  program.collectives = std::move(collectives);
  auto fault = checkTasks(problem, scheduleOf(ranks), program);
  return fault ? describe(*fault, problem) : "";
}

TEST(Steps, OfAProgramAreTheSchedules) {
  const std::vector<std::string> schedule = {"0F0 2F0 2B0 2STEP0 0B0 0STEP0",
                                             "1F0 1B0 1STEP0"};
  const std::string rank1 = "<0F0 1F0 >1F0 <2I0 1B0 >1I0 S1",
                    begin = "0F0 >0F0 <1F0 2F0 2B0 ";
  EXPECT_EQ(checked(schedule, {begin + "S2 >2I0 <1I0 0B0 S0", rank1}, {}), "");
  EXPECT_EQ(checked(schedule, {begin + ">2I0 <1I0 0B0 S2 S0", rank1}, {}),
            "0B0 at position 7 of rank 0 comes where the schedule has step of "
            "stage 2 [L5]");
  EXPECT_EQ(checked(schedule, {begin + "S2 >2I0 <1I0 0B0", rank1}, {}),
            "step of stage 0 is missing at the end of rank 0 [L5]");
  // Without steps of its own a schedule leaves their places to the program.
  EXPECT_EQ(checked({"0F0 2F0 2B0 0B0", "1F0 1B0"},
                    {begin + "S2 >2I0 <1I0 0B0 S0", rank1}, {}),
            "");
}

TEST(Steps, TrainingNeedsItsCollectivesAndSteps) {
  const Problem problem = looped();
  Program program =
      programOf({"0F0 >0F0 <1F0 2F0 2B0 >2I0 <1I0 0B0 A0 E0 S2 S0",
                 "<0F0 1F0 >1F0 <2I0 1B0 >1I0 A0 E0 S1"},
                problem);
  auto message = [&](const TrainingNeeds &needs) {
    auto fault = checkTraining(problem, needs, program);
    return fault ? describe(*fault, problem) : "";
  };
  EXPECT_EQ(message({{norm}, true}), "");
  EXPECT_EQ(message({}), "");
  EXPECT_EQ(message({{tied, norm}, true}),
            "the program has no tied_gradients of w over stages 0, 2, which "
            "training its plan needs [L5]");
  program.collectives[0].replicas = {0, 1};
  EXPECT_EQ(message({{norm}, true}),
            "the program has no gradient_norm over stages 0, 1, 2, which "
            "training its plan needs [L5]");
  program = programOf({"0F0 2F0 2B0 0B0", "1F0 1B0"}, problem);
  program.collectives.clear();
  EXPECT_EQ(message({{}, true}),
            "no stage steps, but the stages have weights to train [L5]");
}

} // namespace
