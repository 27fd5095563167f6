//===- swiglu.cpp - SiLU times a gate -------------------------------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "runtime/bodies/swiglu.h"

#include "runtime/base/thread_pool.h"
#include "runtime/base/vectorise.h"

namespace rondo::runtime {

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
  template void swigluForward(int64_t, const Real *, const Real *, Real *);    \
  template void swigluInputGrad(int64_t, const Real *, Real *, Real *);
RONDO_INSTANTIATE(float)
RONDO_INSTANTIATE(double)

} // namespace rondo::runtime
