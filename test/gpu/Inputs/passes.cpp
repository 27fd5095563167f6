// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// A test that passes.

#include "gtest/gtest.h"

TEST(Outcome, Passes) { EXPECT_EQ(1 + 1, 2); }
