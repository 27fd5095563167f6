//===- kernels.h - Kernels of a rank that belong to no layer ----*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#ifndef RONDO_RUNTIME_DEVICE_CUDA_KERNELS_H
#define RONDO_RUNTIME_DEVICE_CUDA_KERNELS_H

#include "runtime/base/cuda/stream.h"

#include <cstdint>
#include <cuda_runtime.h>

namespace rondo::runtime::cuda {

/// values[i] += others[i] for `count` elements of float or __nv_bfloat16, which
/// are added in fp32 and rounded. Enqueues nothing if `count` is 0.
template <typename T>
void addTo(const Stream &stream, T *values, const T *others, int64_t count);

/// Adds values[0], values[1], ... to *sum one after another.
void addAllTo(const Stream &stream, double *sum, const double *values,
              int64_t count);

/// Writes the GPU's clock, ns, to memory that it can reach.
void writeDeviceTime(const Stream &stream, int64_t *to);

/// Counts what a stream has done; visible to the host even while a graph runs.
class Counter {
public:
  Counter();
  ~Counter();
  Counter(const Counter &) = delete;
  Counter &operator=(const Counter &) = delete;

  /// Adds one when the stream gets there.
  void countUp(cudaStream_t stream);
  uint64_t value() const { return *static_cast<volatile uint64_t *>(shown); }
  /// Counts since the iteration began.
  void beginIteration() { before = value(); }
  uint64_t ofIteration() const { return value() - before; }

private:
  DeviceMemory count;
  /// In the host's pinned memory.
  uint64_t *shown = nullptr;
  uint64_t before = 0;
};

} // namespace rondo::runtime::cuda

#endif // RONDO_RUNTIME_DEVICE_CUDA_KERNELS_H
