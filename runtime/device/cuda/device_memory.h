//===- device_memory.h - Memory of a GPU outside the arena ------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#ifndef RONDO_RUNTIME_DEVICE_CUDA_DEVICE_MEMORY_H
#define RONDO_RUNTIME_DEVICE_CUDA_DEVICE_MEMORY_H

#include "runtime/base/cuda/stream.h"

#include <cstddef>

namespace rondo::runtime::cuda {

/// Memory of the current GPU, apart from the arena.
class DeviceMemory {
public:
  explicit DeviceMemory(size_t bytes) {
    RONDO_CUDA(cudaMalloc(&memory, bytes));
  }
  ~DeviceMemory() { cudaFree(memory); }
  DeviceMemory(const DeviceMemory &) = delete;
  DeviceMemory &operator=(const DeviceMemory &) = delete;
  char *get() const { return static_cast<char *>(memory); }

private:
  void *memory = nullptr;
};

} // namespace rondo::runtime::cuda

#endif // RONDO_RUNTIME_DEVICE_CUDA_DEVICE_MEMORY_H
