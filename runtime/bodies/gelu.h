//===- gelu.h - GELU by its tanh formula ------------------------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#ifndef RONDO_RUNTIME_BODIES_GELU_H
#define RONDO_RUNTIME_BODIES_GELU_H

#include <cstdint>

namespace rondo::runtime {

/// y = gelu(x), and x becomes the slope gelu'(x): the backward pass then needs
/// one product instead of x and another exponential.
template <typename Real> void geluForward(int64_t count, Real *x, Real *y);

/// Replaces the slope by the gradient of x.
template <typename Real>
void geluInputGrad(int64_t count, const Real *dy, Real *slope);

} // namespace rondo::runtime

#endif // RONDO_RUNTIME_BODIES_GELU_H
