//===- shared_memory.h - How much of it a block may have --------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#ifndef RONDO_RUNTIME_BASE_CUDA_SHARED_MEMORY_H
#define RONDO_RUNTIME_BASE_CUDA_SHARED_MEMORY_H

#include <cuda_runtime.h>
#include <map>
#include <mutex>
#include <utility>

namespace rondo::runtime::cuda {

/// What a block of a kernel may have on a device unless it asks for more.
inline constexpr size_t defaultSharedBytes = 48 << 10;

/// Lets blocks of a kernel have this much on the current device. The device is
/// asked only for more than before, so that no thread takes back what another
/// one has asked for, and a launch costs a look into the thread's own table.
inline cudaError_t allowShared(const void *kernel, size_t bytes) {
  using Table = std::map<std::pair<const void *, int>, size_t>;
  if (bytes <= defaultSharedBytes)
    return cudaSuccess;
  int device = 0;
  if (const cudaError_t error = cudaGetDevice(&device); error != cudaSuccess)
    return error;
  thread_local Table seen;
  size_t &mine = seen[{kernel, device}];
  if (bytes <= mine)
    return cudaSuccess;
  static std::mutex mutex;
  static Table allowed;
  std::lock_guard<std::mutex> lock(mutex);
  size_t &most = allowed[{kernel, device}];
  if (bytes > most) {
    if (const cudaError_t error = cudaFuncSetAttribute(
            kernel, cudaFuncAttributeMaxDynamicSharedMemorySize,
            static_cast<int>(bytes));
        error != cudaSuccess)
      return error;
    // Otherwise a driver may leave so much to the cache that a multiprocessor
    // has room for one block only.
    if (const cudaError_t error = cudaFuncSetAttribute(
            kernel, cudaFuncAttributePreferredSharedMemoryCarveout, 100);
        error != cudaSuccess)
      return error;
    most = bytes;
  }
  mine = most;
  return cudaSuccess;
}

} // namespace rondo::runtime::cuda

#endif // RONDO_RUNTIME_BASE_CUDA_SHARED_MEMORY_H
