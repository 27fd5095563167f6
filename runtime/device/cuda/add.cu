//===- add.cu - Sums of two buffers on a GPU ------------------------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// To add several buffers, call it once for each, in order, so that the bits do
// not depend on when they came.
//
//===----------------------------------------------------------------------===//

#include "runtime/device/cuda/add.h"

#include <cuda_bf16.h>

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
