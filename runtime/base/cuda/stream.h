//===- stream.h - Where work for a device is enqueued -----------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#ifndef RONDO_RUNTIME_BASE_CUDA_STREAM_H
#define RONDO_RUNTIME_BASE_CUDA_STREAM_H

#include "runtime/base/cuda/shared_memory.h"
#include "runtime/base/error.h"

#include <cuda_runtime.h>
#include <string>

namespace rondo::runtime::cuda {

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

} // namespace rondo::runtime::cuda

#endif // RONDO_RUNTIME_BASE_CUDA_STREAM_H
