//===- RepeatingTest.cpp - Orders that go on ------------------------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "WindowExamples.h"

#include "schedule/order/Repeating.h"
#include "schedule/program/WaitBlocks.h"
#include "schedule/simulate/DelayTable.h"
#include "schedule/transforms/Iterations.h"

#include <random>

using namespace rondo;
using namespace rondo::test;

namespace {

std::string textOf(const Schedule &schedule, const Problem &problem) {
  std::string text;
  for (int32_t r = 0; r < schedule.numRanks(); ++r) {
    for (Action action : schedule.rank(r))
      text += actionName(action, problem) + " ";
    text += "| ";
  }
  return text;
}

Repeating repetitionOf(const Problem &window, const Schedule &schedule) {
  auto found =
      findRepetition(schedule, window.iterations, window.microbatchesEach());
  if (!found) {
    ADD_FAILURE() << describe(found.fault(), window);
    return {};
  }
  return *found;
}

TEST(Repeating, FindsTheShortestOpeningAndWhatRepeats) {
  const Problem window = windowOf(3, 2, 12);
  const Repeating order =
      repetitionOf(window, runFamily("pipedream", window).schedule);
  EXPECT_EQ(order.iterations, 1);
  EXPECT_EQ(textOf(order.opening, window), "0F0 0F1 | 1F0 | | ");
  EXPECT_EQ(textOf(order.repeated, window),
            "0F2 0B0 0F3 0B1 0STEP0 | 1F1 1B0 1F2 1B1 1STEP0 | "
            "2F0 2B0 2F1 2B1 2STEP0 | ");
  EXPECT_EQ(iterationsUnderWay(order, 2), 2);
}

// A run of any length is the family's own order of that length.
TEST(Repeating, RunsAreTheOrdersOfFamilies) {
  for (const char *family : {"pipedream", "pipemare:spatial=1", "timeprest"})
    for (int32_t stages : {1, 2, 3, 5})
      for (int32_t each : {1, 2, 3, 5}) {
        const Problem window = inSlots(windowOf(stages, each, 40));
        const Repeating order =
            repetitionOf(window, generateFamily(family, window));
        for (int32_t iterations : {2, 3, 4, 7, 23}) {
          const Problem run = inSlots(windowOf(stages, each, iterations));
          EXPECT_EQ(textOf(runOf(order, iterations, each), run),
                    textOf(generateFamily(family, run), run))
              << family << " " << stages << " " << each << " " << iterations;
        }
      }
}

TEST(Repeating, SaysWhichRankDoesNotRepeat) {
  const Problem window = windowOf(2, 1, 8);
  Schedule order;
  for (int64_t t = 0; t < 8; ++t)
    order.append({ActionKind::Forward, 0, t});
  order.endRank();
  // All forwards, then all backwards: no iteration is like the next.
  for (int64_t t = 0; t < 8; ++t)
    order.append({ActionKind::Forward, 1, t});
  for (int64_t t = 0; t < 8; ++t)
    order.append({ActionKind::Backward, 1, t});
  order.endRank();
  auto found = findRepetition(order, 8, 1);
  ASSERT_TRUE(!found);
  EXPECT_EQ(describe(found.fault(), window),
            "the order of rank 1 does not repeat within 8 iterations, so no "
            "program can run it for any number of them; a longer window may "
            "help");
}

/// An order in which each rank begins with some forwards and then alternates
/// in some way, sound or not.
Repeating randomOrder(int32_t stages, int32_t each, std::mt19937 &random) {
  Repeating order;
  for (int32_t s = 0; s < stages; ++s) {
    const int64_t ahead = random() % (stages + 2);
    for (int64_t m = 0; m < ahead; ++m)
      order.opening.append({ActionKind::Forward, s, m});
    std::vector<Action> repeated;
    const bool isBehind = random() % 2;
    for (int64_t m = 0; m < each; ++m) {
      const Action forward(ActionKind::Forward, s, m + ahead),
          backward(ActionKind::Backward, s, m);
      repeated.push_back(isBehind ? backward : forward);
      repeated.push_back(isBehind ? forward : backward);
    }
    repeated.emplace_back(ActionKind::Step, s, 0);
    if (random() % 4 == 0)
      std::swap(repeated[random() % repeated.size()],
                repeated[random() % repeated.size()]);
    for (Action action : repeated)
      order.repeated.append(action);
    order.opening.endRank();
    order.repeated.endRank();
  }
  return order;
}

TEST(Repeating, RanksThatMayWaitInACircle) {
  using Blocks = std::vector<std::vector<int32_t>>;
  auto sorted = [](Blocks blocks) {
    std::sort(blocks.begin(), blocks.end());
    return blocks;
  };
  const Problem chain = linearProblem(4, 1);
  EXPECT_EQ(sorted(waitBlocks(chain, {})), (Blocks{{0, 1}, {1, 2}, {2, 3}}));
  // A sum of the first and the last stage closes the ring.
  Collective tied;
  tied.replicas = {0, 3};
  EXPECT_EQ(sorted(waitBlocks(chain, {tied})), (Blocks{{0, 1, 2, 3}}));
  tied.replicas = {1, 3};
  EXPECT_EQ(sorted(waitBlocks(chain, {tied})), (Blocks{{0, 1}, {1, 2, 3}}));
  // Two stages on each rank: the last rank sends to the first one as well.
  EXPECT_EQ(sorted(waitBlocks(problemOn({0, 1, 2, 0, 1, 2}, 3, 1), {})),
            (Blocks{{0, 1, 2}}));
  EXPECT_EQ(waitBlocks(linearProblem(1, 1), {}), Blocks());
  // The window follows.
  const std::vector<int64_t> underWay = {40, 30, 20, 10};
  EXPECT_EQ(iterationsOfProof(underWay, 1, waitBlocks(chain, {})),
            4 * 40 + 8 + 2);
  tied.replicas = {0, 3};
  EXPECT_EQ(iterationsOfProof(underWay, 1, waitBlocks(chain, {tied})),
            39 + 29 + 19 + 9 + 2 * 40 + 2);
}

// A rule that holds in the window of the proof holds in longer ones, and one
// that is broken in a longer window is broken there.
TEST(Repeating, OneWindowProvesAllRuns) {
  std::mt19937 random(7);
  int sound = 0, broken = 0;
  for (int k = 0; k < 600; ++k) {
    const int32_t stages = 1 + random() % 4, each = 1 + random() % 3;
    const Repeating order = randomOrder(stages, each, random);
    const auto iterations = static_cast<int32_t>(
        iterationsOfProof(iterationsUnderWayByRank(order, each), 1,
                          waitBlocks(linearProblem(stages, each), {})));
    auto isSound = [&](int32_t number) {
      Problem window = windowOf(stages, each, number);
      window.versions.assign(stages, VersionPolicy());
      return !checkSchedule(window, runOf(order, number, each));
    };
    const bool is = isSound(iterations);
    ++(is ? sound : broken);
    for (int32_t number : {3 * iterations, 5 * iterations + 1})
      EXPECT_EQ(isSound(number), is) << k << " over " << number;
    // A sound order drains after any iteration.
    for (int32_t number = 1; is && number < iterations; ++number)
      EXPECT_TRUE(isSound(number)) << k << " over " << number;
  }
  EXPECT_GT(sound, 50);
  EXPECT_GT(broken, 50);
}

TEST(Repeating, BackwardsOfSeveralBecomeSingleOnes) {
  const Problem window = windowOf(2, 3, 8);
  const Schedule order = runFamily("timeprest", window).schedule;
  ASSERT_TRUE(order.hasCounts());
  const Schedule single = withSingleBackwards(order);
  EXPECT_FALSE(single.hasCounts());
  EXPECT_EQ(single.numActions(), order.numActions() + 2 * 8 * 2);
  Problem judged = window;
  judged.versions.assign(2, VersionPolicy());
  EXPECT_EQ(verdict(judged, single), "");
}

TEST(DelayTable, ListsWhatSettlesAndRepeats) {
  // One micro-batch an iteration: stage s settles S - 1 - s updates late.
  const Window run = runFamily("pipedream", windowOf(4, 1, 30));
  const DelayTable table = settledDelays(run.problem, run.versions, 4, 1);
  EXPECT_EQ(table.period, 1);
  ASSERT_EQ(table.size(), 4);
  EXPECT_EQ(table.forward[0], (std::vector<int32_t>{0, 1, 2, 3}));
  EXPECT_EQ(table.forward[3], (std::vector<int32_t>{0, 0, 0, 0}));
  EXPECT_EQ(table.meanForward(0), 3);
  EXPECT_EQ(table.meanBackward(2), 1);
  for (int64_t m = 0; m < 26; ++m)
    EXPECT_EQ(run.versions.replicas[0].forward[m],
              m - table.forward[0][table.indexOf(m)]);
  // Given back, it says what each task reads.
  auto again =
      analyzeVersions(run.problem, run.schedule, run.simulation, &table);
  ASSERT_TRUE(again);
  const VersionAnalysis &versions = *again;
  for (int32_t replica = 0; replica < 4; ++replica) {
    EXPECT_EQ(versions.replicas[replica].forward,
              run.versions.replicas[replica].forward);
    EXPECT_EQ(versions.replicas[replica].slots, 4 - replica);
  }
}

TEST(DelayTable, MeansAreThoseOfTheFormula) {
  // Spatial PipeMare, P = N = 4: 1.75, 1.25, 0.75, 0.25.
  const Window run = runFamily("pipemare:spatial=1", windowOf(4, 4, 30));
  const DelayTable table = settledDelays(run.problem, run.versions, 3, 1);
  EXPECT_EQ(table.meanForward(0), 1.75);
  EXPECT_EQ(table.meanForward(3), 0.25);
  EXPECT_EQ(table.meanBackward(0), 0);
}

// A version that does not exist yet cannot be asked for.
TEST(DelayTable, RefusesVersionsThatAreNotMade) {
  const Window run = runFamily("pipedream", windowOf(2, 1, 20));
  DelayTable table = settledDelays(run.problem, run.versions, 2, 1);
  table.forward[0].back() = 0;
  auto versions =
      analyzeVersions(run.problem, run.schedule, run.simulation, &table);
  ASSERT_TRUE(!versions);
  EXPECT_EQ(versions.fault().kind, FaultKind::VersionNotMade);
}

} // namespace
