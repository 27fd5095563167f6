// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Tests with every outcome.

#include "gtest/gtest.h"

#include <stdexcept>
#include <thread>

TEST(Outcome, Passes) {
  EXPECT_EQ(1 + 1, 2) << "not seen";
  EXPECT_NEAR(1.0, 1.05, 0.1);
  EXPECT_STREQ("same", std::string("same").c_str());
  EXPECT_THROW(throw std::runtime_error("x"), std::runtime_error);
  EXPECT_FLOAT_EQ(0.1f + 0.2f, 0.3f);
  EXPECT_EQ((std::vector<int>{1, 2}), (std::vector<int>{1, 2}));
}

TEST(Outcome, FailsAndGoesOn) {
  SCOPED_TRACE("a trace");
  int two = 2;
  EXPECT_EQ(two, 3) << "said with " << two;
  EXPECT_NEAR(1.0, 1.5, 0.1);
}

TEST(Outcome, FailsAndStops) {
  ASSERT_LT(2, 1);
  ADD_FAILURE() << "never reached";
}

TEST(Outcome, FailsInAThread) {
  std::thread([] { EXPECT_TRUE(false); }).join();
}

TEST(Outcome, Throws) { throw std::runtime_error("no such thing"); }

class Skipping : public testing::Test {
protected:
  void SetUp() override { GTEST_SKIP() << "nothing to run on"; }
};
TEST_F(Skipping, IsNotRun) { FAIL() << "never reached"; }

class Numbers : public testing::TestWithParam<std::tuple<int, bool>> {};
TEST_P(Numbers, AreSmall) { EXPECT_LT(std::get<0>(GetParam()), 3); }
INSTANTIATE_TEST_SUITE_P(
    Few, Numbers, testing::Combine(testing::Values(1, 2, 3), testing::Bool()),
    [](const testing::TestParamInfo<std::tuple<int, bool>> &info) {
      return std::to_string(std::get<0>(info.param)) +
             (std::get<1>(info.param) ? "yes" : "no");
    });
