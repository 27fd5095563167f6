//===- activations.h - GELU and SwiGLU on CUDA ------------------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// GELU is for products in which cuBLASLt does not do it. Limit: one pass over
// each tensor at the memory's bandwidth.
//
//===----------------------------------------------------------------------===//

#ifndef RONDO_RUNTIME_BODIES_CUDA_ACTIVATIONS_H
#define RONDO_RUNTIME_BODIES_CUDA_ACTIVATIONS_H

#include "runtime/base/cuda/stream.h"

#include <cstdint>

namespace rondo::runtime::cuda {

/// y = gelu(x). All tensors start at multiples of 16 bytes.
template <typename T>
void geluForward(const Stream &stream, int64_t count, const T *x, T *y);

/// grad *= slope of gelu at x.
template <typename T>
void geluInputGrad(const Stream &stream, int64_t count, const T *x, T *grad);

/// Rows of `columns` numbers of gate and of up, which begin `up` elements after
/// the gate's; both are multiples of packs apart.
template <typename T> struct Gates {
  int64_t rows, columns, up, stride;
  T *values;
};

/// product [rows, columns] = silu(gate) * up with silu(x) = x / (1 + e^-x).
template <typename T>
void swigluForward(const Stream &stream, const Gates<T> &gates, T *product);

/// Replaces gate and up by their gradients.
template <typename T>
void swigluInputGrad(const Stream &stream, const Gates<T> &gates,
                     const T *productGrad);

} // namespace rondo::runtime::cuda

#endif // RONDO_RUNTIME_BODIES_CUDA_ACTIVATIONS_H
