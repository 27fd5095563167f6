//===- TimelineTest.cpp - Layouts over time -------------------------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "Examples.h"
#include "RandomProblem.h"
#include "SimulatedTimeline.h"

#include "schedule/timeline/TimeUse.h"

#include <map>

using namespace rondo;
using namespace rondo::test;

namespace {

TEST(Timeline, TasksMessagesAndMemoryOfTwoStages) {
  Problem problem = linearProblem(2, 2, {3, 4, 2, 2, 1}, /*outputBytes=*/10);
  problem.link = {/*latencyNs=*/1, /*bytesPerUs=*/10000};
  Schedule schedule =
      scheduleOf({"0F0 0F1 0I0 0W0 0I1 0W1", "1F0 1I0 1F1 1I1 1W0 1W1"});
  const Timeline timeline = timelineOf(problem, schedule);
  ASSERT_EQ(timeline.tasks.size(), 12u);
  EXPECT_EQ(timeline.rankBegin, (std::vector<int64_t>{0, 6, 12}));
  // 1F0 starts when 0F0's message is there: 3 + 1 on the link + 1.
  const TimelineTask &forward = timeline.tasks[6];
  EXPECT_EQ(forward.startNs, 5);
  ASSERT_EQ(forward.waitedFor, WaitedFor::Message);
  const TimelineMessage &message = timeline.messages[forward.waited];
  EXPECT_EQ(message.from, 0);
  EXPECT_EQ(message.to, 6);
  EXPECT_EQ(message.leaveNs, 3);
  EXPECT_EQ(message.arriveNs, 5);
  // 0F1 follows 0F0.
  EXPECT_EQ(timeline.tasks[1].waitedFor, WaitedFor::Task);
  EXPECT_EQ(timeline.tasks[1].waited, 0);
  EXPECT_EQ(timeline.tasks[0].waitedFor, WaitedFor::Nothing);
  // Two activations of 2 bytes; an I frees one byte, a W the other.
  EXPECT_EQ(timeline.tasks[1].heldBytes, 4);
  EXPECT_EQ(timeline.tasks[2].leftBytes, 3);
  EXPECT_EQ(timeline.tasks[5].leftBytes, 0);
}

TEST(Timeline, AnEmptyScheduleHasNoPath) {
  EXPECT_TRUE(Timeline().criticalPath().empty());
}

/// Properties of every layout.
void check(const Problem &problem, const Schedule &schedule) {
  const Simulation simulation = simulate(problem, schedule, /*keepTimes=*/true);
  const Timeline timeline = layOut(problem, schedule, simulation);
  // Every start is explained by what ends or arrives then.
  std::vector<int64_t> peaks(problem.numRanks(), 0);
  for (const TimelineTask &task : timeline.tasks) {
    peaks[task.rank] = std::max(peaks[task.rank], task.heldBytes);
    if (task.waitedFor == WaitedFor::Nothing)
      EXPECT_EQ(task.startNs, 0);
    else if (task.waitedFor == WaitedFor::Task)
      EXPECT_EQ(task.startNs, timeline.tasks[task.waited].endNs);
    else
      EXPECT_EQ(task.startNs, timeline.messages[task.waited].arriveNs);
  }
  EXPECT_EQ(peaks, simulation.peakBytes);
  // The times of ranks add up.
  for (const TimeUse &use : timeUse(problem, timeline))
    EXPECT_EQ(use.tasksNs + use.stepsNs + use.collectivesNs + use.messagesNs +
                  use.otherNs + use.doneNs + use.waitedForAllNs(),
              simulation.makespanNs);
  // A link carries one message at a time, after its producer, before its
  // consumer.
  std::map<std::pair<int32_t, int32_t>, std::map<int64_t, int64_t>> busy;
  for (const TimelineMessage &message : timeline.messages) {
    const TimelineTask &from = timeline.tasks[message.from],
                       &to = timeline.tasks[message.to];
    EXPECT_LE(from.endNs, message.leaveNs);
    EXPECT_LE(message.arriveNs, to.startNs);
    const Link link = problem.linkBetween(from.rank, to.rank);
    const int64_t occupancy = link.occupancyNs(
        problem.edges[message.edge].bytes * int64_t(from.action.count));
    if (occupancy == 0)
      continue;
    const bool isFree =
        busy[{from.rank, to.rank}]
            .emplace(message.leaveNs, message.leaveNs + occupancy)
            .second;
    EXPECT_TRUE(isFree);
  }
  for (const auto &[link, intervals] : busy) {
    int64_t end = 0;
    for (const auto &[begin, stop] : intervals) {
      EXPECT_GE(begin, end);
      end = stop;
    }
  }
  // The path has no gap from 0 to the makespan.
  int64_t reached = 0;
  for (const PathStep &step : timeline.criticalPath()) {
    EXPECT_EQ(step.startNs, reached);
    EXPECT_GE(step.endNs, step.startNs);
    reached = step.endNs;
  }
  EXPECT_EQ(reached, simulation.makespanNs);
}

TEST(Timeline, EveryStartIsExplainedAndThePathHasNoGap) {
  Engine random(11);
  int64_t numSchedules = 0;
  for (int i = 0; i < 60; ++i) {
    const auto ranks = int32_t(pick(random, 1, 4));
    std::vector<int32_t> rankOf;
    const int64_t chunks = pick(random, 1, 2);
    for (int32_t s = 0; s < ranks * chunks; ++s)
      rankOf.push_back(i % 2 && s >= ranks ? 2 * ranks - 1 - s : s % ranks);
    const Problem problem =
        drawChain(random, rankOf, ranks, LinkCosts(pick(random, 0, 2)));
    for (const FamilyChoice &choice : allFamilies()) {
      const FamilyResult schedule = generate(choice, problem);
      if (!schedule)
        continue;
      SCOPED_TRACE(choice.text());
      check(problem, *schedule);
      ++numSchedules;
    }
  }
  EXPECT_GT(numSchedules, 200);
}

TEST(Timeline, ExplainsWindows) {
  Engine random(12);
  for (int i = 0; i < 40; ++i) {
    const auto ranks = int32_t(pick(random, 2, 5));
    Problem problem = drawChain(random, loopedRanks(ranks, 1), ranks,
                                LinkCosts(pick(random, 0, 2)));
    problem.iterations = 4;
    problem.microbatches *= 4;
    for (const FamilyChoice &choice : overlappedFamilies()) {
      const Problem window = withPolicyOf(choice, problem);
      FamilyResult made = generate(choice, window);
      SCOPED_TRACE(choice.text());
      if (made)
        check(window, *made);
      else
        EXPECT_STREQ(choice.family->name, "2bw");
    }
  }
}

} // namespace
