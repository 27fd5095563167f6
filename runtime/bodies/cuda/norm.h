//===- norm.h - Normalisation of layers on CUDA -----------------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The formulas of bodies/norm.h. T is the type of activations; gain, bias and
// the row's scale are fp32. All are bound by the memory's bandwidth: each reads
// and writes every tensor once. Rows are kept in registers, 16 bytes at a time;
// those without such packs, or too long, are read again, from L1.
//
//===----------------------------------------------------------------------===//

#ifndef RONDO_RUNTIME_BODIES_CUDA_NORM_H
#define RONDO_RUNTIME_BODIES_CUDA_NORM_H

#include "runtime/base/cuda/stream.h"

#include <cstdint>

namespace rondo::runtime::cuda {

/// Writes normal and y [rows, columns] and scale [rows]. The matrix product
/// that makes x also adds the residual.
template <typename T>
void normForward(const Stream &stream, int64_t rows, int64_t columns,
                 const T *x, const float *gain, const float *bias, T *normal,
                 float *scale, T *y);

/// dx = residual + gradient through the norm; the residual may be null. Also
/// writes the gradients of gain and bias to grads [2 * columns], and y in place
/// of normal, which is no longer needed. `partials` has normChunks(rows) * 2 *
/// columns elements (model/cuda_layouts.h). If `grads` is null, these are left
/// for setPartials() (reduce.h), which adds those of several norms at once.
template <typename T>
void normInputGrad(const Stream &stream, int64_t rows, int64_t columns,
                   const T *dy, T *normal, const float *scale,
                   const float *gain, const float *bias, const T *residual,
                   T *dx, float *grads, float *partials);

/// Also copies the residual, the gradient of the norm's layer, to `kept`, and
/// sums the columns of both: sums [4][columns] are the gradients of gain and
/// bias, the residual's sums and those of dx. The last two are gradients of the
/// biases before either tensor, which then need no pass of their own.
/// `partials` has normChunks(rows) * 4 * columns elements; `sums` may be null
/// as well.
template <typename T>
void normInputGradKeeping(const Stream &stream, int64_t rows, int64_t columns,
                          const T *dy, T *normal, const float *scale,
                          const float *gain, const float *bias,
                          const T *residual, T *kept, T *dx, float *sums,
                          float *partials);

// Normalisation by the root mean square, with the same types and bound.

/// Writes normal and y [rows, columns] and scale [rows].
template <typename T>
void rmsForward(const Stream &stream, int64_t rows, int64_t columns,
                float epsilon, const T *x, const float *gain, T *normal,
                float *scale, T *y);

/// dx = residual + gradient through the norm; the residual may be null. Copies
/// the residual to `kept`, unless that is null, writes the gradient of gain to
/// grads [columns], and y in place of normal, which is no longer needed.
/// `partials` has normChunks(rows) * columns elements (model/cuda_layouts.h).
template <typename T>
void rmsInputGrad(const Stream &stream, int64_t rows, int64_t columns,
                  const T *dy, T *normal, const float *scale, const float *gain,
                  const T *residual, T *kept, T *dx, float *grads,
                  float *partials);

} // namespace rondo::runtime::cuda

#endif // RONDO_RUNTIME_BODIES_CUDA_NORM_H
