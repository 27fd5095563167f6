//===- clock.h - The clock of a GPU -----------------------------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#ifndef RONDO_RUNTIME_BASE_CUDA_CLOCK_H
#define RONDO_RUNTIME_BASE_CUDA_CLOCK_H

#include <cstdint>
#include <cuda_runtime.h>

namespace rondo::runtime::cuda {

/// ns since some fixed time, in steps that depend on the GPU.
__device__ __forceinline__ int64_t deviceNs() {
#ifdef __CUDACC__
  int64_t ns;
  asm volatile("mov.u64 %0, %%globaltimer;" : "=l"(ns));
  return ns;
#else
  return emulation::deviceNs();
#endif
}

} // namespace rondo::runtime::cuda

#endif // RONDO_RUNTIME_BASE_CUDA_CLOCK_H
