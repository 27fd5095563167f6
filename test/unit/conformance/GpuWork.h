//===- GpuWork.h - Work of CPUs and GPUs in conformance tests ---*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The functions Pair::fill and Pair::copy of a CPU and of a GPU, which may be
// emulated.
//
//===----------------------------------------------------------------------===//

#ifndef RONDO_TEST_UNIT_CONFORMANCE_GPUWORK_H
#define RONDO_TEST_UNIT_CONFORMANCE_GPUWORK_H

#include "runtime/device/cuda/device.h"

#include <cstring>

namespace rondo::runtime::test {

inline void fillCpu(Device &, void *to, int byte, int64_t bytes) {
  // A message of 0 bytes may have a null address.
  if (bytes > 0)
    std::memset(to, byte, static_cast<size_t>(bytes));
}
inline void copyCpu(Device &, void *to, const void *from, int64_t bytes) {
  if (bytes > 0)
    std::memcpy(to, from, static_cast<size_t>(bytes));
}

inline cudaStream_t streamOf(Device &device) {
  return static_cast<cuda::Stream *>(device.stream())->handle;
}
inline void fillGpu(Device &device, void *to, int byte, int64_t bytes) {
  RONDO_CUDA(
      cudaMemsetAsync(to, byte, static_cast<size_t>(bytes), streamOf(device)));
}
inline void copyGpu(Device &device, void *to, const void *from, int64_t bytes) {
  RONDO_CUDA(cudaMemcpyAsync(to, from, static_cast<size_t>(bytes),
                             cudaMemcpyDeviceToDevice, streamOf(device)));
}

} // namespace rondo::runtime::test

#endif // RONDO_TEST_UNIT_CONFORMANCE_GPUWORK_H
