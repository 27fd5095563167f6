//===- BeamTest.cpp - Narrow beams, and shares of effort ------------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "BeamRun.h"

#include "schedule/search/Rounds.h"

using namespace rondo;
using namespace rondo::test;

namespace {

// An F that waits for another stage's F of its rank waits forever if that one
// waits for it on another rank. A beam that keeps such states ends with
// nothing.
TEST(Beam, FindsAScheduleHoweverNarrow) {
  Engine random(72);
  int64_t tight = 0;
  for (int n = 0; n < 60; ++n) {
    const Problem problem = drawLooped(random);
    const auto flat = FlatProblem::of(problem, BackwardCosts::Split);
    ASSERT_TRUE(flat);
    if (flat->tasks() > 300 || !flat->isSingleEnded)
      continue;
    tight += flat->hasTightMemory;
    for (const int64_t width : {3, 9, 27})
      EXPECT_LT(runBeam(*flat, width, never).best.objective, never)
          << n << ", " << width;
  }
  EXPECT_GT(tight, 20);
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

/// Notes what it gets.
class Noted : public Part {
public:
  explicit Noted(std::vector<int64_t> &shares) : shares(shares) {}
  void run(int64_t tasks) override { shares.push_back(tasks); }
  int64_t value() const override { return never; }

private:
  std::vector<int64_t> &shares;
};

/// Shares of two turns that ask for 30,000 and 100,000 tasks, on a clock that
/// does not move.
std::vector<int64_t> sharesWithin(int64_t limitMs, int64_t effort) {
  const Problem problem = linearProblem(2, 2);
  const auto flat = FlatProblem::of(problem, BackwardCosts::Split);
  SearchOptions options;
  options.timeLimitMs = limitMs;
  options.effort = effort;
  options.clock = [] { return 0.0; };
  Budget budget(options);
  Incumbent best;
  Workers workers(1);
  Rounds rounds(*flat, best, budget, workers);
  std::vector<int64_t> shares;
  auto make = [&](Incumbent &, Budget &) {
    return std::make_unique<Noted>(shares);
  };
  const auto first = rounds.runner(make), second = rounds.runner(make);
  rounds.run({{first.get(), 30000}, {second.get(), 100000}});
  return shares;
}

TEST(Rounds, ShareTheTimeThatIsLeft) {
  // Without a time limit, or with more than enough time.
  EXPECT_EQ(sharesWithin(0, 0), (std::vector<int64_t>{30000, 100000}));
  EXPECT_EQ(sharesWithin(1000, 0), (std::vector<int64_t>{30000, 100000}));
  // In a millisecond one thread does some 20,000 tasks.
  const std::vector<int64_t> shares = sharesWithin(1, 0);
  ASSERT_EQ(shares.size(), 2u);
  EXPECT_GT(shares[0], 3000);
  EXPECT_GT(shares[1], 3 * shares[0]);
  EXPECT_LT(shares[0] + shares[1], 30000);
  // If effort ends a search, its end does not depend on time.
  EXPECT_EQ(sharesWithin(1, 1), (std::vector<int64_t>{30000, 100000}));
}

} // namespace
