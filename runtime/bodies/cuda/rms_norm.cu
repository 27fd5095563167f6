//===- rms_norm.cu - Normalisation by the root mean square, CUDA ----------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "runtime/bodies/cuda/rms_norm.h"

#include "runtime/base/cuda/thread.h"
#include "runtime/bodies/cuda/reduce.h"
#include "runtime/model/cuda_layouts.h"

#include <algorithm>

namespace rondo::runtime::cuda {

namespace {

constexpr int packWidth = 4;
constexpr int warpsPerBlock = 4;

/// One warp per row.
template <typename T, int width>
__global__ void __launch_bounds__(32 * warpsPerBlock)
    rmsForwardKernel(int64_t rows, int64_t columns, float epsilon, const T *x,
                     const float *gain, T *normal, float *scale, T *y) {
  const int64_t row = int64_t(blockIdx.x) * warpsPerBlock + threadIdx.x / 32;
  if (row >= rows)
    return;
  const int64_t lane = threadIdx.x % 32, step = 32 * width;
  const T *rowX = x + row * columns;
  float value[width];

  float squares = 0;
  for (int64_t c = lane * width; c < columns; c += step) {
    load(value, rowX + c);
#pragma unroll
    for (int i = 0; i < width; ++i)
      squares += value[i] * value[i];
  }
  const float rowScale = rsqrtf(warpSum(squares) / columns + epsilon);
  if (lane == 0)
    scale[row] = rowScale;
  for (int64_t c = lane * width; c < columns; c += step) {
    float out[width], g[width];
    load(value, rowX + c);
    load(g, gain + c);
#pragma unroll
    for (int i = 0; i < width; ++i) {
      value[i] *= rowScale;
      out[i] = g[i] * value[i];
    }
    store(normal + row * columns + c, value);
    store(y + row * columns + c, out);
  }
}

/// One block per chunk of rows, like the kernel of a norm with mean and bias.
template <typename T, int width>
__global__ void __launch_bounds__(512)
    rmsInputGradKernel(int64_t rows, int64_t columns, int chunkRows,
                       const T *dy, T *normal, const float *scale,
                       const float *gain, const T *residual, T *kept, T *dx,
                       float *partials) {
  auto *slopes = reinterpret_cast<float *>(sharedMemory());
  float *scales = slopes + chunkRows;
  const int64_t first = int64_t(blockIdx.x) * chunkRows;
  const int count =
      static_cast<int>(first + chunkRows < rows ? chunkRows : rows - first);
  const int lane = threadIdx.x % 32;
  for (int r = threadIdx.x / 32; r < count; r += blockDim.x / 32) {
    const int64_t at = (first + r) * columns;
    float slope = 0;
    for (int64_t c = lane * width; c < columns; c += 32 * width) {
      float grad[width], value[width], g[width];
      load(grad, dy + at + c);
      load(value, normal + at + c);
      load(g, gain + c);
#pragma unroll
      for (int i = 0; i < width; ++i)
        slope += grad[i] * g[i] * value[i];
    }
    slope = warpSum(slope) / columns;
    if (lane == 0) {
      slopes[r] = slope;
      scales[r] = scale[first + r];
    }
  }
  __syncthreads();
  for (int64_t c = int64_t(threadIdx.x) * width; c < columns;
       c += int64_t(blockDim.x) * width) {
    float g[width], gainGrad[width] = {};
    load(g, gain + c);
#pragma unroll 2
    for (int r = 0; r < count; ++r) {
      const int64_t at = (first + r) * columns + c;
      float grad[width], value[width], out[width] = {};
      load(grad, dy + at);
      load(value, normal + at);
      if (residual)
        load(out, residual + at);
      if (kept)
        store(kept + at, out);
#pragma unroll
      for (int i = 0; i < width; ++i) {
        out[i] += scales[r] * (grad[i] * g[i] - value[i] * slopes[r]);
        gainGrad[i] += grad[i] * value[i];
        value[i] *= g[i];
      }
      store(dx + at, out);
      store(normal + at, value);
    }
    store(partials + blockIdx.x * columns + c, gainGrad);
  }
}

/// Calls `run` with the widest pack that rows of `columns` elements allow.
template <typename Run> void withWidth(int64_t columns, Run run) {
  if (columns % packWidth == 0)
    run(std::integral_constant<int, packWidth>());
  else
    run(std::integral_constant<int, 1>());
}

} // namespace

template <typename T>
void rmsForward(const Stream &stream, int64_t rows, int64_t columns,
                float epsilon, const T *x, const float *gain, T *normal,
                float *scale, T *y) {
  withWidth(columns, [&](auto width) {
    launch(stream, rmsForwardKernel<T, width.value>,
           blocksFor(rows, warpsPerBlock), 32 * warpsPerBlock, 0, rows, columns,
           epsilon, x, gain, normal, scale, y);
  });
}

template <typename T>
void rmsInputGrad(const Stream &stream, int64_t rows, int64_t columns,
                  const T *dy, T *normal, const float *scale, const float *gain,
                  const T *residual, T *kept, T *dx, float *grads,
                  float *partials) {
  const int64_t chunks = normChunks(rows), chunkRows = normChunkRows(rows);
  withWidth(columns, [&](auto width) {
    const int64_t threads =
        std::clamp<int64_t>((columns / width.value + 31) / 32 * 32, 64, 512);
    launch(stream, rmsInputGradKernel<T, width.value>, chunks, threads,
           2 * chunkRows * sizeof(float), rows, columns, chunkRows, dy, normal,
           scale, gain, residual, kept, dx, partials);
  });
  setPartials(stream, {{chunks, columns, partials, grads}});
}

#define RONDO_INSTANTIATE(T)                                                   \
  template void rmsForward(const Stream &, int64_t, int64_t, float, const T *, \
                           const float *, T *, float *, T *);                  \
  template void rmsInputGrad(const Stream &, int64_t, int64_t, const T *, T *, \
                             const float *, const float *, const T *, T *,     \
                             T *, float *, float *);
RONDO_INSTANTIATE(float)
RONDO_INSTANTIATE(Bf16)

} // namespace rondo::runtime::cuda
