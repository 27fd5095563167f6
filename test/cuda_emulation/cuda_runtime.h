//===- cuda_runtime.h - The CUDA runtime, on the CPU ------------*- C++ -*-===//
//
// The part of the toolkit's interface that Rondo uses. Device memory is the
// host's.
//
//===----------------------------------------------------------------------===//

#ifndef RONDO_TEST_CUDA_EMULATION_CUDA_RUNTIME_H
#define RONDO_TEST_CUDA_EMULATION_CUDA_RUNTIME_H

#include "kernel.h"

#include <functional>
#include <tuple>
#include <type_traits>

enum cudaError_t {
  cudaSuccess = 0,
  cudaErrorInvalidValue = 1,
  cudaErrorMemoryAllocation = 2,
  cudaErrorInvalidConfiguration = 9,
  cudaErrorInsufficientDriver = 35,
  cudaErrorNoDevice = 100,
  cudaErrorNotReady = 600,
};
const char *cudaGetErrorName(cudaError_t error);
const char *cudaGetErrorString(cudaError_t error);
cudaError_t cudaGetLastError();

namespace emulation {
struct Stream;
struct Event;
} // namespace emulation
using cudaStream_t = emulation::Stream *;
using cudaEvent_t = emulation::Event *;

enum cudaMemcpyKind {
  cudaMemcpyHostToHost,
  cudaMemcpyHostToDevice,
  cudaMemcpyDeviceToHost,
  cudaMemcpyDeviceToDevice,
  cudaMemcpyDefault,
};
cudaError_t cudaMalloc(void **memory, size_t bytes);
cudaError_t cudaFree(void *memory);
cudaError_t cudaMemcpy(void *to, const void *from, size_t bytes,
                       cudaMemcpyKind kind);
cudaError_t cudaMemcpyAsync(void *to, const void *from, size_t bytes,
                            cudaMemcpyKind kind, cudaStream_t stream);
cudaError_t cudaMemset(void *memory, int byte, size_t bytes);
cudaError_t cudaMemsetAsync(void *memory, int byte, size_t bytes,
                            cudaStream_t stream);

constexpr unsigned cudaStreamNonBlocking = 1;
cudaError_t cudaStreamCreateWithFlags(cudaStream_t *stream, unsigned flags);
cudaError_t cudaStreamDestroy(cudaStream_t stream);
cudaError_t cudaStreamSynchronize(cudaStream_t stream);
cudaError_t cudaDeviceSynchronize();

enum cudaDeviceAttr {
  cudaDevAttrMultiProcessorCount = 16,
  cudaDevAttrComputeCapabilityMajor = 75,
  cudaDevAttrComputeCapabilityMinor = 76,
};
cudaError_t cudaGetDeviceCount(int *count);
cudaError_t cudaGetDevice(int *device);
cudaError_t cudaSetDevice(int device);
cudaError_t cudaDeviceGetAttribute(int *value, cudaDeviceAttr attribute,
                                   int device);

namespace emulation {
/// Appends work to a stream; null is the default stream.
void enqueue(cudaStream_t stream, std::function<void()> work);
/// Whether a kernel may be launched so.
cudaError_t checkLaunch(const void *kernel, dim3 grid, dim3 block,
                        size_t sharedBytes);
void allowShared(const void *kernel, int bytes);
} // namespace emulation

enum cudaFuncAttribute { cudaFuncAttributeMaxDynamicSharedMemorySize = 8 };
template <typename... Parameters>
cudaError_t cudaFuncSetAttribute(void (*kernel)(Parameters...),
                                 cudaFuncAttribute, int value) {
  emulation::allowShared(reinterpret_cast<const void *>(kernel), value);
  return cudaSuccess;
}

struct cudaLaunchAttribute;
struct cudaLaunchConfig_t {
  dim3 gridDim, blockDim;
  size_t dynamicSmemBytes;
  cudaStream_t stream;
  cudaLaunchAttribute *attrs;
  unsigned numAttrs;
};

/// As in CUDA, arguments are copied at the call.
template <typename... Parameters, typename... Arguments>
cudaError_t cudaLaunchKernelEx(const cudaLaunchConfig_t *config,
                               void (*kernel)(Parameters...),
                               Arguments &&...arguments) {
  cudaError_t error = emulation::checkLaunch(
      reinterpret_cast<const void *>(kernel), config->gridDim, config->blockDim,
      config->dynamicSmemBytes);
  if (error != cudaSuccess)
    return error;
  std::tuple<std::decay_t<Parameters>...> copied(
      static_cast<Parameters>(arguments)...);
  dim3 grid = config->gridDim, block = config->blockDim;
  size_t shared = config->dynamicSmemBytes;
  emulation::enqueue(config->stream, [=] {
    emulation::runGrid(grid, block, shared,
                       [&] { std::apply(kernel, copied); });
  });
  return cudaSuccess;
}

#endif // RONDO_TEST_CUDA_EMULATION_CUDA_RUNTIME_H
