// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Sums of several buffers have the same bits as adding one after another.

#include "DeviceTest.h"

#include "runtime/device/cuda/kernels.h"

namespace rondo::runtime::cuda {
namespace {

template <typename T> class Add : public DeviceTest {};
using Types = testing::Types<float, Bf16>;
TYPED_TEST_SUITE(Add, Types);

/// One after another, each sum rounded.
template <typename T>
std::vector<T> sumOf(const std::vector<std::vector<T>> &parts,
                     const std::vector<int> &order) {
  std::vector<T> sum = parts[order[0]];
  for (size_t k = 1; k < order.size(); ++k)
    for (size_t i = 0; i < sum.size(); ++i) {
      const float next = static_cast<float>(number(sum[i])) +
                         static_cast<float>(number(parts[order[k]][i]));
      sum[i] = rounded<T>(next);
    }
  return sum;
}

TYPED_TEST(Add, PartAfterPart) {
  using T = TypeParam;
  // None, one, no whole block, and more than all blocks take at once.
  for (int64_t count : {0, 1, 100, 1000, 256 * 1024 + 300}) {
    std::vector<std::vector<T>> parts;
    for (uint64_t part = 0; part < 3; ++part)
      parts.push_back(randoms<T>(part + 1, count));
    DeviceArray<T> sum(parts[0]), second(parts[1]), third(parts[2]);
    addTo(this->stream, sum.get(), second.get(), count);
    addTo(this->stream, sum.get(), third.get(), count);
    this->wait();
    EXPECT_TRUE(same(sum.read(), sumOf<T>(parts, {0, 1, 2}))) << count;
    EXPECT_TRUE(same(second.read(), parts[1]));
    // A different order gives different bits.
    if (count >= 100) {
      EXPECT_FALSE(same(sum.read(), sumOf<T>(parts, {0, 2, 1}))) << count;
    }
  }
}

} // namespace
} // namespace rondo::runtime::cuda
