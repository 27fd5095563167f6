//===- stream.h - Streams, events and memory of a GPU -----------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#ifndef RONDO_RUNTIME_BASE_CUDA_STREAM_H
#define RONDO_RUNTIME_BASE_CUDA_STREAM_H

#include "runtime/base/error.h"

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <cuda_runtime.h>
#include <map>
#include <mutex>
#include <string>
#include <thread>
#include <utility>

namespace rondo::runtime::cuda {

/// Shared memory of a block on every device, without a request for more.
inline constexpr size_t defaultSharedBytes = 48 << 10;

/// Lets blocks of a kernel have this much on the current device. The device is
/// asked only for more than before, so that no thread lowers the limit of
/// another one, and a launch costs a search in the thread's own table.
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

//===----------------------------------------------------------------------===//
// Streams: work for a device is enqueued there.
//===----------------------------------------------------------------------===//

class CudnnAttention;
class Gemms;

/// The target of LayerArgs::stream. A stream belongs to one host thread at a
/// time.
struct Stream {
  cudaStream_t handle = nullptr;
  /// Matrix products and their setups (bodies/cuda/gemm.h), one object per
  /// rank. Only bodies need it.
  Gemms *gemms = nullptr;
  /// Null: attention by own kernels.
  CudnnAttention *attention = nullptr;
};

/// The stream of the custom layer's task that the calling thread enqueues, for
/// bodies that use the rank's products and attention; null: none.
inline thread_local const Stream *customStream = nullptr;

/// Sets customStream for a scope.
class CustomStream {
public:
  explicit CustomStream(const Stream &stream) { customStream = &stream; }
  ~CustomStream() { customStream = nullptr; }
  CustomStream(const CustomStream &) = delete;
};

/// The rank that the calling thread works for, for messages; -1: none.
inline thread_local int32_t callingRank = -1;

/// Throws Error for a library call that failed.
[[noreturn]] inline void fail(const char *call, const std::string &why,
                              const char *file, int line,
                              Exit code = Exit::RunFailure) {
  throw Error((callingRank < 0 ? std::string()
                               : "rank " + std::to_string(callingRank) + ": ") +
                  file + ":" + std::to_string(line) + ": " + call +
                  " failed: " + why,
              code);
}
inline void check(cudaError_t error, const char *call, const char *file,
                  int line) {
  if (error != cudaSuccess)
    fail(call,
         std::string(cudaGetErrorString(error)) + " (" +
             cudaGetErrorName(error) + ")",
         file, line,
         error == cudaErrorMemoryAllocation ? Exit::Failure : Exit::RunFailure);
}
#define RONDO_CUDA(call)                                                       \
  ::rondo::runtime::cuda::check((call), #call, __FILE__, __LINE__)

/// Enqueues a kernel. `sharedBytes` is per block.
template <typename... Parameters, typename... Arguments>
void launch(const Stream &stream, void (*kernel)(Parameters...), dim3 grid,
            dim3 block, size_t sharedBytes, Arguments &&...arguments) {
  if (grid.x == 0 || grid.y == 0 || grid.z == 0)
    return;
  RONDO_CUDA(allowShared(reinterpret_cast<const void *>(kernel), sharedBytes));
  cudaLaunchConfig_t config{};
  config.gridDim = grid;
  config.blockDim = block;
  config.dynamicSmemBytes = sharedBytes;
  config.stream = stream.handle;
  RONDO_CUDA(cudaLaunchKernelEx(&config, kernel,
                                static_cast<Parameters>(arguments)...));
}

/// Blocks of `threads` for `count` elements.
inline unsigned blocksFor(int64_t count, int64_t threads) {
  return static_cast<unsigned>((count + threads - 1) / threads);
}

//===----------------------------------------------------------------------===//
// Owning handles of streams, events and memory.
//===----------------------------------------------------------------------===//

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

//===----------------------------------------------------------------------===//
// Waiting for a stream.
//===----------------------------------------------------------------------===//

/// Sleep between two queries of a GPU's stream: short compared with an
/// iteration, and long enough to leave the core free.
constexpr std::chrono::microseconds lookInterval{20};

/// Returns once the stream has done all its work. Calls `look` at each look; it
/// may throw.
template <typename Look> void awaitIdle(cudaStream_t stream, Look look) {
  for (;;) {
    cudaError_t state = cudaStreamQuery(stream);
    if (state == cudaSuccess)
      return;
    if (state != cudaErrorNotReady)
      check(state, "the iteration", __FILE__, __LINE__);
    look();
    std::this_thread::sleep_for(lookInterval);
  }
}

} // namespace rondo::runtime::cuda

#endif // RONDO_RUNTIME_BASE_CUDA_STREAM_H
