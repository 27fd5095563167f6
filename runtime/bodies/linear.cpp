//===- linear.cpp - Linear layers -----------------------------------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "runtime/bodies/linear.h"

#include "runtime/base/thread_pool.h"
#include "runtime/base/vectorise.h"

namespace rondo::runtime {

namespace {

template <typename Real>
RONDO_VECTORISE void addBias(int64_t rows, int64_t out, const Real *bias,
                             const Real *residual, Real *y) {
  for (int64_t i = 0; i < rows; ++i)
    for (int64_t j = 0; j < out; ++j)
      y[i * out + j] = residual[i * out + j] + bias[j];
}

} // namespace

template <typename Real>
RONDO_VECTORISE void copyBias(int64_t rows, int64_t out,
                              const Real *__restrict bias, Real *__restrict y,
                              int64_t stride) {
  for (int64_t i = 0; i < rows; ++i)
    for (int64_t j = 0; j < out; ++j)
      y[i * stride + j] = bias[j];
}

template <typename Real>
RONDO_VECTORISE void addBiasGrad(int64_t rows, int64_t out,
                                 const Real *__restrict dy, int64_t stride,
                                 Real *__restrict dbias) {
  for (int64_t i = 0; i < rows; ++i)
    for (int64_t j = 0; j < out; ++j)
      dbias[j] += dy[i * stride + j];
}

template <typename Real>
void linearForward(int64_t rows, int64_t in, int64_t out, const Real *x,
                   const Real *w, const Real *bias, const Real *residual,
                   Real *y) {
  forRanges(rows, out, [&](int64_t first, int64_t some) {
    if (residual)
      addBias(some, out, bias, residual + first * out, y + first * out);
    else
      copyBias(some, out, bias, y + first * out, out);
  });
  multiply(rows, out, in, Real(1), {x, in}, {w, out}, Real(1), y, out);
}

template <typename Real>
void linearInputGrad(int64_t rows, int64_t in, int64_t out, const Real *dy,
                     const Real *w, Real *dx) {
  multiply(rows, in, out, Real(1), {dy, out}, {w, out, true}, Real(0), dx, in);
}

template <typename Real>
void linearWeightGrad(int64_t rows, int64_t in, int64_t out, const Real *x,
                      const Real *dy, Real *dw, Real *dbias) {
  multiply(in, out, rows, Real(1), {x, in, true}, {dy, out}, Real(1), dw, out);
  // Each sum over the rows in their order.
  forRanges(out, rows, [&](int64_t first, int64_t some) {
    addBiasGrad(rows, some, dy + first, out, dbias + first);
  });
}

template <typename Real>
void projectForward(int64_t rows, int64_t in, int64_t out, const Real *x,
                    const Real *w, Real keep, Real *y, int64_t stride) {
  multiply(rows, out, in, Real(1), {x, in}, {w, in, true}, keep, y, stride);
}

template <typename Real>
void projectInputGrad(int64_t rows, int64_t in, int64_t out, const Real *dy,
                      int64_t stride, const Real *w, Real keep, Real *dx) {
  multiply(rows, in, out, Real(1), {dy, stride}, {w, in}, keep, dx, in);
}

template <typename Real>
void projectWeightGrad(int64_t rows, int64_t in, int64_t out, const Real *x,
                       const Real *dy, int64_t stride, Real *dw) {
  multiply(out, in, rows, Real(1), {dy, stride, true}, {x, in}, Real(1), dw,
           in);
}

#define RONDO_INSTANTIATE(Real)                                                \
  template void linearForward(int64_t, int64_t, int64_t, const Real *,         \
                              const Real *, const Real *, const Real *,        \
                              Real *);                                         \
  template void linearInputGrad(int64_t, int64_t, int64_t, const Real *,       \
                                const Real *, Real *);                         \
  template void linearWeightGrad(int64_t, int64_t, int64_t, const Real *,      \
                                 const Real *, Real *, Real *);                \
  template void projectForward(int64_t, int64_t, int64_t, const Real *,        \
                               const Real *, Real, Real *, int64_t);           \
  template void projectInputGrad(int64_t, int64_t, int64_t, const Real *,      \
                                 int64_t, const Real *, Real, Real *);         \
  template void projectWeightGrad(int64_t, int64_t, int64_t, const Real *,     \
                                  const Real *, int64_t, Real *);              \
  template void copyBias(int64_t, int64_t, const Real *, Real *, int64_t);     \
  template void addBiasGrad(int64_t, int64_t, const Real *, int64_t, Real *);
RONDO_INSTANTIATE(float)
RONDO_INSTANTIATE(double)

} // namespace rondo::runtime
