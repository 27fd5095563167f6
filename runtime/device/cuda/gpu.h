//===- gpu.h - One GPU of this process --------------------------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#ifndef RONDO_RUNTIME_DEVICE_CUDA_GPU_H
#define RONDO_RUNTIME_DEVICE_CUDA_GPU_H

#include "runtime/device/cuda/handles.h"

#include <cstdint>
#include <memory>
#include <mutex>

namespace rondo::runtime::cuda {

/// Sets environment variables that the driver and NCCL read when they start,
/// unless the user has set them. Must come before all other calls.
void setDefaults();

/// How many GPUs this process can use. Throws Error with Exit::NoDevice where
/// there is none or no driver.
int countGpus();

/// Moves data between the host and all arenas of one GPU, in the order of the
/// calls, through pinned memory: a call returns before its data have arrived,
/// and the host's buffer may be used again at once.
class Gpu {
public:
  /// The object of a GPU; all ranks that share the GPU get the same one.
  static std::shared_ptr<Gpu> get(int ordinal);
  explicit Gpu(int ordinal);
  ~Gpu();

  const int ordinal;
  /// Makes the GPU the calling thread's current one.
  void select() const { RONDO_CUDA(cudaSetDevice(ordinal)); }

  void write(void *device, const void *host, int64_t bytes);
  void fill(void *device, uint8_t byte, int64_t bytes);
  /// Waits until the data have arrived.
  void read(void *host, const void *device, int64_t bytes);
  /// The stream in which writes are enqueued, for what has to come after them.
  const Stream &transfers() const { return stream; }
  /// Whatever `other` gets from here on waits for all writes so far, to any GPU
  /// of this process: a program of one rank works on the memory of all.
  static void holdBackUntilWritten(cudaStream_t other);
  /// Lets kernels of this GPU work on the memory of another one, if the machine
  /// can.
  void reach(int other) const;

private:
  void holdBack(cudaStream_t other);
  char *reserve(int64_t &bytes);

  std::mutex mutex;
  OwnedStream owned;
  Stream stream;
  Event written;
  char *pinned = nullptr;
  int64_t used = 0;
};

} // namespace rondo::runtime::cuda

#endif // RONDO_RUNTIME_DEVICE_CUDA_GPU_H
