//===- TimeUseTest.cpp - What ranks do with their time --------------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "Examples.h"

#include "schedule/timeline/Differences.h"
#include "schedule/timeline/TimeUse.h"

using namespace rondo;
using namespace rondo::test;

namespace {

struct TwoStages {
  Problem problem = linearProblem(2, 2, {3, 4, 2, 2, 1}, /*outputBytes=*/10);
  Timeline timeline;

  TwoStages() {
    problem.link = {/*latencyNs=*/1, /*bytesPerUs=*/10000};
    const Schedule schedule =
        scheduleOf({"0F0 0F1 0I0 0W0 0I1 0W1", "1F0 1I0 1F1 1I1 1W0 1W1"});
    timeline = layOut(problem, schedule,
                      simulate(problem, schedule, /*keepTimes=*/true));
  }
};

TEST(TimeUse, OfASimulatedSchedule) {
  const TwoStages two;
  const std::vector<TimeUse> uses = timeUse(two.problem, two.timeline);
  ASSERT_EQ(uses.size(), 2u);
  // 1I0 runs from 8 to 12 and 1I1 from 15 to 19; their messages take 2, so that
  // rank 0 is idle from 6 to 14 and from 20 to 21.
  EXPECT_EQ(uses[0].tasksNs, 18);
  EXPECT_EQ(uses[0].waitedNs, (std::map<int32_t, int64_t>{{1, 9}}));
  EXPECT_EQ(uses[0].doneNs, 0);
  // Until 5 for 0F0, and done at 23 of 27.
  EXPECT_EQ(uses[1].tasksNs, 18);
  EXPECT_EQ(uses[1].waitedNs, (std::map<int32_t, int64_t>{{0, 5}}));
  EXPECT_EQ(uses[1].doneNs, 4);
  EXPECT_EQ(two.timeline.makespanNs, 27);
  for (const TimeUse &use : uses)
    EXPECT_EQ(use.stepsNs + use.collectivesNs + use.messagesNs + use.otherNs,
              0);
}

TEST(TimeUse, AsMeasured) {
  MeasuredIteration iteration;
  iteration.durationNs = 100;
  iteration.ranks = {{0, 100, 3, 2}, {10, 60, 0, 0}};
  iteration.tasks = {{0, 0, 0, ActionKind::Forward, 0, 10, 30},
                     {0, 0, 0, ActionKind::Step, 0, 70, 75},
                     {1, 1, 0, ActionKind::Forward, 0, 20, 50}};
  iteration.waits = {{0, 1, true, 30, 60}, {0, -1, false, 60, 66}};
  const std::vector<TimeUse> uses = timeUse(iteration);
  EXPECT_EQ(uses[0].tasksNs, 20);
  EXPECT_EQ(uses[0].stepsNs, 5);
  EXPECT_EQ(uses[0].waitedNs, (std::map<int32_t, int64_t>{{1, 30}}));
  EXPECT_EQ(uses[0].collectivesNs, 8);
  EXPECT_EQ(uses[0].messagesNs, 3);
  EXPECT_EQ(uses[0].otherNs, 34);
  EXPECT_EQ(uses[0].doneNs, 0);
  EXPECT_EQ(uses[1].otherNs, 30);
  EXPECT_EQ(uses[1].doneNs, 40);
}

TEST(Differences, AreOrderedByTheirSize) {
  const TwoStages two;
  Timeline measured = two.timeline;
  MeasuredIteration iteration;
  iteration.hasWaits = true;
  // The waits as predicted, but one of rank 0 is longer: it ends when 0I0
  // begins.
  iteration.waits = {
      {0, 1, true, 3, 14}, {0, 1, true, 20, 21}, {1, 0, true, 0, 5}};
  measured.tasks[1].endNs += 2;
  const std::vector<Difference> largest =
      largestDifferences(two.timeline, nullptr, measured, iteration, 3);
  ASSERT_EQ(largest.size(), 3u);
  EXPECT_TRUE(largest[0].isWait);
  EXPECT_EQ(largest[0].ns(), 3);
  EXPECT_EQ(largest[0].action, two.timeline.tasks[2].action);
  EXPECT_EQ(largest[0].predictedOn, 1);
  EXPECT_EQ(largest[0].measuredOn, 1);
  EXPECT_FALSE(largest[1].isWait);
  EXPECT_EQ(largest[1].ns(), 2);
  EXPECT_EQ(largest[1].action, two.timeline.tasks[1].action);
  EXPECT_EQ(largest[2].ns(), 0);
}

} // namespace
