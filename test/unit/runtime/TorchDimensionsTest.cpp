//===- TorchDimensionsTest.cpp - Operations of graphs along a dimension ---===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "TorchTensors.h"

#include "gtest/gtest.h"

#include <cmath>
#include <numeric>

namespace rondo::torch {

extern "C" {
int32_t aoti_torch_cpu_cumsum(Tensor *, int64_t, int32_t *, Tensor **);
int32_t aoti_torch_cpu_sort_stable(Tensor *, int32_t *, int64_t, int32_t,
                                   Tensor **, Tensor **);
int32_t aoti_torch_cpu_histc(Tensor *, int64_t, double, double, Tensor **);
int32_t aoti_torch_cpu_topk(Tensor *, int64_t, int64_t, int32_t, int32_t,
                            Tensor **, Tensor **);
}

namespace {

TEST(TorchDimensions, AddsUpAlongADimension) {
  const Recording recording;
  std::vector<float> x(12);
  std::iota(x.begin(), x.end(), 1.0f);
  Tensor tensor = over(x, {2, 3, 2});
  Tensor *sums = nullptr;
  ASSERT_EQ(aoti_torch_cpu_cumsum(&tensor, 1, nullptr, &sums), 0);
  const std::vector<float> expected = {1, 2, 4, 6, 9, 12, 7, 8, 16, 18, 27, 30};
  EXPECT_EQ(std::vector<float>(sums->floats(), sums->floats() + 12), expected);
  deleteTensor(sums);
  ASSERT_EQ(aoti_torch_cpu_cumsum(&tensor, -1, nullptr, &sums), 0);
  EXPECT_EQ(sums->floats()[1], 3);
  deleteTensor(sums);
}

TEST(TorchDimensions, AddsUpInAnotherType) {
  const Recording recording;
  std::vector<float> x = {2, 0, 3};
  Tensor tensor = over(x, {3}), *sums = nullptr;
  int32_t int32 = 3, float64 = 7;
  ASSERT_EQ(aoti_torch_cpu_cumsum(&tensor, 0, &int32, &sums), 0);
  const auto *found = reinterpret_cast<const int32_t *>(sums->data());
  EXPECT_EQ(std::vector<int32_t>(found, found + 3),
            (std::vector<int32_t>{2, 2, 5}));
  deleteTensor(sums);
  EXPECT_EQ(aoti_torch_cpu_cumsum(&tensor, 0, &float64, &sums), 1);
  EXPECT_EQ(lastFault(), "cumsum takes and gives fp32, int32 and int64");
  deleteTensor(sums);
}

TEST(TorchDimensions, SortsWithEqualValuesInOrder) {
  const Recording recording;
  std::vector<float> x = {2, NAN, 1, 2, 1, 3};
  Tensor tensor = over(x, {6}), *values = nullptr, *places = nullptr;
  auto order = [&](int32_t descending) {
    EXPECT_EQ(aoti_torch_cpu_sort_stable(&tensor, nullptr, 0, descending,
                                         &values, &places),
              0);
    const auto *index = reinterpret_cast<const int64_t *>(places->data());
    std::vector<int64_t> result(index, index + 6);
    EXPECT_EQ(values->floats()[2], 2) << descending;
    deleteTensor(values);
    deleteTensor(places);
    return result;
  };
  EXPECT_EQ(order(0), (std::vector<int64_t>{2, 4, 0, 3, 5, 1}));
  EXPECT_EQ(order(1), (std::vector<int64_t>{1, 5, 0, 3, 2, 4}));
}

TEST(TorchDimensions, CountsValuesInBins) {
  const Recording recording;
  std::vector<float> x = {0, 1, 1, 3, 2.9f, -1, 4, NAN};
  Tensor tensor = over(x, {8}), *counts = nullptr;
  ASSERT_EQ(aoti_torch_cpu_histc(&tensor, 4, 0, 3, &counts), 0);
  EXPECT_EQ(std::vector<float>(counts->floats(), counts->floats() + 4),
            (std::vector<float>{1, 2, 0, 2}));
  deleteTensor(counts);
}

TEST(TorchDimensions, TakesTheLargestAndOfEqualOnesTheFirst) {
  const Recording recording;
  std::vector<float> x = {1, 3, 3, 2, NAN, 0, 5, 4};
  Tensor tensor = over(x, {2, 4});
  Tensor *values = nullptr, *places = nullptr;
  ASSERT_EQ(aoti_torch_cpu_topk(&tensor, 2, -1, 1, 1, &values, &places), 0);
  const auto *index = reinterpret_cast<const int64_t *>(places->data());
  EXPECT_EQ(std::vector<int64_t>(index, index + 4),
            (std::vector<int64_t>{1, 2, 0, 2}));
  EXPECT_EQ(values->floats()[3], 5);
  deleteTensor(values);
  deleteTensor(places);
  ASSERT_EQ(aoti_torch_cpu_topk(&tensor, 2, 0, 0, 1, &values, &places), 0);
  const auto *least = reinterpret_cast<const int64_t *>(places->data());
  EXPECT_EQ(std::vector<int64_t>(least, least + 4),
            (std::vector<int64_t>{0, 1, 0, 0}));
  deleteTensor(values);
  deleteTensor(places);
}

} // namespace
} // namespace rondo::torch
