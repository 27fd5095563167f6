//===- SlackTest.cpp - How much later tasks may end -----------------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "Examples.h"
#include "RandomProblem.h"
#include "SimulatedTimeline.h"

#include "schedule/search/WhatIf.h"
#include "schedule/timeline/Slack.h"

using namespace rondo;
using namespace rondo::test;

namespace {

TEST(Slack, CountsTheTurnOnALink) {
  Problem problem = linearProblem(2, 2, {3, 4, 2, 2, 1}, /*outputBytes=*/10);
  // A message occupies its link for 4: that of 0F1 has to wait for 0F0's.
  problem.link = {/*latencyNs=*/0, /*bytesPerUs=*/2500};
  const Schedule schedule =
      scheduleOf({"0F0 0F1 0I0 0W0 0I1 0W1", "1F0 1F1 1I0 1I1 1W0 1W1"});
  const Timeline timeline = timelineOf(problem, schedule);
  const std::vector<int64_t> slack = slackOf(problem, timeline);
  ASSERT_EQ(slack.size(), 12u);
  // 0F0 3, its message 7, that of 0F1 from 7, though 0F1 ends at 6, to 11;
  // 1F1 14, 1I0 18, its message 22, 0I0 26, 0W0 28, 0I1 32, 0W1 34.
  EXPECT_EQ(timeline.makespanNs, 34);
  EXPECT_EQ(slack[0], 0);
  EXPECT_EQ(slack[1], 1);
  // 1F0 from 7 to 10 may last until 1F1 begins at 11.
  EXPECT_EQ(slack[6], 1);
  EXPECT_EQ(slack[7], 0);
  // 1W1 ends at 26.
  EXPECT_EQ(slack[11], 8);
}

/// With one micro-batch each task has a cost of its own: made longer by its
/// slack it changes nothing, by more it does.
TEST(Slack, IsWhatATaskMayTakeMore) {
  Engine random(21);
  int64_t numTasks = 0, numWithSlack = 0;
  for (int i = 0; i < 3000; ++i) {
    Problem problem = drawGraph(random);
    problem.microbatches = 1;
    problem.memoryCaps.assign(problem.numRanks(), noMemoryCap);
    const FamilyResult schedule =
        generate(*parseFamily(i % 2 ? "gpipe" : "zb-h1"), problem);
    if (!schedule)
      continue;
    const Timeline timeline = timelineOf(problem, *schedule);
    const std::vector<int64_t> slack = slackOf(problem, timeline);
    if (slack.empty())
      continue;
    for (size_t t = 0; t < slack.size(); ++t) {
      const Action action = timeline.tasks[t].action;
      auto makespanWith = [&](int64_t more) {
        Problem longer = problem;
        longer.cost(action.subject, action.kind()).ns += more;
        const Timeline changed = timelineOf(longer, *schedule);
        // Links may carry messages in another order; their times are not
        // checked.
        for (size_t a = 0; a < timeline.messages.size(); ++a)
          for (size_t b = 0; b < timeline.messages.size(); ++b)
            if (timeline.messages[a].leaveNs < timeline.messages[b].leaveNs &&
                changed.messages[a].leaveNs > changed.messages[b].leaveNs)
              return int64_t(-1);
        return changed.makespanNs;
      };
      ASSERT_GE(slack[t], 0);
      const int64_t within = makespanWith(slack[t]),
                    beyond = makespanWith(slack[t] + 1);
      if (within < 0 || beyond < 0)
        continue;
      EXPECT_EQ(within, timeline.makespanNs);
      EXPECT_EQ(beyond, timeline.makespanNs + 1);
      ++numTasks;
      numWithSlack += slack[t] > 0;
    }
  }
  EXPECT_GT(numTasks, 500);
  EXPECT_GT(numWithSlack, 100);
}

TEST(WhatIf, RanksWhatMakesAScheduleFaster) {
  Problem problem = linearProblem(2, 2, {10, 10, 10, 2, 1}, /*outputBytes=*/10);
  problem.setStageCost(1, 20, 20, 20, 2, 1);
  problem.link = {/*latencyNs=*/8, /*bytesPerUs=*/0};
  problem.memoryCaps = {2, noMemoryCap};
  // One micro-batch after another, though the second stage could begin.
  const Schedule schedule =
      scheduleOf({"0F0 0I0 0W0 0F1 0I1 0W1", "1F0 1I0 1W0 1F1 1I1 1W1"});
  const int64_t makespan = simulate(problem, schedule).makespanNs;
  const std::vector<WhatIf> all = whatIfs(problem, schedule, makespan, 10);
  // Two stages, two links, the order, the caps.
  ASSERT_EQ(all.size(), 6u);
  for (size_t i = 1; i < all.size(); ++i)
    EXPECT_GE(all[i - 1].gainNs(), all[i].gainNs());
  for (const WhatIf &each : all) {
    if (each.change == WhatIf::Change::LargerCaps) {
      EXPECT_LE(each.makespanNs, each.comparedNs);
      continue;
    }
    EXPECT_EQ(each.comparedNs, makespan);
    if (each.change == WhatIf::Change::FasterLink) {
      // Twice an iteration, 4 less each time.
      EXPECT_EQ(each.gainNs(), 8);
    }
    if (each.change == WhatIf::Change::FasterStage) {
      // A micro-batch needs 3 of stage 0's tasks in a row; of stage 1 F and I.
      EXPECT_EQ(each.gainNs(), each.stage == 0 ? 6 : 8);
    }
  }
  // Without caps nothing is searched.
  problem.memoryCaps[0] = noMemoryCap;
  EXPECT_EQ(whatIfs(problem, schedule, makespan, 10).size(), 4u);
}

} // namespace
