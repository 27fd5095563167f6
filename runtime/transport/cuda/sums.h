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

/// Increments *count, and copies it to `shown`, which is in the host's pinned
/// memory.
void countUp(const Stream &stream, uint64_t *count, uint64_t *shown);

} // namespace rondo::runtime::cuda

#endif // RONDO_RUNTIME_TRANSPORT_CUDA_SUMS_H
