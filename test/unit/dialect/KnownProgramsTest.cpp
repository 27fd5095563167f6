//===- KnownProgramsTest.cpp - What passes hand on about programs ---------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "passes/KnownPrograms.h"

#include "gtest/gtest.h"

using namespace rondo;

namespace {

Schedule scheduleOf(const std::vector<std::vector<Action>> &orders) {
  Schedule schedule;
  for (const std::vector<Action> &order : orders) {
    for (Action action : order)
      schedule.append(action);
    schedule.endRank();
  }
  return schedule;
}

// Else a program would be believed to run as another one does.
TEST(KnownPrograms, ARunIsOfOneOrder) {
  const Action f0(ActionKind::Forward, 0, 0), f1(ActionKind::Forward, 0, 1),
      b0(ActionKind::Backward, 0, 0);
  const pipe::SimulatedOrder simulated = {scheduleOf({{f0, b0}, {f1}}), {}};
  EXPECT_TRUE(simulated.isOf(scheduleOf({{f0, b0}, {f1}})));
  EXPECT_FALSE(simulated.isOf(scheduleOf({{b0, f0}, {f1}})));
  EXPECT_FALSE(simulated.isOf(scheduleOf({{f0}, {b0, f1}})));
  EXPECT_FALSE(simulated.isOf(scheduleOf({{f0, b0}, {f1}, {}})));
  EXPECT_FALSE(simulated.isOf(scheduleOf({{f0, b0}})));
}

} // namespace
