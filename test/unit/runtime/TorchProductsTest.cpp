//===- TorchProductsTest.cpp - Matrix products of graphs ------------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "TorchTensors.h"

#include "gtest/gtest.h"

namespace rondo::torch {

extern "C" {
int32_t aoti_torch_cpu_mm_out(Tensor *, Tensor *, Tensor *);
int32_t aoti_torch_cpu_bmm_out(Tensor *, Tensor *, Tensor *);
int32_t aoti_torch_cpu_addmm_out(Tensor *, Tensor *, Tensor *, Tensor *, double,
                                 double);
int32_t aoti_torch_cpu__grouped_mm(Tensor *, Tensor *, Tensor **, Tensor **,
                                   int32_t *, Tensor **);
}

namespace {

/// sum over k of a[i][k] b[k][j].
float productAt(const Tensor &a, const Tensor &b, int64_t i, int64_t j) {
  float sum = 0;
  for (int64_t k = 0; k < a.sizes[1]; ++k)
    sum += a.floats()[i * a.strides[0] + k * a.strides[1]] *
           b.floats()[k * b.strides[0] + j * b.strides[1]];
  return sum;
}

TEST(TorchProducts, MultipliesAnyLayout) {
  const Recording recording;
  std::vector<float> x = randomly(64, 1), y = randomly(64, 2), z(64);
  const std::vector<std::vector<int64_t>> as = {{5, 1}, {1, 3}, {10, 2}};
  const std::vector<std::vector<int64_t>> bs = {{4, 1}, {1, 5}, {0, 1}};
  const std::vector<std::vector<int64_t>> outs = {{4, 1}, {1, 3}};
  for (const auto &aStrides : as)
    for (const auto &bStrides : bs)
      for (const auto &outStrides : outs) {
        Tensor a = over(x, {3, 5}, aStrides), b = over(y, {5, 4}, bStrides);
        Tensor out = over(z, {3, 4}, outStrides);
        ASSERT_EQ(aoti_torch_cpu_mm_out(&out, &a, &b), 0);
        for (int64_t i = 0; i < 3; ++i)
          for (int64_t j = 0; j < 4; ++j)
            ASSERT_NEAR(z[i * outStrides[0] + j * outStrides[1]],
                        productAt(a, b, i, j), 1e-5);
      }
}

TEST(TorchProducts, AddsToWhatIsThere) {
  std::vector<float> x = randomly(15, 1), y = randomly(20, 2),
                     bias = {1, 2, 3, 4};
  std::vector<float> z = randomly(12, 3);
  const std::vector<float> before = z;
  Tensor a = over(x, {3, 5}), b = over(y, {5, 4}), out = over(z, {3, 4});
  ASSERT_EQ(aoti_torch_cpu_addmm_out(&out, &out, &a, &b, 1, 1), 0);
  EXPECT_NEAR(z[7], before[7] + productAt(a, b, 1, 3), 1e-5);
  Tensor row = over(bias, {4});
  ASSERT_EQ(aoti_torch_cpu_addmm_out(&out, &row, &a, &b, 2, 0.5), 0);
  EXPECT_NEAR(z[7], 2 * bias[3] + 0.5 * productAt(a, b, 1, 3), 1e-5);
}

TEST(TorchProducts, MultipliesEachSample) {
  std::vector<float> x = randomly(30, 1), y = randomly(40, 2), z(24);
  Tensor a = over(x, {2, 3, 5}), b = over(y, {2, 5, 4}),
         out = over(z, {2, 3, 4});
  ASSERT_EQ(aoti_torch_cpu_bmm_out(&out, &a, &b), 0);
  std::vector<float> left(x.begin() + 15, x.end()),
      right(y.begin() + 20, y.end());
  EXPECT_NEAR(z[12 + 7],
              productAt(over(left, {3, 5}), over(right, {5, 4}), 1, 3), 1e-5);
}

/// Products of three groups, the second of which is empty, against a loop over
/// all elements: `a` and `b` are matrices, or have one for each group.
void checkGroups(std::vector<int64_t> aSizes, std::vector<int64_t> aStrides,
                 std::vector<int64_t> bSizes) {
  std::vector<float> x = randomly(512, 1), y = randomly(512, 2);
  Tensor a = over(x, aSizes, aStrides), b = over(y, bSizes);
  int32_t ends[] = {3, 3, 7};
  Tensor groups{};
  groups.storage = reinterpret_cast<char *>(ends);
  groups.dtype = 3;
  groups.numDims = 1;
  groups.sizes[0] = 3;
  groups.strides[0] = 1;
  Tensor *given = &groups, *out = nullptr;
  ASSERT_EQ(aoti_torch_cpu__grouped_mm(&a, &b, &given, nullptr, nullptr, &out),
            0);
  const bool aHas = aSizes.size() == 3, bHas = bSizes.size() == 3;
  const int64_t rows = aSizes[aHas], inner = aSizes[aHas + 1];
  const int64_t columns = bSizes[bHas + 1];
  auto element = [](const Tensor &of, int64_t g, int64_t i, int64_t j) {
    const int32_t d = of.numDims - 2;
    return of.floats()[(d ? g * of.strides[0] : 0) + i * of.strides[d] +
                       j * of.strides[d + 1]];
  };
  for (int64_t g = 0; g < 3; ++g)
    for (int64_t i = 0; i < rows; ++i)
      for (int64_t j = 0; j < columns; ++j) {
        const int64_t first = g == 0 ? 0 : ends[g - 1];
        auto isIn = [&](int64_t k) { return k >= first && k < ends[g]; };
        if ((bHas && !isIn(i)) || (aHas && !isIn(j)))
          continue;
        float sum = 0;
        for (int64_t k = 0; k < inner; ++k)
          if (aHas || bHas || isIn(k))
            sum += element(a, g, i, k) * element(b, g, k, j);
        ASSERT_NEAR(element(*out, g, i, j), sum, 1e-5)
            << g << " " << i << " " << j;
      }
  deleteTensor(out);
}

TEST(TorchProducts, MultipliesGroups) {
  const Recording recording;
  checkGroups({9, 5}, {}, {3, 5, 4});
  checkGroups({9, 5}, {1, 9}, {3, 5, 4});
  checkGroups({3, 4, 5}, {}, {5, 9});
  checkGroups({5, 9}, {1, 5}, {9, 6});
}

TEST(TorchProducts, LeavesRowsOfNoGroupAtZero) {
  const Recording recording;
  std::vector<float> x(8, 1), y(4, 1);
  Tensor a = over(x, {4, 2}), b = over(y, {1, 2, 2}), groups{};
  int32_t end = 3;
  groups.storage = reinterpret_cast<char *>(&end);
  groups.dtype = 3;
  groups.numDims = 1;
  groups.sizes[0] = 1;
  Tensor *given = &groups, *out = nullptr;
  ASSERT_EQ(aoti_torch_cpu__grouped_mm(&a, &b, &given, nullptr, nullptr, &out),
            0);
  EXPECT_EQ(out->strides[0], 4) << "rows begin at multiples of 16 bytes";
  EXPECT_EQ(out->floats()[2 * 4 + 1], 2);
  EXPECT_EQ(out->floats()[3 * 4 + 1], 0);
  deleteTensor(out);
}

} // namespace
} // namespace rondo::torch
