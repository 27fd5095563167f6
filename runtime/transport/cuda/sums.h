//===- sums.h - Adds the parts of a collective on a GPU ---------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#ifndef RONDO_RUNTIME_TRANSPORT_CUDA_SUMS_H
#define RONDO_RUNTIME_TRANSPORT_CUDA_SUMS_H

#include "runtime/base/cuda/stream.h"

#include <cstdint>

namespace rondo::runtime::cuda {

/// Adds values[0], values[1], ... to *sum one after another.
void addAllTo(const Stream &stream, double *sum, const double *values,
              int64_t count);

} // namespace rondo::runtime::cuda

#endif // RONDO_RUNTIME_TRANSPORT_CUDA_SUMS_H
