//===- stream.h - Where work for a device is enqueued -----------*- C++ -*-===//

#ifndef RONDO_RUNTIME_DEVICE_CUDA_STREAM_H
#define RONDO_RUNTIME_DEVICE_CUDA_STREAM_H

#include "runtime/error.h"

#include <cuda_runtime.h>
#include <string>

namespace rondo::runtime::cuda {

class Gemms;

/// LayerArgs::stream points to one. A stream belongs to one host thread at a
/// time.
struct Stream {
  cudaStream_t handle = nullptr;
  /// Matrix products and their plans (bodies/cuda/gemm.h): one object for each
  /// rank. Bodies need it, other kernels do not.
  Gemms *gemms = nullptr;
};

/// Throws Error where a call of the toolkit failed.
inline void check(cudaError_t error, const char *call, const char *file,
                  int line) {
  if (error == cudaSuccess)
    return;
  throw Error(std::string(file) + ":" + std::to_string(line) + ": " + call +
                  " failed: " + cudaGetErrorString(error) + " (" +
                  cudaGetErrorName(error) + ")",
              Exit::RunFailure);
}
#define RONDO_CUDA(call)                                                       \
  ::rondo::runtime::cuda::check((call), #call, __FILE__, __LINE__)

/// Enqueues a kernel. `sharedBytes` are for each block.
template <typename... Parameters, typename... Arguments>
void launch(const Stream &stream, void (*kernel)(Parameters...), dim3 grid,
            dim3 block, size_t sharedBytes, Arguments &&...arguments) {
  if (grid.x == 0 || grid.y == 0 || grid.z == 0)
    return;
  // A block gets more than this only where the kernel asks for it.
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

#endif // RONDO_RUNTIME_DEVICE_CUDA_STREAM_H
