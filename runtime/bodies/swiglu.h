//===- swiglu.h - SiLU times a gate -----------------------------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#ifndef RONDO_RUNTIME_BODIES_SWIGLU_H
#define RONDO_RUNTIME_BODIES_SWIGLU_H

#include <cstdint>

namespace rondo::runtime {

/// product = silu(gate) * up with silu(x) = x / (1 + e^-x).
template <typename Real>
void swigluForward(int64_t count, const Real *gate, const Real *up,
                   Real *product);

/// Replaces gate and up by their gradients.
template <typename Real>
void swigluInputGrad(int64_t count, const Real *productGrad, Real *gate,
                     Real *up);

} // namespace rondo::runtime

#endif // RONDO_RUNTIME_BODIES_SWIGLU_H
