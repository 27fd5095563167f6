// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// The exponential and the sums that everything else builds on.

#include "runtime/base/vectorise.h"

#include <algorithm>
#include <gtest/gtest.h>
#include <limits>
#include <vector>

namespace rondo::runtime {
namespace {

TEST(Vectorise, ExponentialIsAccurate) {
  double worst = 0;
  for (double x = -87; x <= 88; x += 0.00037) {
    float value = exponential(static_cast<float>(x));
    double exact = std::exp(static_cast<double>(static_cast<float>(x)));
    worst = std::max(worst, std::abs(value - exact) / exact);
  }
  EXPECT_LT(worst, 2.5e-7);
  EXPECT_EQ(exponential(0.0f), 1.0f);
}

TEST(Vectorise, ExponentialAtTheEnds) {
  const float infinity = std::numeric_limits<float>::infinity();
  EXPECT_TRUE(std::isfinite(exponential(infinity)));
  EXPECT_GT(exponential(infinity), 1e38f);
  EXPECT_LT(exponential(-infinity), 1e-37f);
  EXPECT_GT(exponential(-infinity), 0);
  EXPECT_TRUE(std::isnan(exponential(std::nanf(""))));
}

TEST(Vectorise, SumsAndMaximaOfAnyLength) {
  std::vector<float> values;
  for (int count = 1; count < 100; ++count) {
    values.push_back(static_cast<float>(count * 7919 % 101));
    double sum = 0;
    for (float value : values)
      sum += value;
    EXPECT_EQ(laneSum<float>(count, [&](int64_t i) { return values[i]; }), sum);
    EXPECT_EQ(laneMax(count, values.data()),
              *std::max_element(values.begin(), values.end()));
  }
}

} // namespace
} // namespace rondo::runtime
