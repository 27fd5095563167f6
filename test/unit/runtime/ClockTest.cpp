//===- ClockTest.cpp - The time in which a process runs -------------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "runtime/base/clock.h"

#include "gtest/gtest.h"

using namespace rondo::runtime;

namespace {

// A suspended process, as after Ctrl-Z, asks for the time long after it last
// did.
TEST(AwakeClock, LeavesOutStops) {
  int64_t source = 5'000'000'000;
  AwakeClock clock([&] { return source; });
  EXPECT_EQ(clock.now(), 0);
  source += 300'000'000;
  EXPECT_EQ(clock.now(), 300'000'000);
  source += 3'600'000'000'000;
  EXPECT_EQ(clock.now(), 1'300'000'000);
  source += 1'000'000'000;
  EXPECT_EQ(clock.now(), 2'300'000'000);
}

TEST(AwakeClock, GoesOnWhileTheProcessRuns) {
  AwakeClock clock;
  const int64_t begin = nowNs();
  sleepUntil(begin + 2'000'000);
  EXPECT_GE(clock.now(), 2'000'000);
}

} // namespace
