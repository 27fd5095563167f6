//===- multiply.cpp - Matrix products -------------------------------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Uses OpenBLAS, or plain loops on a machine without it: slow, for tests and
// for programs whose matrix products run elsewhere.
//
// Large products are cut into parts, which the rank's threads share. OpenBLAS
// could use threads itself, but then bits would depend on their number, and all
// ranks of a process would share one set of threads, one product at a time.
//
//===----------------------------------------------------------------------===//

#include "runtime/bodies/linear.h"

#include "runtime/base/thread_pool.h"

#include <algorithm>

#ifdef RONDO_PLAIN_BLAS

#include "runtime/base/vectorise.h"

#include <vector>

namespace rondo::runtime {

void turnOffThreadsOfBlas() {}
void takeKernelsOfProcessor() {}
const char *betterKernels(const char *) { return nullptr; }

namespace {

/// sums[j] += factor * row[j * stride]
template <typename Real>
RONDO_VECTORISE void addScaled(int64_t columns, Real factor,
                               const Real *__restrict row,
                               Real *__restrict sums) {
  for (int64_t j = 0; j < columns; ++j)
    sums[j] += factor * row[j];
}

template <typename Real>
void multiplyPlainly(int64_t rows, int64_t columns, int64_t inner, Real scale,
                     Matrix<Real> a, Matrix<Real> b, Real keep, Real *c,
                     int64_t stride) {
  // b, not transposed, since its rows are what is summed.
  std::vector<Real> copy;
  if (b.transposed) {
    copy.resize(inner * columns);
    for (int64_t j = 0; j < columns; ++j)
      for (int64_t k = 0; k < inner; ++k)
        copy[k * columns + j] = b.data[j * b.stride + k];
    b = {copy.data(), columns};
  }
  std::vector<Real> sums(columns);
  for (int64_t i = 0; i < rows; ++i) {
    std::fill(sums.begin(), sums.end(), Real(0));
    for (int64_t k = 0; k < inner; ++k) {
      Real factor =
          a.transposed ? a.data[k * a.stride + i] : a.data[i * a.stride + k];
      addScaled(columns, factor, b.data + k * b.stride, sums.data());
    }
    Real *row = c + i * stride;
    for (int64_t j = 0; j < columns; ++j)
      row[j] = scale * sums[j] + (keep == 0 ? Real(0) : keep * row[j]);
  }
}

template <typename Real>
void multiplyPart(int64_t rows, int64_t columns, int64_t inner, Real scale,
                  Matrix<Real> a, Matrix<Real> b, Real keep, Real *c,
                  int64_t stride) {
  multiplyPlainly(rows, columns, inner, scale, a, b, keep, c, stride);
}

} // namespace

} // namespace rondo::runtime

#else

#include <cblas.h>
#include <cstdlib>
#include <cstring>
#include <fstream>
#include <iterator>
#include <string>
#include <unistd.h>
#include <vector>

// Not in every cblas.h.
extern "C" void openblas_set_num_threads(int threads);
extern "C" char *openblas_get_corename();

