//===- counter.cu - What a stream has done --------------------------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "runtime/device/cuda/counter.h"

#include "runtime/base/cuda/stream.h"

using namespace rondo::runtime::cuda;

static __global__ void countKernel(uint64_t *count, volatile uint64_t *shown) {
  if (threadIdx.x == 0)
    *shown = ++*count;
}

Counter::Counter() : count(sizeof(uint64_t)) {
  RONDO_CUDA(
      cudaMallocHost(reinterpret_cast<void **>(&shown), sizeof(uint64_t)));
  *shown = 0;
  RONDO_CUDA(cudaMemset(count.get(), 0, sizeof(uint64_t)));
}

Counter::~Counter() { cudaFreeHost(shown); }

void Counter::countUp(cudaStream_t stream) {
  launch({stream, nullptr}, countKernel, dim3(1), dim3(32), 0,
         reinterpret_cast<uint64_t *>(count.get()), shown);
}
