//===- kernels.h - Kernels of exported layers -------------------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#ifndef RONDO_RUNTIME_TORCH_CUDA_KERNELS_H
#define RONDO_RUNTIME_TORCH_CUDA_KERNELS_H

#include "runtime/torch/cuda/state.h"
#include "runtime/torch/random_key.h"

namespace rondo::torch {

/// to = from, element by element, `strides` of `from`. Limit: the memory's
/// bandwidth, less if rows are far apart.
void copyStrided(const runtime::cuda::Stream &stream, const Tensor &to,
                 const Tensor &from, const int64_t *strides);

/// Indices of 8 bytes in 4.
void narrowIndices(const runtime::cuda::Stream &stream, int64_t count,
                   const int64_t *indices, int32_t *narrow);

/// Writes the scalars of a task. A null iteration is `iteration`.
void writeScalars(const runtime::cuda::Stream &stream, DeviceScalars *scalars,
                  float lossScale, const RandomKeys &keys, int64_t iteration,
                  const int64_t *iterationOnDevice);

} // namespace rondo::torch

#endif // RONDO_RUNTIME_TORCH_CUDA_KERNELS_H
