//===- gpu.h - One GPU of this process --------------------------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#ifndef RONDO_RUNTIME_DEVICE_CUDA_GPU_H
#define RONDO_RUNTIME_DEVICE_CUDA_GPU_H

#include "runtime/base/cuda/stream.h"

#include <cstdint>
#include <memory>
#include <mutex>

namespace rondo::runtime::cuda {

/// Sets environment variables that the driver and NCCL read at start, unless
/// the user has set them. Must precede all other calls. `mayUseNccl`: ranks may
/// be on several GPUs (mayUseSeveralGpus).
void setDefaults(bool mayUseNccl);
/// Whether this process may have as many GPUs as `ranks`, as far as can be told
/// before the driver starts, which reads its variables then.
bool mayUseSeveralGpus(int32_t ranks);

/// The number of GPUs that this process can use. Throws Error with
/// Exit::NoDevice if there are none or there is no driver.
int countGpus();

/// Moves data between the host and all arenas of one GPU, in the order of the
/// calls, through pinned memory: a write returns before its data have arrived,
/// and the host's buffer may be reused at once.
class Gpu {
public:
  /// The object of a GPU, shared by all ranks on that GPU.
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
  /// The stream of writes, for work that must follow them.
  const Stream &transfers() const { return stream; }
  /// Whatever `other` gets from here on waits for all writes so far, to any GPU
  /// of this process: a program of one rank works on the memory of all.
  static void holdBackUntilWritten(cudaStream_t other);
  /// Gives this GPU's kernels access to another GPU's memory. False if the
  /// machine cannot.
  bool reach(int other) const;
  /// Differs from those of all other GPUs and of the other MIG instances of the
  /// same one; `nvidia-smi -L` lists them.
  std::string uuid() const;
  /// Why an arena of `bytes` does not fit, and what to do, for people.
  std::string lacks(int64_t bytes) const;

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
