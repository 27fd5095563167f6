//===- multiply.cpp - Matrix products -------------------------------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Uses OpenBLAS, or plain loops on a machine without it: slow, for tests and
// for programs whose matrix products run elsewhere.
//
//===----------------------------------------------------------------------===//

#include "runtime/bodies/linear.h"

#ifdef RONDO_PLAIN_BLAS

#include "runtime/base/vectorise.h"

#include <algorithm>
#include <vector>

namespace rondo::runtime {

void useOneThreadToMultiply() {}

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

} // namespace

void multiply(int64_t rows, int64_t columns, int64_t inner, float scale,
              Matrix<float> a, Matrix<float> b, float keep, float *c,
              int64_t stride) {
  multiplyPlainly(rows, columns, inner, scale, a, b, keep, c, stride);
}

void multiply(int64_t rows, int64_t columns, int64_t inner, double scale,
              Matrix<double> a, Matrix<double> b, double keep, double *c,
              int64_t stride) {
  multiplyPlainly(rows, columns, inner, scale, a, b, keep, c, stride);
}

} // namespace rondo::runtime

#else

#include <cblas.h>

// Not in every cblas.h.
extern "C" void openblas_set_num_threads(int threads);

namespace rondo::runtime {

void useOneThreadToMultiply() { openblas_set_num_threads(1); }

static CBLAS_TRANSPOSE transposition(bool transposed) {
  return transposed ? CblasTrans : CblasNoTrans;
}

void multiply(int64_t rows, int64_t columns, int64_t inner, float scale,
              Matrix<float> a, Matrix<float> b, float keep, float *c,
              int64_t stride) {
  cblas_sgemm(CblasRowMajor, transposition(a.transposed),
              transposition(b.transposed), rows, columns, inner, scale, a.data,
              a.stride, b.data, b.stride, keep, c, stride);
}

void multiply(int64_t rows, int64_t columns, int64_t inner, double scale,
              Matrix<double> a, Matrix<double> b, double keep, double *c,
              int64_t stride) {
  cblas_dgemm(CblasRowMajor, transposition(a.transposed),
              transposition(b.transposed), rows, columns, inner, scale, a.data,
              a.stride, b.data, b.stride, keep, c, stride);
}

} // namespace rondo::runtime

#endif
