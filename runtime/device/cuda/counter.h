//===- counter.h - What a stream has done -----------------------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#ifndef RONDO_RUNTIME_DEVICE_CUDA_COUNTER_H
#define RONDO_RUNTIME_DEVICE_CUDA_COUNTER_H

#include "runtime/device/cuda/device_memory.h"

#include <cstdint>
#include <cuda_runtime.h>

namespace rondo::runtime::cuda {

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

#endif // RONDO_RUNTIME_DEVICE_CUDA_COUNTER_H
