//===- runtime.cpp - Memory, streams and limits of the emulated device ----===//

#include "cuda_runtime.h"

#include <cstdlib>
#include <map>
#include <mutex>

struct emulation::Stream {};

namespace {

/// What a block may have on the smallest device that we compile for, sm_80.
constexpr size_t mostShared = 163 << 10;
constexpr size_t usualShared = 48 << 10;

std::mutex limitsMutex;
std::map<const void *, size_t> limits;

} // namespace

void emulation::enqueue(cudaStream_t, std::function<void()> work) { work(); }

void emulation::allowShared(const void *kernel, int bytes) {
  std::lock_guard<std::mutex> lock(limitsMutex);
  limits[kernel] = static_cast<size_t>(bytes);
}

cudaError_t emulation::checkLaunch(const void *kernel, dim3 grid, dim3 block,
                                   size_t sharedBytes) {
  size_t limit = usualShared;
  {
    std::lock_guard<std::mutex> lock(limitsMutex);
    auto found = limits.find(kernel);
    if (found != limits.end())
      limit = std::max(limit, std::min(found->second, mostShared));
  }
  uint64_t threads = uint64_t(block.x) * block.y * block.z;
  bool fits = grid.x > 0 && grid.y > 0 && grid.z > 0 && grid.x <= 0x7fffffffu &&
              grid.y <= 65535 && grid.z <= 65535 && threads > 0 &&
              threads <= 1024 && sharedBytes <= limit;
  return fits ? cudaSuccess : cudaErrorInvalidConfiguration;
}

const char *cudaGetErrorName(cudaError_t error) {
  switch (error) {
  case cudaSuccess:
    return "cudaSuccess";
  case cudaErrorInvalidValue:
    return "cudaErrorInvalidValue";
  case cudaErrorMemoryAllocation:
    return "cudaErrorMemoryAllocation";
  case cudaErrorInvalidConfiguration:
    return "cudaErrorInvalidConfiguration";
  case cudaErrorInsufficientDriver:
    return "cudaErrorInsufficientDriver";
  case cudaErrorNoDevice:
    return "cudaErrorNoDevice";
  case cudaErrorNotReady:
    return "cudaErrorNotReady";
  }
  return "unknown error";
}
const char *cudaGetErrorString(cudaError_t error) {
  return cudaGetErrorName(error);
}
cudaError_t cudaGetLastError() { return cudaSuccess; }

cudaError_t cudaMalloc(void **memory, size_t bytes) {
  *memory = nullptr;
  if (bytes > 0 && posix_memalign(memory, 256, bytes) != 0)
    return cudaErrorMemoryAllocation;
  return cudaSuccess;
}
cudaError_t cudaFree(void *memory) {
  std::free(memory);
  return cudaSuccess;
}
cudaError_t cudaMemcpyAsync(void *to, const void *from, size_t bytes,
                            cudaMemcpyKind, cudaStream_t stream) {
  emulation::enqueue(stream, [=] {
    if (bytes > 0)
      std::memmove(to, from, bytes);
  });
  return cudaSuccess;
}
cudaError_t cudaMemcpy(void *to, const void *from, size_t bytes,
                       cudaMemcpyKind kind) {
  return cudaMemcpyAsync(to, from, bytes, kind, nullptr);
}
cudaError_t cudaMemsetAsync(void *memory, int byte, size_t bytes,
                            cudaStream_t stream) {
  emulation::enqueue(stream, [=] {
    if (bytes > 0)
      std::memset(memory, byte, bytes);
  });
  return cudaSuccess;
}
cudaError_t cudaMemset(void *memory, int byte, size_t bytes) {
  return cudaMemsetAsync(memory, byte, bytes, nullptr);
}

cudaError_t cudaStreamCreateWithFlags(cudaStream_t *stream, unsigned) {
  *stream = new emulation::Stream;
  return cudaSuccess;
}
cudaError_t cudaStreamDestroy(cudaStream_t stream) {
  delete stream;
  return cudaSuccess;
}
cudaError_t cudaStreamSynchronize(cudaStream_t) { return cudaSuccess; }
cudaError_t cudaDeviceSynchronize() { return cudaSuccess; }

cudaError_t cudaGetDeviceCount(int *count) {
  *count = 1;
  return cudaSuccess;
}
cudaError_t cudaGetDevice(int *device) {
  *device = 0;
  return cudaSuccess;
}
cudaError_t cudaSetDevice(int) { return cudaSuccess; }
cudaError_t cudaDeviceGetAttribute(int *value, cudaDeviceAttr attribute, int) {
  switch (attribute) {
  case cudaDevAttrMultiProcessorCount:
    *value = 4;
    break;
  case cudaDevAttrComputeCapabilityMajor:
    *value = 9;
    break;
  case cudaDevAttrComputeCapabilityMinor:
    *value = 0;
    break;
  }
  return cudaSuccess;
}
