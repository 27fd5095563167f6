//===- kernels.cu - Kernels of exported layers ----------------------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "runtime/torch/cuda/kernels.h"

#include "runtime/base/cuda/thread.h"

namespace rondo::torch {

using runtime::cuda::blocksFor;
using runtime::cuda::launch;

namespace {

constexpr int threadsOfCopy = 256;

/// Sizes, and strides in elements.
struct Strided {
  int64_t count;
  int32_t numDims;
  int64_t sizes[maxDims], to[maxDims], from[maxDims];
};

template <typename T>
__global__ void copyKernel(Strided of, T *to, const T *from) {
  int64_t i = int64_t(blockIdx.x) * threadsOfCopy + threadIdx.x;
  if (i >= of.count)
    return;
  int64_t toPlace = 0, fromPlace = 0;
  for (int32_t d = of.numDims - 1; d >= 0; --d) {
    const int64_t index = i % of.sizes[d];
    i /= of.sizes[d];
    toPlace += index * of.to[d];
    fromPlace += index * of.from[d];
  }
  to[toPlace] = from[fromPlace];
}

__global__ void narrowKernel(int64_t count, const int64_t *indices,
                             int32_t *narrow) {
  const int64_t i = int64_t(blockIdx.x) * threadsOfCopy + threadIdx.x;
  if (i < count)
    narrow[i] = static_cast<int32_t>(indices[i]);
}

__global__ void scalarsKernel(DeviceScalars *scalars, float lossScale,
                              RandomKeys keys, int64_t iteration,
                              const int64_t *iterationOnDevice) {
  if (threadIdx.x > 0)
    return;
  scalars->lossScale = lossScale;
  scalars->randomKey =
      keys.of(iterationOnDevice ? *iterationOnDevice : iteration);
}

template <typename T>
void copyAs(const runtime::cuda::Stream &stream, const Strided &of,
            const Tensor &to, const Tensor &from) {
  launch(stream, copyKernel<T>, dim3(blocksFor(of.count, threadsOfCopy)),
         dim3(threadsOfCopy), 0, of, reinterpret_cast<T *>(to.data()),
         reinterpret_cast<const T *>(from.data()));
}

} // namespace

void copyStrided(const runtime::cuda::Stream &stream, const Tensor &to,
                 const Tensor &from, const int64_t *strides) {
  Strided of{};
  of.count = to.count();
  // A grid has a block at least.
  if (of.count == 0)
    return;
  of.numDims = to.numDims;
  for (int32_t d = 0; d < to.numDims; ++d) {
    of.sizes[d] = to.sizes[d];
    of.to[d] = to.strides[d];
    of.from[d] = strides[d];
  }
  switch (bytesOf(to.dtype)) {
  case 1:
    return copyAs<uint8_t>(stream, of, to, from);
  case 2:
    return copyAs<uint16_t>(stream, of, to, from);
  case 4:
    return copyAs<uint32_t>(stream, of, to, from);
  default:
    return copyAs<uint64_t>(stream, of, to, from);
  }
}

void narrowIndices(const runtime::cuda::Stream &stream, int64_t count,
                   const int64_t *indices, int32_t *narrow) {
  if (count == 0)
    return;
  launch(stream, narrowKernel, dim3(blocksFor(count, threadsOfCopy)),
         dim3(threadsOfCopy), 0, count, indices, narrow);
}

void writeScalars(const runtime::cuda::Stream &stream, DeviceScalars *scalars,
                  float lossScale, const RandomKeys &keys, int64_t iteration,
                  const int64_t *iterationOnDevice) {
  launch(stream, scalarsKernel, dim3(1), dim3(32), 0, scalars, lossScale, keys,
         iteration, iterationOnDevice);
}

} // namespace rondo::torch
