//===- MultiplyTest.cpp - Matrix products against plain sums --------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Compiled twice: with OpenBLAS and with the loops used without it.
//
//===----------------------------------------------------------------------===//

#include "runtime/base/thread_pool.h"
#include "runtime/bodies/linear.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <vector>

using namespace rondo::runtime;

namespace {

template <typename Real>
std::vector<Real> numbers(int64_t count, uint32_t seed) {
  std::vector<Real> values(count);
  for (Real &value : values) {
    seed = seed * 1664525u + 1013904223u;
    value = Real(seed >> 8) / Real(1 << 23) - 1;
  }
  return values;
}

template <typename Real>
void check(int64_t rows, int64_t columns, int64_t inner, bool transposeA,
           bool transposeB, Real scale, Real keep, double tolerance) {
  // Strides larger than the rows.
  int64_t strideA = (transposeA ? rows : inner) + 3;
  int64_t strideB = (transposeB ? inner : columns) + 1;
  int64_t strideC = columns + 2;
  auto a = numbers<Real>((transposeA ? inner : rows) * strideA, 1);
  auto b = numbers<Real>((transposeB ? columns : inner) * strideB, 2);
  auto c = numbers<Real>(rows * strideC, 3);
  if (keep == 0)
    for (int64_t i = 0; i < rows; ++i)
      std::fill_n(c.begin() + i * strideC, columns, Real(NAN));
  std::vector<Real> before = c;
  multiply(rows, columns, inner, scale, {a.data(), strideA, transposeA},
           {b.data(), strideB, transposeB}, keep, c.data(), strideC);
  for (int64_t i = 0; i < rows; ++i)
    for (int64_t j = 0; j < strideC; ++j) {
      Real old = before[i * strideC + j];
      if (j >= columns) {
        // Memory after the row belongs to someone else.
        EXPECT_EQ(c[i * strideC + j], old);
        continue;
      }
      double sum = 0;
      for (int64_t k = 0; k < inner; ++k)
        sum += double(a[transposeA ? k * strideA + i : i * strideA + k]) *
               double(b[transposeB ? j * strideB + k : k * strideB + j]);
      double expected = scale * sum + (keep == 0 ? 0 : keep * old);
      EXPECT_NEAR(c[i * strideC + j], expected, tolerance)
          << rows << "x" << columns << "x" << inner << " at " << i << ", " << j;
    }
}

TEST(Multiply, EqualsPlainSums) {
  for (bool transposeA : {false, true})
    for (bool transposeB : {false, true})
      for (float keep : {0.0f, 1.0f, 0.5f}) {
        check<float>(1, 1, 1, transposeA, transposeB, 1, keep, 1e-6);
        check<float>(7, 13, 5, transposeA, transposeB, 0.25f, keep, 1e-5);
        check<double>(17, 3, 40, transposeA, transposeB, 2, keep, 1e-12);
      }
}

/// Large enough that products are cut into parts, which are not all of one
/// size.
TEST(Multiply, PartsMakeTheWhole) {
  for (int32_t threads : {1, 3}) {
    ThreadPool pool(threads);
    ThreadPool::useHere(&pool);
    for (bool transposeA : {false, true})
      for (bool transposeB : {false, true}) {
        check<float>(700, 1030, 7, transposeA, transposeB, 1, 1, 1e-5);
        check<float>(2100, 530, 5, transposeA, transposeB, 2, 0, 1e-5);
      }
    ThreadPool::useHere(nullptr);
  }
}

template <typename Real> std::vector<Real> productWith(int32_t threads) {
  constexpr int64_t rows = 1100, columns = 530, inner = 40;
  ThreadPool pool(threads);
  ThreadPool::useHere(&pool);
  const auto a = numbers<Real>(rows * inner, 1),
             b = numbers<Real>(inner * columns, 2);
  auto c = numbers<Real>(rows * columns, 3);
  multiply(rows, columns, inner, Real(1), {a.data(), inner},
           {b.data(), columns}, Real(1), c.data(), columns);
  ThreadPool::useHere(nullptr);
  return c;
}

TEST(Multiply, BitsDoNotDependOnTheNumberOfThreads) {
  for (int32_t threads : {2, 3, 5}) {
    EXPECT_TRUE(productWith<float>(threads) == productWith<float>(1));
    EXPECT_TRUE(productWith<double>(threads) == productWith<double>(1));
  }
}

TEST(Multiply, TakesBetterKernelsOnlyForUnknownProcessors) {
  EXPECT_EQ(betterKernels("Haswell"), nullptr);
  EXPECT_EQ(betterKernels("Zen"), nullptr);
#if defined(__x86_64__) && !defined(RONDO_PLAIN_BLAS)
  const bool hasVectors =
      __builtin_cpu_supports("avx2") && __builtin_cpu_supports("fma");
  for (const char *oldest : {"Prescott", "Katmai"})
    EXPECT_EQ(betterKernels(oldest) != nullptr, hasVectors) << oldest;
#endif
}

} // namespace
