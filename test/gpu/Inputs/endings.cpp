// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Tests that end the process, one that never ends, and one that only fails
// after another.

#include "gtest/gtest.h"

#include <cstdlib>
#include <unistd.h>

static int cases = 0;

TEST(Ending, PassesBefore) { ++cases; }
TEST(Ending, Aborts) { std::abort(); }
TEST(Ending, PassesBetween) { ++cases; }
TEST(Ending, FailsInCompany) { EXPECT_EQ(cases, 0); }
TEST(Ending, Exits) { std::_Exit(3); }
TEST(Ending, Hangs) {
  for (;;)
    pause();
}
TEST(Ending, PassesBehind) { ++cases; }
