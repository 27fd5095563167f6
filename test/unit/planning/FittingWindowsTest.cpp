//===- FittingWindowsTest.cpp - Overlapping orders that fit ---------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "planning/FittingWindows.h"

#include "schedule/rules/Legality.h"

#include <gtest/gtest.h>

using namespace rondo;

namespace {

constexpr int64_t activation = 4, weights = 100, state = 1000;

/// Four equal stages, two micro-batches in each of six iterations, and the same
/// memory in addition to the state on each rank.
Problem makeWindow(int64_t room) {
  Problem problem;
  problem.name = "p";
  problem.microbatches = 12;
  problem.iterations = 6;
  problem.memoryCaps.assign(4, room);
  problem.devices.assign(4, {room == noMemoryCap ? room : state + room, state});
  for (int32_t s = 0; s < 4; ++s)
    problem.replicas.addStage({{s, 1}});
  for (int32_t s = 0; s < 4; ++s)
    problem.setStageCost(s, 1, 1, 1, activation, 0);
  problem.makeChain({0, 0, 0, 0});
  problem.weightBytes.assign(4, weights);
  EXPECT_FALSE(problem.check());
  return problem;
}

WindowSearchOptions makeOptions(const Problem &problem) {
  WindowSearchOptions options;
  options.search.timeLimitMs = 0;
  options.search.effort = 8000;
  for (const NamedPolicy &named : namedPolicies)
    if (std::string(named.name) == "pipedream")
      options.policies.push_back(
          {named.name,
           std::vector<VersionPolicy>(problem.numStages(), named.policy)});
  return options;
}

/// The state, the held activations, and the size of its messages for each
/// forward under way.
std::vector<int64_t> arenasWith(const WindowSearchResult &found,
                                int64_t message) {
  std::vector<int64_t> arenas = found.figures.heldBytes;
  for (size_t rank = 0; rank < arenas.size(); ++rank)
    arenas[rank] +=
        state + message * found.simulation.peakBytes[rank] / activation;
  return arenas;
}

/// Searches with messages of 10 bytes and counts the orders that are asked for.
WindowSearchResult searchIn(const Problem &window, int &calls) {
  return searchFittingWindow(window, makeOptions(window),
                             [&](const WindowSearchResult &order) {
                               ++calls;
                               return std::optional(arenasWith(order, 10));
                             });
}

TEST(FittingWindows, TakesLessWhereMessagesDoNotFit) {
  // Four activations and two old versions would fit, but not their messages.
  const Problem window = makeWindow(4 * activation + 2 * weights);
  const WindowSearchResult plain = searchWindow(window, makeOptions(window));
  ASSERT_TRUE(plain.schedule);
  ASSERT_EQ(plain.figures.heldBytes[0], window.memoryCaps[0]);
  int calls = 0;
  const WindowSearchResult found = searchIn(window, calls);
  ASSERT_TRUE(found.schedule) << describe(*found.fault);
  EXPECT_GT(calls, 1);
  for (int64_t bytes : arenasWith(found, 10))
    EXPECT_LE(bytes, window.devices[0].deviceBytes);
  EXPECT_GT(found.figures.time.each(), plain.figures.time.each());
  EXPECT_FALSE(checkSchedule(found.problem, *found.schedule));
  // The problem stays what it was.
  EXPECT_EQ(found.problem.memoryCaps, window.memoryCaps);
}

TEST(FittingWindows, FindsWhatFitsWhereOneMicrobatchDoes) {
  // An activation and its message.
  const Problem window = makeWindow(activation + 10);
  int calls = 0;
  const WindowSearchResult found = searchIn(window, calls);
  ASSERT_TRUE(found.schedule) << describe(*found.fault);
  EXPECT_GT(calls, 1);
  EXPECT_EQ(arenasWith(found, 10)[0], window.devices[0].deviceBytes);
}

TEST(FittingWindows, IsAPlainSearchWhereAllFits) {
  const Problem window = makeWindow(5000);
  int calls = 0;
  const WindowSearchResult found = searchIn(window, calls),
                           plain = searchWindow(window, makeOptions(window));
  EXPECT_EQ(found.origin, plain.origin);
  EXPECT_EQ(calls, 1);
  // Without limits nothing is asked.
  searchIn(makeWindow(noMemoryCap), calls);
  EXPECT_EQ(calls, 1);
  // If that cannot be decided, the order stays.
  const Problem tight = makeWindow(4 * activation + 2 * weights);
  EXPECT_EQ(searchFittingWindow(tight, makeOptions(tight),
                                [](const WindowSearchResult &) {
                                  return std::optional<std::vector<int64_t>>();
                                })
                .origin,
            plain.origin);
}

TEST(FittingWindows, SaysWhatIsMissing) {
  const Problem window = makeWindow(activation + 9);
  int calls = 0;
  const WindowSearchResult found = searchIn(window, calls);
  EXPECT_FALSE(found.schedule);
  ASSERT_TRUE(found.fault);
  EXPECT_EQ(found.fault->kind, FaultKind::NoProgramFits);
  EXPECT_EQ(found.fault->found, state + activation + 10);
  EXPECT_EQ(found.fault->allowed, state + activation + 9);
}

} // namespace
