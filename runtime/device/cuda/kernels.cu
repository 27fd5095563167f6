//===- kernels.cu - Kernels of a rank that belong to no layer -------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// To add several buffers, call it once for each, in order, so that the bits do
// not depend on when they came.
//
//===----------------------------------------------------------------------===//

#include "runtime/device/cuda/kernels.h"

#include "runtime/base/cuda/stream.h"
#include "runtime/base/cuda/thread.h"

#include <cuda_bf16.h>

using namespace rondo::runtime::cuda;

namespace rondo::runtime::cuda {

namespace {

constexpr unsigned addThreads = 256;
constexpr int64_t maxBlocks = 1024;

__device__ float plus(float a, float b) { return a + b; }
__device__ __nv_bfloat16 plus(__nv_bfloat16 a, __nv_bfloat16 b) {
  return __float2bfloat16(__bfloat162float(a) + __bfloat162float(b));
}

template <typename T>
__global__ void addKernel(T *values, const T *others, int64_t count) {
  const int64_t stride = int64_t(gridDim.x) * blockDim.x;
  for (int64_t i = int64_t(blockIdx.x) * blockDim.x + threadIdx.x; i < count;
       i += stride)
    values[i] = plus(values[i], others[i]);
}

} // namespace

template <typename T>
void addTo(const Stream &stream, T *values, const T *others, int64_t count) {
  const int64_t blocks = blocksFor(count, addThreads);
  launch(stream, addKernel<T>,
         dim3(static_cast<unsigned>(blocks < maxBlocks ? blocks : maxBlocks)),
         dim3(addThreads), 0, values, others, count);
}

template void addTo(const Stream &, float *, const float *, int64_t);
template void addTo(const Stream &, __nv_bfloat16 *, const __nv_bfloat16 *,
                    int64_t);

} // namespace rondo::runtime::cuda

//===----------------------------------------------------------------------===//
// Sums of fp64 numbers.
//
// Parts are added in order, so that the result does not depend on the number of
// ranks.
//===----------------------------------------------------------------------===//

namespace rondo::runtime::cuda {

namespace {

/// One thread adds; the others of its warp are idle.
__global__ void addAllKernel(double *sum, const double *values, int64_t count) {
  if (threadIdx.x != 0)
    return;
  double total = *sum;
  for (int64_t i = 0; i < count; ++i)
    total += values[i];
  *sum = total;
}

} // namespace

void addAllTo(const Stream &stream, double *sum, const double *values,
              int64_t count) {
  launch(stream, addAllKernel, dim3(1), dim3(32), 0, sum, values, count);
}

} // namespace rondo::runtime::cuda

//===----------------------------------------------------------------------===//
// Time and progress of a stream.
//===----------------------------------------------------------------------===//

static __global__ void timeKernel(volatile int64_t *to) {
  if (threadIdx.x == 0)
    *to = deviceNs();
}

void rondo::runtime::cuda::writeDeviceTime(const Stream &stream, int64_t *to) {
  launch(stream, timeKernel, dim3(1), dim3(32), 0, to);
}

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
