// Tests that end the process, and one that only fails behind another.

#include "gtest/gtest.h"

#include <cstdlib>

static int cases = 0;

TEST(Ending, PassesBefore) { ++cases; }
TEST(Ending, Aborts) { std::abort(); }
TEST(Ending, PassesBetween) { ++cases; }
TEST(Ending, FailsInCompany) { EXPECT_EQ(cases, 0); }
TEST(Ending, Exits) { std::_Exit(3); }
TEST(Ending, PassesBehind) { ++cases; }
