//===- BeamTest.cpp - What guides change in a beam, and shares of effort --===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "BeamRun.h"

#include "schedule/search/Rounds.h"

using namespace rondo;
using namespace rondo::test;

namespace {

TEST(Beam, ProvesTheSameWithAnyGuide) {
  Engine random(71);
  int64_t compared = 0;
  for (int n = 0; n < 150; ++n) {
    const Problem problem = n % 3 ? drawChain(random) : drawGraph(random);
    if (problem.check())
      continue;
    const auto flat = FlatProblem::of(problem, BackwardCosts::Split);
    ASSERT_TRUE(flat);
    if (flat->tasks() > 60)
      continue;
    const BeamRun bound = runBeam(*flat, 3000, Guide::Bound, never),
                  balance = runBeam(*flat, 3000, Guide::Balance, never);
    EXPECT_EQ(bound.isExhausted, balance.isExhausted) << n;
    if (!bound.isExhausted || !balance.isExhausted)
      continue;
    ++compared;
    EXPECT_EQ(bound.best.objective, balance.best.objective) << n;
    EXPECT_EQ(bound.best.exhaustedNs, balance.best.exhaustedNs) << n;
  }
  EXPECT_GT(compared, 50);
}

TEST(Beam, FindsSomethingElseWithAnotherGuide) {
  Engine random(72);
  int64_t boundWins = 0, balanceWins = 0;
  for (int n = 0; n < 60; ++n) {
    const Problem problem = drawLooped(random);
    const auto flat = FlatProblem::of(problem, BackwardCosts::Split);
    ASSERT_TRUE(flat);
    if (flat->tasks() > 300)
      continue;
    const int64_t bound = runBeam(*flat, 4, Guide::Bound, never).best.objective,
                  balance =
                      runBeam(*flat, 4, Guide::Balance, never).best.objective;
    boundWins += bound < balance;
    balanceWins += balance < bound;
  }
  // Neither makes the other superfluous.
  EXPECT_GT(boundWins, 0);
  EXPECT_GT(balanceWins, 0);
}

std::vector<int64_t> sharesOf(std::vector<int64_t> asked, int64_t left,
                              int64_t least) {
  std::vector<Rounds::Turn> turns;
  for (int64_t tasks : asked)
    turns.push_back({nullptr, tasks});
  return Rounds::sharesOf(turns, left, least);
}

TEST(Rounds, GiveEachTurnWhatItAsksFor) {
  EXPECT_EQ(sharesOf({30, 100, 30}, 160, 50),
            (std::vector<int64_t>{30, 100, 30}));
  EXPECT_EQ(sharesOf({}, 10, 5), std::vector<int64_t>());
}

TEST(Rounds, ShortenTurnsInProportion) {
  EXPECT_EQ(sharesOf({40, 80, 40}, 80, 20), (std::vector<int64_t>{20, 40, 20}));
}

TEST(Rounds, LeaveOutTheLastTurnsIfAllWouldBeTooShort) {
  // Three would get 13 each, two 20.
  EXPECT_EQ(sharesOf({40, 40, 40}, 40, 15), (std::vector<int64_t>{20, 20, 0}));
  // The first gets all there is, however little that may be.
  EXPECT_EQ(sharesOf({40, 40, 40}, 20, 15), (std::vector<int64_t>{20, 0, 0}));
  EXPECT_EQ(sharesOf({40, 40, 40}, 3, 15), (std::vector<int64_t>{3, 0, 0}));
  EXPECT_EQ(sharesOf({40, 40}, 0, 15), (std::vector<int64_t>{0, 0}));
}

} // namespace