namespace rondo::runtime {

const char *betterKernels(const char *taken) {
#if defined(__x86_64__)
  // OpenBLAS takes these for a processor of Intel that it does not know. If it
  // was built for chosen processors, as the wheel's, it calls them Katmai.
  if (std::strcmp(taken, "Prescott") != 0 && std::strcmp(taken, "Katmai") != 0)
    return nullptr;
  if (__builtin_cpu_supports("avx512f") && __builtin_cpu_supports("avx512bw") &&
      __builtin_cpu_supports("avx512cd") &&
      __builtin_cpu_supports("avx512dq") && __builtin_cpu_supports("avx512vl"))
    return "SkylakeX";
  if (__builtin_cpu_supports("avx2") && __builtin_cpu_supports("fma"))
    return "Haswell";
#else
  (void)taken;
#endif
  return nullptr;
}

void takeKernelsOfProcessor() {
  const char *const variable = "OPENBLAS_CORETYPE";
  const char *better = betterKernels(openblas_get_corename());
  if (!better || std::getenv(variable))
    return;
  // OpenBLAS chooses once, before main(). The arguments are the process's own.
  std::ifstream file("/proc/self/cmdline", std::ios::binary);
  const std::string text(std::istreambuf_iterator<char>(file), {});
  std::vector<char *> arguments;
  for (size_t begin = 0; begin < text.size();
       begin += std::strlen(&text[begin]) + 1)
    arguments.push_back(const_cast<char *>(&text[begin]));
  arguments.push_back(nullptr);
  if (arguments.size() < 2 || setenv(variable, better, /*replace=*/0) != 0)
    return;
  (void)execv("/proc/self/exe", arguments.data());
  // It goes on with the slow kernels, for this process and what it starts.
  (void)unsetenv(variable);
}

void turnOffThreadsOfBlas() { openblas_set_num_threads(1); }

static CBLAS_TRANSPOSE transposition(bool transposed) {
  return transposed ? CblasTrans : CblasNoTrans;
}

static void multiplyPart(int64_t rows, int64_t columns, int64_t inner,
                         float scale, Matrix<float> a, Matrix<float> b,
                         float keep, float *c, int64_t stride) {
  cblas_sgemm(CblasRowMajor, transposition(a.transposed),
              transposition(b.transposed), rows, columns, inner, scale, a.data,
              a.stride, b.data, b.stride, keep, c, stride);
}

static void multiplyPart(int64_t rows, int64_t columns, int64_t inner,
                         double scale, Matrix<double> a, Matrix<double> b,
                         double keep, double *c, int64_t stride) {
  cblas_dgemm(CblasRowMajor, transposition(a.transposed),
              transposition(b.transposed), rows, columns, inner, scale, a.data,
              a.stride, b.data, b.stride, keep, c, stride);
}

} // namespace rondo::runtime

#endif

namespace rondo::runtime {

namespace {

/// One side of a product is cut into parts of equal size but for the last.
struct Cuts {
  int64_t extent, each, count;

  Cuts(int64_t extent, int64_t each)
      : extent(extent), each(each), count(std::max<int64_t>(1, extent / each)) {
  }
  int64_t first(int64_t part) const { return part * each; }
  int64_t size(int64_t part) const {
    return part + 1 < count ? each : extent - first(part);
  }
};

/// Elements of a part along the longer side of a product, and along the other.
/// The fewer parts, the less often OpenBLAS copies an operand.
constexpr int64_t partOfLongSide = 256, partOfShortSide = 1024;
/// Below this number of multiplications, a product is one part.
constexpr int64_t leastToCut = 1 << 22;

/// The bits of a part's elements depend on its sizes. So the parts follow from
/// the product's sizes alone, whatever the number of threads.
template <typename Real>
void multiplyByParts(int64_t rows, int64_t columns, int64_t inner, Real scale,
                     Matrix<Real> a, Matrix<Real> b, Real keep, Real *c,
                     int64_t stride) {
  if (rows * columns * inner < leastToCut)
    return multiplyPart(rows, columns, inner, scale, a, b, keep, c, stride);
  const bool isHigh = rows >= columns;
  const Cuts down(rows, isHigh ? partOfLongSide : partOfShortSide);
  const Cuts across(columns, isHigh ? partOfShortSide : partOfLongSide);
  runParts(down.count * across.count, [&](int64_t part) {
    const int64_t i = part / across.count, j = part % across.count;
    const int64_t row = down.first(i), column = across.first(j);
    Matrix<Real> above = a, left = b;
    above.data += a.transposed ? row : row * a.stride;
    left.data += b.transposed ? column * b.stride : column;
    multiplyPart(down.size(i), across.size(j), inner, scale, above, left, keep,
                 c + row * stride + column, stride);
  });
}

} // namespace

void multiply(int64_t rows, int64_t columns, int64_t inner, float scale,
              Matrix<float> a, Matrix<float> b, float keep, float *c,
              int64_t stride) {
  multiplyByParts(rows, columns, inner, scale, a, b, keep, c, stride);
}

void multiply(int64_t rows, int64_t columns, int64_t inner, double scale,
              Matrix<double> a, Matrix<double> b, double keep, double *c,
              int64_t stride) {
  multiplyByParts(rows, columns, inner, scale, a, b, keep, c, stride);
}

} // namespace rondo::runtime
