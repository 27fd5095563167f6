//===- swiglu.h - SiLU times a gate, on CUDA --------------------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Limit: one pass over each tensor at the memory's bandwidth.
//
//===----------------------------------------------------------------------===//

#ifndef RONDO_RUNTIME_BODIES_CUDA_SWIGLU_H
#define RONDO_RUNTIME_BODIES_CUDA_SWIGLU_H

#include "runtime/base/cuda/stream.h"

#include <cstdint>

namespace rondo::runtime::cuda {

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

#endif // RONDO_RUNTIME_BODIES_CUDA_SWIGLU_H
