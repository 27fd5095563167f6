//===- TimeTest.cpp - A search of plans that runs out of time -------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Time stands still until a test advances it.
//
//===----------------------------------------------------------------------===//

#include "planning/PlanSearch.h"
#include "test/unit/schedule/Examples.h"

#include "gtest/gtest.h"

using namespace rondo;

namespace {

double secondsNow = 0;
double manualClock() { return secondsNow; }

using State = PlanCandidate::State;

class PlanTime : public testing::Test {
protected:
  PlanTime() {
    secondsNow = 0;
    options.search.effort = 100;
    options.search.timeLimitMs = 0;
    options.search.clock = manualClock;
    options.deadline = Deadline(1000, manualClock);
    space.name = "plan";
    space.ranks = 2;
    space.layers = 4;
    space.isWrittenAs = [](const PlanShape &) { return false; };
    // The plan as written has four times the work of the others.
    space.make = [this](const PlanShape &shape) -> Result<ShapedPlan> {
      if (onMake)
        onMake(shape);
      const bool isWritten = shape.placing == Placing::AsWritten;
      ShapedPlan plan;
      plan.id = made++;
      plan.problem = test::problemOn(test::waveRanks(2, shape.chunks), 2,
                                     static_cast<int32_t>(shape.microbatches),
                                     {isWritten ? 4000 : 1000, 1000, 1000});
      plan.figures.buffers.resize(plan.problem.numStages());
      plan.figures.devices = plan.problem.memoryCaps;
      for (int32_t s = 0; s < plan.problem.numStages(); ++s)
        plan.ranks.push_back(plan.problem.rankOf(s));
      for (int32_t s = 0; s <= plan.problem.numStages(); ++s)
        plan.begins.push_back(s);
      return plan;
    };
  }

  /// The plan as written, a line and a V.
  PlanSearchResult run() {
    return searchPlans(space,
                       {{Placing::AsWritten, 1, 4},
                        {Placing::Linear, 1, 4},
                        {Placing::V, 2, 4}},
                       options);
  }
  static std::vector<State> statesOf(const PlanSearchResult &result) {
    std::vector<State> states;
    for (const PlanCandidate &candidate : result.candidates)
      states.push_back(candidate.state);
    return states;
  }

  PlanSpace space;
  PlanSearchOptions options;
  std::function<void(const PlanShape &)> onMake;
  size_t made = 0;
};

TEST_F(PlanTime, EnoughOfItTriesAll) {
  PlanSearchResult result = run();
  EXPECT_EQ(made, 3u);
  ASSERT_TRUE(result.best);
  EXPECT_NE(*result.best, 0u);
  for (State state : statesOf(result))
    EXPECT_NE(state, State::NoTime);
}

TEST_F(PlanTime, WhatIsNotMadeInTimeIsLeftOut) {
  onMake = [](const PlanShape &) { secondsNow += 10; };
  PlanSearchResult result = run();
  EXPECT_EQ(made, 1u);
  EXPECT_EQ(statesOf(result),
            (std::vector<State>{State::Open, State::NoTime, State::NoTime}));
  // There still is an answer.
  ASSERT_TRUE(result.best);
  EXPECT_EQ(*result.best, 0u);
}

TEST_F(PlanTime, WhereThereIsLittleThePlanAsWrittenGoesFirst) {
  options.deadline = Deadline(1, manualClock);
  auto make = space.make;
  // The number of tasks makes a first schedule of each take longer.
  space.make = [make](PlanShape shape) {
    shape.microbatches = 1024;
    return make(shape);
  };
  options.observer = [](const PlanCandidate &, const SearchProgress &) {
    secondsNow += 10;
  };
  PlanSearchResult result = run();
  EXPECT_EQ(statesOf(result),
            (std::vector<State>{State::Open, State::NoTime, State::NoTime}));
  ASSERT_TRUE(result.best);
  EXPECT_EQ(*result.best, 0u);
}

TEST(Deadline, CountsFromItsMaking) {
  secondsNow = 5;
  const Deadline deadline(1000, manualClock);
  EXPECT_EQ(deadline.leftMs(), 1000);
  EXPECT_EQ(deadline.leftMs(0.25), 250);
  secondsNow += 0.25;
  EXPECT_EQ(deadline.leftMs(), 750);
  EXPECT_TRUE(deadline.isOver(0.25));
  EXPECT_FALSE(deadline.isOver());
  secondsNow += 100;
  EXPECT_EQ(deadline.leftMs(), 0);
  EXPECT_TRUE(deadline.isOver());
  EXPECT_FALSE(deadline.after(1000).isOver());
  EXPECT_FALSE(Deadline(0, manualClock).exists());
  EXPECT_FALSE(Deadline().isOver());
}

} // namespace
