//===- stream.h - Where work for a device is enqueued -----------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#ifndef RONDO_RUNTIME_BASE_CUDA_STREAM_H
#define RONDO_RUNTIME_BASE_CUDA_STREAM_H

#include "runtime/base/error.h"

#include <cuda_runtime.h>
#include <string>

namespace rondo::runtime::cuda {

class Gemms;

/// LayerArgs::stream points to one. A stream belongs to one host thread at a
/// time.
struct Stream {
  cudaStream_t handle = nullptr;
  /// Matrix products and their setups (bodies/cuda/gemm.h): one object for each
  /// rank. Bodies need it, other kernels do not.
  Gemms *gemms = nullptr;
};

/// The rank that the calling thread works for, for messages; -1: none.
inline thread_local int32_t callingRank = -1;

/// Throws Error if a library call failed.
[[noreturn]] inline void fail(const char *call, const std::string &why,
                              const char *file, int line) {
  throw Error((callingRank < 0 ? std::string()
                               : "rank " + std::to_string(callingRank) + ": ") +
                  file + ":" + std::to_string(line) + ": " + call +
                  " failed: " + why,
              Exit::RunFailure);
}
inline void check(cudaError_t error, const char *call, const char *file,
                  int line) {
  if (error != cudaSuccess)
    fail(call,
         std::string(cudaGetErrorString(error)) + " (" +
             cudaGetErrorName(error) + ")",
         file, line);
}
#define RONDO_CUDA(call)                                                       \
  ::rondo::runtime::cuda::check((call), #call, __FILE__, __LINE__)

/// Enqueues a kernel. `sharedBytes` are for each block.
template <typename... Parameters, typename... Arguments>
void launch(const Stream &stream, void (*kernel)(Parameters...), dim3 grid,
            dim3 block, size_t sharedBytes, Arguments &&...arguments) {
  if (grid.x == 0 || grid.y == 0 || grid.z == 0)
    return;
  // A block gets more than this only if the kernel asks for it.
  if (sharedBytes > (48 << 10))
    RONDO_CUDA(cudaFuncSetAttribute(kernel,
                                    cudaFuncAttributeMaxDynamicSharedMemorySize,
                                    static_cast<int>(sharedBytes)));
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
