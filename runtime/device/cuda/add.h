//===- add.h - Sums of two buffers on a GPU ---------------------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#ifndef RONDO_RUNTIME_DEVICE_CUDA_ADD_H
#define RONDO_RUNTIME_DEVICE_CUDA_ADD_H

#include "runtime/base/cuda/stream.h"

#include <cstdint>

namespace rondo::runtime::cuda {

/// values[i] += others[i] for `count` elements of float or __nv_bfloat16, which
/// are added in fp32 and rounded. Enqueues nothing if `count` is 0.
template <typename T>
void addTo(const Stream &stream, T *values, const T *others, int64_t count);

} // namespace rondo::runtime::cuda

#endif // RONDO_RUNTIME_DEVICE_CUDA_ADD_H
