//===- rms_norm.h - Normalisation by the root mean square, CUDA -*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The formulas of bodies/rms_norm.h. T is the type of activations; gain and the
// row's scale are fp32. All are bound by the memory's bandwidth, as those of
// norm.h are.
//
//===----------------------------------------------------------------------===//

#ifndef RONDO_RUNTIME_BODIES_CUDA_RMS_NORM_H
#define RONDO_RUNTIME_BODIES_CUDA_RMS_NORM_H

#include "runtime/base/cuda/stream.h"

#include <cstdint>

namespace rondo::runtime::cuda {

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

#endif // RONDO_RUNTIME_BODIES_CUDA_RMS_NORM_H
