//===- KnownProgramsTest.cpp - What passes hand on about programs ---------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "passes/KnownPrograms.h"
#include "test/unit/schedule/Examples.h"

#include "gtest/gtest.h"

using namespace rondo;

namespace {

// Else a program would be believed to run as another one does.
TEST(KnownPrograms, ARunIsOfOneOrder) {
  const pipe::SimulatedOrder simulated = {
      rondo::test::scheduleOf({"0F0 0B0", "0F1"}), {}};
  EXPECT_TRUE(simulated.isOf(rondo::test::scheduleOf({"0F0 0B0", "0F1"})));
  EXPECT_FALSE(simulated.isOf(rondo::test::scheduleOf({"0B0 0F0", "0F1"})));
  EXPECT_FALSE(simulated.isOf(rondo::test::scheduleOf({"0F0", "0B0 0F1"})));
  EXPECT_FALSE(simulated.isOf(rondo::test::scheduleOf({"0F0 0B0", "0F1", ""})));
  EXPECT_FALSE(simulated.isOf(rondo::test::scheduleOf({"0F0 0B0"})));
}

} // namespace
