//===- activations.cpp - GELU by its tanh formula, and SwiGLU -------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "runtime/bodies/activations.h"

#include "runtime/base/thread_pool.h"
#include "runtime/base/vectorise.h"

namespace rondo::runtime {

// 0.5 x (1 + tanh(z)) = x / (1 + e^-2z) with z = sqrt(2/pi) (x + 0.044715 x^3).
namespace {

template <typename Real>
RONDO_VECTORISE void slopes(int64_t count, Real *__restrict x,
                            Real *__restrict y) {
  const Real twice = Real(1.5957691216057308); // 2 sqrt(2/pi)
  const Real cubic = Real(0.044715);
  for (int64_t i = 0; i < count; ++i) {
    Real value = x[i], square = value * value;
    Real share = 1 / (1 + exponential(-twice * value * (1 + cubic * square)));
    y[i] = value * share;
    x[i] =
        share + value * share * (1 - share) * twice * (1 + 3 * cubic * square);
  }
}

template <typename Real>
RONDO_VECTORISE void scale(int64_t count, const Real *__restrict dy,
                           Real *__restrict slope) {
  for (int64_t i = 0; i < count; ++i)
    slope[i] *= dy[i];
}

} // namespace

template <typename Real> void geluForward(int64_t count, Real *x, Real *y) {
  forRanges(count, 1, [&](int64_t first, int64_t some) {
    slopes(some, x + first, y + first);
  });
}

template <typename Real>
void geluInputGrad(int64_t count, const Real *dy, Real *slope) {
  forRanges(count, 1, [&](int64_t first, int64_t some) {
    scale(some, dy + first, slope + first);
  });
}

namespace {

template <typename Real>
RONDO_VECTORISE void gated(int64_t count, const Real *__restrict gate,
                           const Real *__restrict up,
                           Real *__restrict product) {
  for (int64_t i = 0; i < count; ++i)
    product[i] = gate[i] / (1 + exponential(-gate[i])) * up[i];
}

template <typename Real>
RONDO_VECTORISE void gatedGrads(int64_t count,
                                const Real *__restrict productGrad,
                                Real *__restrict gate, Real *__restrict up) {
  for (int64_t i = 0; i < count; ++i) {
    Real x = gate[i], dy = productGrad[i];
    Real share = 1 / (1 + exponential(-x));
    gate[i] = dy * up[i] * share * (1 + x * (1 - share));
    up[i] = dy * x * share;
  }
}

} // namespace

template <typename Real>
void swigluForward(int64_t count, const Real *gate, const Real *up,
                   Real *product) {
  forRanges(count, 1, [&](int64_t first, int64_t some) {
    gated(some, gate + first, up + first, product + first);
  });
}

template <typename Real>
void swigluInputGrad(int64_t count, const Real *productGrad, Real *gate,
                     Real *up) {
  forRanges(count, 1, [&](int64_t first, int64_t some) {
    gatedGrads(some, productGrad + first, gate + first, up + first);
  });
}

#define RONDO_INSTANTIATE(Real)                                                \
  template void geluForward(int64_t, Real *, Real *);                          \
  template void geluInputGrad(int64_t, const Real *, Real *);                  \
  template void swigluForward(int64_t, const Real *, const Real *, Real *);    \
  template void swigluInputGrad(int64_t, const Real *, Real *, Real *);
RONDO_INSTANTIATE(float)
RONDO_INSTANTIATE(double)

} // namespace rondo::runtime
