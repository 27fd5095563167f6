//===- TimeSharesTest.cpp - What an iteration's time goes to --------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "test/unit/lowering/Fixture.h"

#include "lowering/TimeShares.h"

#include "gtest/gtest.h"

#include <numeric>

using namespace rondo;
using namespace rondo::test;

namespace {

int64_t shareOf(const TimeShares &shares, TimeShare use) {
  return shares[static_cast<int>(use)];
}

/// 1F1B on four ranks and eight micro-batches, a stage's F, I and W 10 each.
struct Case {
  explicit Case(int64_t latencyNs)
      : problem(linearProblem(4, 8, latencyNs, 0, 0)) {
    for (int32_t s = 0; s < 4; ++s)
      problem.setStageCost(s, 10, 10, 10, 1, 0);
    figures.buffers = replicaBuffers(problem);
    figures.devices.assign(4, noMemoryCap);
  }
  TimeShares shares() const {
    return timeShares(figures, problem, familySchedule("1f1b", problem));
  }
  int64_t iterationNs() const {
    return provePrograms(figures, problem, familySchedule("1f1b", problem))
        .iterationNs;
  }

  Problem problem;
  PlanFigures figures;
};

TEST(TimeShares, EvenStagesHaveABubbleAlone) {
  const Case even(0);
  const TimeShares shares = even.shares();
  EXPECT_EQ(shareOf(shares, TimeShare::Compute), 8 * 30);
  EXPECT_EQ(shareOf(shares, TimeShare::Imbalance), 0);
  // (P - 1) (F + I + W), Qi et al.
  EXPECT_EQ(shareOf(shares, TimeShare::Bubble), 3 * 30);
  EXPECT_EQ(shareOf(shares, TimeShare::Messages), 0);
  EXPECT_EQ(shareOf(shares, TimeShare::Sums), 0);
  EXPECT_EQ(bindingShare(shares), TimeShare::Bubble);
  EXPECT_STREQ(nameOf(bindingShare(shares)), "bubble");
}

TEST(TimeShares, SumToTheTimeOfThePrograms) {
  Case uneven(70);
  uneven.problem.setStageCost(2, 30, 30, 30, 1, 0);
  const TimeShares shares = uneven.shares();
  EXPECT_EQ(std::accumulate(shares.begin(), shares.end(), int64_t(0)),
            uneven.iterationNs());
  // Ranks work 240, 240, 720 and 240.
  EXPECT_EQ(shareOf(shares, TimeShare::Compute), 360);
  EXPECT_EQ(shareOf(shares, TimeShare::Imbalance), 360);
  EXPECT_GT(shareOf(shares, TimeShare::Messages), 0);
}

TEST(TimeShares, NothingElseBindsWhereLittleIsLost) {
  EXPECT_EQ(bindingShare({95, 1, 2, 1, 1}), TimeShare::Compute);
  EXPECT_EQ(bindingShare({50, 10, 10, 20, 10}), TimeShare::Messages);
  EXPECT_EQ(bindingShare({50, 10, 10, 10, 20}), TimeShare::Sums);
}

} // namespace
