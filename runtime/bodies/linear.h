//===- linear.h - Matrix products and linear layers -------------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Matrices are row-major.
//
//===----------------------------------------------------------------------===//

#ifndef RONDO_RUNTIME_BODIES_LINEAR_H
#define RONDO_RUNTIME_BODIES_LINEAR_H

#include <cstdint>

namespace rondo::runtime {

/// A matrix whose rows start `stride` elements apart, used transposed or not.
template <typename Real> struct Matrix {
  const Real *data;
  int64_t stride;
  bool transposed = false;
};

/// Call this before a program does anything. An OpenBLAS that is older than the
/// processor takes kernels for the oldest x86-64, which have a third of the
/// speed; then the process starts again with OPENBLAS_CORETYPE set to kernels
/// that the processor can run. A value that the user has set stays.
void takeKernelsOfProcessor();

/// The kernels that OpenBLAS should take instead of those that it took; null:
/// none are better.
const char *betterKernels(const char *taken);

/// Call this at start: multiply() shares its work among the rank's threads
/// itself (base/thread_pool.h).
void turnOffThreadsOfBlas();

/// c [rows, columns] = scale * a b + keep * c, with `inner` the shared extent.
/// If keep == 0, c need not be initialised. Bits do not depend on the number of
/// threads.
void multiply(int64_t rows, int64_t columns, int64_t inner, float scale,
              Matrix<float> a, Matrix<float> b, float keep, float *c,
              int64_t stride);
void multiply(int64_t rows, int64_t columns, int64_t inner, double scale,
              Matrix<double> a, Matrix<double> b, double keep, double *c,
              int64_t stride);

/// y [rows, out] = residual + x w + bias. The residual may be null, or y
/// itself.
template <typename Real>
void linearForward(int64_t rows, int64_t in, int64_t out, const Real *x,
                   const Real *w, const Real *bias, const Real *residual,
                   Real *y);

/// dx [rows, in] = dy w^T.
template <typename Real>
void linearInputGrad(int64_t rows, int64_t in, int64_t out, const Real *dy,
                     const Real *w, Real *dx);

/// dw [in, out] += x^T dy, dbias += column sums of dy.
template <typename Real>
void linearWeightGrad(int64_t rows, int64_t in, int64_t out, const Real *x,
                      const Real *dy, Real *dw, Real *dbias);

// Projections have matrices of the other order, [out, in]. Rows of y and dy are
// `stride` elements apart.

/// y = keep * y + x w^T.
template <typename Real>
void projectForward(int64_t rows, int64_t in, int64_t out, const Real *x,
                    const Real *w, Real keep, Real *y, int64_t stride);

/// dx [rows, in] = keep * dx + dy w.
template <typename Real>
void projectInputGrad(int64_t rows, int64_t in, int64_t out, const Real *dy,
                      int64_t stride, const Real *w, Real keep, Real *dx);

/// dw += dy^T x.
template <typename Real>
void projectWeightGrad(int64_t rows, int64_t in, int64_t out, const Real *x,
                       const Real *dy, int64_t stride, Real *dw);

/// y = bias.
template <typename Real>
void copyBias(int64_t rows, int64_t out, const Real *bias, Real *y,
              int64_t stride);

/// dbias += column sums of dy.
template <typename Real>
void addBiasGrad(int64_t rows, int64_t out, const Real *dy, int64_t stride,
                 Real *dbias);

} // namespace rondo::runtime

#endif // RONDO_RUNTIME_BODIES_LINEAR_H
