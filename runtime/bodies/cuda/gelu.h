//===- gelu.h - GELU by its tanh formula, on CUDA ---------------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// For products in which cuBLASLt does not do it. Limit: one pass over each
// tensor at the memory's bandwidth.
//
//===----------------------------------------------------------------------===//

#ifndef RONDO_RUNTIME_BODIES_CUDA_GELU_H
#define RONDO_RUNTIME_BODIES_CUDA_GELU_H

#include "runtime/base/cuda/stream.h"

#include <cstdint>

namespace rondo::runtime::cuda {

/// y = gelu(x). All tensors start at multiples of 16 bytes.
template <typename T>
void geluForward(const Stream &stream, int64_t count, const T *x, T *y);

/// grad *= slope of gelu at x.
template <typename T>
void geluInputGrad(const Stream &stream, int64_t count, const T *x, T *grad);

} // namespace rondo::runtime::cuda

#endif // RONDO_RUNTIME_BODIES_CUDA_GELU_H
