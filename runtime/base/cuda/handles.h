//===- handles.h - Owning handles of streams and events ---------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#ifndef RONDO_RUNTIME_BASE_CUDA_HANDLES_H
#define RONDO_RUNTIME_BASE_CUDA_HANDLES_H

#include "runtime/base/cuda/stream.h"

#include <cstdint>
#include <utility>

namespace rondo::runtime::cuda {

/// A point in a stream. Belongs to the GPU that is current when it is made.
class Event {
public:
  explicit Event(bool keepsTime = false) {
    RONDO_CUDA(cudaEventCreateWithFlags(
        &handle, keepsTime ? cudaEventDefault : cudaEventDisableTiming));
  }
  ~Event() {
    if (handle)
      cudaEventDestroy(handle);
  }
  Event(Event &&other) noexcept
      : handle(std::exchange(other.handle, nullptr)) {}
  Event(const Event &) = delete;
  Event &operator=(const Event &) = delete;

  cudaEvent_t get() const { return handle; }
  /// Marks everything that the stream has got so far.
  void record(cudaStream_t stream) {
    RONDO_CUDA(cudaEventRecord(handle, stream));
  }
  /// Whatever the stream gets from here on waits for the last recorded point,
  /// which must have been recorded before this call.
  void holdBack(cudaStream_t stream) const {
    RONDO_CUDA(cudaStreamWaitEvent(stream, handle, 0));
  }

private:
  cudaEvent_t handle = nullptr;
};

/// A stream that runs concurrently with all others. Belongs to the GPU that is
/// current when it is made.
class OwnedStream {
public:
  enum class Priority : uint8_t { Usual, Urgent };

  explicit OwnedStream(Priority priority) {
    int least = 0, greatest = 0;
    RONDO_CUDA(cudaDeviceGetStreamPriorityRange(&least, &greatest));
    RONDO_CUDA(cudaStreamCreateWithPriority(
        &handle, cudaStreamNonBlocking,
        priority == Priority::Urgent ? greatest : least));
  }
  ~OwnedStream() {
    if (handle)
      cudaStreamDestroy(handle);
  }
  OwnedStream(OwnedStream &&other) noexcept
      : handle(std::exchange(other.handle, nullptr)) {}
  OwnedStream(const OwnedStream &) = delete;
  OwnedStream &operator=(const OwnedStream &) = delete;

  cudaStream_t get() const { return handle; }

private:
  cudaStream_t handle = nullptr;
};

} // namespace rondo::runtime::cuda

#endif // RONDO_RUNTIME_BASE_CUDA_HANDLES_H
