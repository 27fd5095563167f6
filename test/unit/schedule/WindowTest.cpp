//===- WindowTest.cpp - Rules and times of several iterations -------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "WindowExamples.h"

using namespace rondo;
using namespace rondo::test;

namespace {

/// Result of checkSchedule() for orders of two stages on two ranks, with two
/// micro-batches in each of two iterations.
std::string said(const std::string &rank0, const std::string &rank1,
                 const VersionPolicy &policy = {}) {
  Problem window = windowOf(2, 2, 2);
  window.versions.assign(2, policy);
  return verdict(window, scheduleOf({rank0, rank1}));
}

constexpr const char *first = "0F0 0F1 0B0x2 0STEP0 0F2 0F3 0B2x2 0STEP1";
constexpr const char *second = "1F0 1F1 1B0x2 1STEP0 1F2 1F3 1B2x2 1STEP1";

TEST(Windows, HaveABackwardForSeveralMicrobatches) {
  EXPECT_EQ(said(first, second), "");
  EXPECT_EQ(said("0F0 0F1 0B0x2 0STEP0 0F2 0F3 0B2 0B3 0STEP1", second), "");
  EXPECT_EQ(said("0F0 0F1 0B0x2 0STEP0 0F2 0F3 0B2x3 0STEP1", second),
            "0B2x3 at position 6 of rank 0 is not a task: the problem has "
            "stages 0 to 1 and micro-batches 0 to 3 [S1]");
  EXPECT_EQ(said("0F0 0F1 0F2 0F3 0B0 0B1x2 0B3 0STEP0 0STEP1", second),
            "0B1x2 at position 5 of rank 0 serves micro-batches of two "
            "iterations; an iteration has 2 micro-batches, and one step takes "
            "their gradients [S1]");
  EXPECT_EQ(said("0F0x2 0B0x2 0STEP0 0F2 0F3 0B2x2 0STEP1", second),
            "0F0x2 at position 0 of rank 0 serves 2 micro-batches at once; "
            "only B may, since it has one message back for all of them [S1]");
  EXPECT_EQ(said("0F0 0F1 0B0x2 0B1 0STEP0 0F2 0F3 0B2x2 0STEP1", second),
            "0B1 appears twice: at position 2 of rank 0 and at position 3 of "
            "rank 0 [S1]");
  EXPECT_EQ(said("0F0 0B0x2 0F1 0STEP0 0F2 0F3 0B2x2 0STEP1", second),
            "0B0x2 at position 1 of rank 0 comes before 0F1 at position 2, "
            "which it needs [S3]");
}

TEST(Windows, HaveAStepOfEveryStageInEveryIteration) {
  EXPECT_EQ(said("0F0 0F1 0B0x2 0F2 0F3 0B2x2 0STEP1", second),
            "step 0 of stage 0 is missing on rank 0; the window has 2 "
            "iterations, and every stage steps once in each [S1]");
  EXPECT_EQ(said("0F0 0F1 0B0x2 0STEP0 0F2 0F3 0B2x2 0STEP2", second),
            "step 2 of stage 0 at position 7 of rank 0 does not exist: the "
            "problem has stages 0 to 1, each with 2 steps, numbered from 0 "
            "[S1]");
  EXPECT_EQ(said("0F0 0F1 0B0x2 0F2 0F3 0STEP0 0STEP1 0B2x2", second),
            "step 1 of stage 0 at position 6 of rank 0 comes before 0B2x2 at "
            "position 7, which it needs [S3]");
  EXPECT_EQ(said("0F0 0F1 0F2 0F3 0B0x2 0B2x2 0STEP0 0STEP1", second),
            "0B2x2 at position 5 of rank 0 adds gradients of iteration 1 "
            "before step 0 at position 6 has used those of iteration 0; a "
            "stage has one gradient buffer [S3]");
  EXPECT_EQ(said("0F0 0F1 0B0x2 0F2 0F3 0STEP1 0STEP0 0B2x2", second),
            "step 0 of stage 0 at position 6 of rank 0 comes after step 1 at "
            "position 5; a stage's steps follow each other [S3]");
}

TEST(Windows, ReadVersionsThatAreThere) {
  // Rank 1 steps late: forwards of rank 0 enter with version 1.
  const char *late = "1F0 1F1 1B0x2 1F2 1STEP0 1F3 1B2x2 1STEP1";
  VersionPolicy policy;
  EXPECT_EQ(said(first, late, policy), "");
  policy.forward = ForwardWeights::Vertical;
  EXPECT_EQ(said(first, late, policy),
            "1F2 at position 3 of rank 1 reads version 1 of its weights for "
            "micro-batch 2, but its stage has made 0 before it; move it after "
            "the step that makes version 1, or choose another policy of "
            "versions [S8]");
  policy = synchronousPolicy;
  EXPECT_EQ(said(first, second, policy), "");
  EXPECT_EQ(said(first, late, policy),
            "1F2 at position 3 of rank 1 reads version 0 of its weights, 1 "
            "update behind; its stage allows 0. What helps: its stage's steps "
            "earlier in the order, a larger most_delay, or another policy of "
            "versions [S8]");
}

TEST(Windows, CountTheBytesOfWhatTheySendTogether) {
  Problem window = windowOf(2, 3, 2, {}, /*outputBytes=*/1000);
  // 700 bytes/us: a message takes 1429 ns, three together 4286, not 4287.
  window.link = {5, 700};
  const Schedule order =
      scheduleOf({"0F0 0F1 0F2 0B0x3 0STEP0 0F3 0F4 0F5 0B3x3 0STEP1",
                  "1F0 1F1 1F2 1B0x3 1STEP0 1F3 1F4 1F5 1B3x3 1STEP1"});
  for (bool isOrdered : {false, true}) {
    Schedule schedule = order;
    if (isOrdered)
      schedule.linkOrders[{1, 0}] = actionsOf("1B0x3 1B3x3");
    for (bool hasNics : {false, true}) {
      Problem problem = window;
      if (hasNics)
        problem.nics = {{700, 700}, {0, 1}, {}};
      ASSERT_EQ(verdict(problem, schedule), "");
      const Simulation run = simulate(problem, schedule, /*keepTimes=*/true);
      ASSERT_TRUE(run.complete);
      EXPECT_EQ(run.endNs[13] - run.startNs[13], 6); // B of three takes 2 each
      EXPECT_EQ(run.startNs[3], run.endNs[13] + 4286 + 5);
      EXPECT_EQ(run.endNs[3], run.startNs[3] + 6);
      problem.countsOnce = true;
      const Simulation once = simulate(problem, schedule, /*keepTimes=*/true);
      EXPECT_EQ(once.startNs[3], once.endNs[13] + 1429 + 5);
      EXPECT_EQ(once.endNs[3], once.startNs[3] + 2);
    }
  }
}

TEST(Windows, RepeatWhatDrains) {
  const Problem window = windowOf(3, 4, 5);
  for (const FamilyChoice &choice : allFamilies()) {
    FamilyResult result = generate(choice, oneIteration(window));
    if (!result)
      continue;
    const Window run = runFamily(choice.text(), window);
    for (const ReplicaVersions &replica : run.versions.replicas) {
      EXPECT_EQ(replica.forwardDelay.most, 0) << choice.text();
      EXPECT_EQ(replica.backwardDelay.most, 0) << choice.text();
      EXPECT_EQ(replica.copies, 1) << choice.text();
    }
  }
}

} // namespace
