//===- norm.h - Normalisation of layers -------------------------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// LayerNorm: y = gain * normal + bias with normal = (x - mean) * scale and
// scale = 1 / sqrt(variance + 1e-5), row by row.
//
//===----------------------------------------------------------------------===//

#ifndef RONDO_RUNTIME_BODIES_NORM_H
#define RONDO_RUNTIME_BODIES_NORM_H

#include <cstdint>

namespace rondo::runtime {

/// Writes normal [rows, columns], scale [rows] and y [rows, columns].
template <typename Real>
void normForward(int64_t rows, int64_t columns, const Real *x, const Real *gain,
                 const Real *bias, Real *normal, Real *scale, Real *y);

/// Recomputes y from the saved normal, so that W need not keep it.
template <typename Real>
void normOutput(int64_t rows, int64_t columns, const Real *normal,
                const Real *gain, const Real *bias, Real *y);

/// dx = residual + gradient through the norm; the residual may be null. Also
/// writes this micro-batch's gradients of gain and bias to grads [2 * columns],
/// for W, so that dy need not be kept.
template <typename Real>
void normInputGrad(int64_t rows, int64_t columns, const Real *dy,
                   const Real *normal, const Real *scale, const Real *gain,
                   const Real *residual, Real *dx, Real *grads);

/// Adds the saved grads to those of gain and bias.
template <typename Real>
void normWeightGrad(int64_t columns, const Real *grads, Real *gainGrad,
                    Real *biasGrad);

// RMSNorm: y = gain * normal with normal = x * scale and
// scale = 1 / sqrt(mean of x^2 + epsilon), row by row.

/// Writes normal [rows, columns] and scale [rows].
template <typename Real>
void rmsNormalise(int64_t rows, int64_t columns, Real epsilon, const Real *x,
                  Real *normal, Real *scale);

/// Writes y [rows, columns].
template <typename Real>
void rmsOutput(int64_t rows, int64_t columns, const Real *normal,
               const Real *gain, Real *y);

/// dx = residual + gradient through the norm; the residual may be null, and dx
/// may be dy. Adds this micro-batch's gradient of gain to grads [columns], so
/// that W need not keep dy.
template <typename Real>
void rmsInputGrad(int64_t rows, int64_t columns, const Real *dy,
                  const Real *normal, const Real *scale, const Real *gain,
                  const Real *residual, Real *dx, Real *grads);

/// Adds the saved grads to that of gain.
template <typename Real>
void rmsWeightGrad(int64_t columns, const Real *grads, Real *gainGrad);

} // namespace rondo::runtime

#endif // RONDO_RUNTIME_BODIES_NORM_H
