//===- DeadlineTest.cpp - When a wait has taken too long ------------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "ManualClock.h"

#include "runtime/base/clock.h"

#include "gtest/gtest.h"

#include <future>

using namespace rondo::runtime;
using rondo::runtime::test::ManualClock;

namespace {

TEST(Deadline, ExpiresOnceItsTimeHasPassedWithoutProgress) {
  auto clock = std::make_shared<ManualClock>();
  clock->advance(100);
  Deadline deadline(5, clock);
  clock->advance(4.9);
  EXPECT_FALSE(deadline.hasExpired());
  EXPECT_NEAR(deadline.leftSeconds(10), 0.1, 1e-6);
  EXPECT_EQ(deadline.leftSeconds(0.05), 0.05);
  deadline.renew();
  clock->advance(4.9);
  EXPECT_FALSE(deadline.hasExpired());
  EXPECT_NEAR(deadline.elapsedSeconds(), 4.9, 1e-6);
  clock->advance(0.2);
  EXPECT_TRUE(deadline.hasExpired());
  EXPECT_EQ(deadline.leftSeconds(10), 0);
}

TEST(Deadline, OfNoTimeNeverExpires) {
  auto clock = std::make_shared<ManualClock>();
  const Deadline none(0, clock), empty;
  clock->advance(1e9);
  EXPECT_FALSE(none.hasExpired());
  EXPECT_FALSE(empty.hasExpired());
  EXPECT_EQ(none.leftSeconds(3), 3);
}

TEST(DeadlineGuard, CallsOnceTheTimeIsOver) {
  std::promise<void> expired;
  {
    const DeadlineGuard guard(0.05, [&] { expired.set_value(); });
    expired.get_future().wait();
  }
  bool isCalled = false;
  {
    const DeadlineGuard guard(60, [&] { isCalled = true; });
    const DeadlineGuard none(0, [&] { isCalled = true; });
  }
  EXPECT_FALSE(isCalled);
}

} // namespace
