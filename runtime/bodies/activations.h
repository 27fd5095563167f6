//===- activations.h - GELU by its tanh formula, and SwiGLU -----*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#ifndef RONDO_RUNTIME_BODIES_ACTIVATIONS_H
#define RONDO_RUNTIME_BODIES_ACTIVATIONS_H

#include <cstdint>

namespace rondo::runtime {

/// y = gelu(x), and x becomes the slope gelu'(x): the backward pass then needs
/// one product instead of x and another exponential.
template <typename Real> void geluForward(int64_t count, Real *x, Real *y);

/// Replaces the slope by the gradient of x.
template <typename Real>
void geluInputGrad(int64_t count, const Real *dy, Real *slope);

/// product = silu(gate) * up with silu(x) = x / (1 + e^-x).
template <typename Real>
void swigluForward(int64_t count, const Real *gate, const Real *up,
                   Real *product);

/// Replaces gate and up by their gradients.
template <typename Real>
void swigluInputGrad(int64_t count, const Real *productGrad, Real *gate,
                     Real *up);

} // namespace rondo::runtime

#endif // RONDO_RUNTIME_BODIES_ACTIVATIONS_H
