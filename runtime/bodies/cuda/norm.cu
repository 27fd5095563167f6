//===- norm.cu - Layer normalisation on CUDA ------------------------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "runtime/bodies/cuda/norm.h"

#include "runtime/base/cuda/thread.h"
#include "runtime/bodies/cuda/reduce.h"
#include "runtime/model/cuda_layouts.h"

#include <algorithm>

namespace rondo::runtime::cuda {

namespace {

/// Elements of a pack if rows allow it: 8 bytes in bf16, 16 in fp32, so that a
/// usual row has work for all threads of a block.
constexpr int packWidth = 4;
constexpr int warpsPerBlock = 4;

/// One warp per row.
template <typename T, int width>
__global__ void __launch_bounds__(32 * warpsPerBlock)
    normForwardKernel(int64_t rows, int64_t columns, const T *x,
                      const float *gain, const float *bias, T *normal,
                      float *scale, T *y) {
  const int64_t row = int64_t(blockIdx.x) * warpsPerBlock + threadIdx.x / 32;
  if (row >= rows)
    return;
  const int64_t lane = threadIdx.x % 32, step = 32 * width;
  const T *rowX = x + row * columns;
  float value[width];

  float sum = 0;
  for (int64_t c = lane * width; c < columns; c += step) {
    load(value, rowX + c);
#pragma unroll
    for (int i = 0; i < width; ++i)
      sum += value[i];
  }
  const float mean = warpSum(sum) / columns;
  float squares = 0;
  for (int64_t c = lane * width; c < columns; c += step) {
    load(value, rowX + c);
#pragma unroll
    for (int i = 0; i < width; ++i)
      squares += (value[i] - mean) * (value[i] - mean);
  }
  const float rowScale = rsqrtf(warpSum(squares) / columns + 1e-5f);
  if (lane == 0)
    scale[row] = rowScale;
  for (int64_t c = lane * width; c < columns; c += step) {
    float out[width], g[width], b[width];
    load(value, rowX + c);
    load(g, gain + c);
    load(b, bias + c);
#pragma unroll
    for (int i = 0; i < width; ++i) {
      value[i] = (value[i] - mean) * rowScale;
      out[i] = g[i] * value[i] + b[i];
    }
    store(normal + row * columns + c, value);
    store(y + row * columns + c, out);
  }
}

/// One block per chunk of rows. First a warp computes a row's two sums; then
/// each thread goes down the chunk in its own columns, writes dx and y, and
/// accumulates the gradients of gain and bias in registers. `keeps`: also does
/// the extra work of normInputGradKeeping().
template <typename T, int width, bool keeps>
__global__ void __launch_bounds__(512)
    normInputGradKernel(int64_t rows, int64_t columns, int chunkRows,
                        const T *dy, T *normal, const float *scale,
                        const float *gain, const float *bias, const T *residual,
                        T *kept, T *dx, float *partials) {
  auto *means = reinterpret_cast<float *>(sharedMemory());
  float *slopes = means + chunkRows, *scales = slopes + chunkRows;
  const int64_t first = int64_t(blockIdx.x) * chunkRows;
  const int count =
      static_cast<int>(first + chunkRows < rows ? chunkRows : rows - first);
  const int lane = threadIdx.x % 32;
  for (int r = threadIdx.x / 32; r < count; r += blockDim.x / 32) {
    const int64_t at = (first + r) * columns;
    float mean = 0, slope = 0;
    for (int64_t c = lane * width; c < columns; c += 32 * width) {
      float grad[width], value[width], g[width];
      load(grad, dy + at + c);
      load(value, normal + at + c);
      load(g, gain + c);
#pragma unroll
      for (int i = 0; i < width; ++i) {
        mean += grad[i] * g[i];
        slope += grad[i] * g[i] * value[i];
      }
    }
    mean = warpSum(mean) / columns;
    slope = warpSum(slope) / columns;
    if (lane == 0) {
      means[r] = mean;
      slopes[r] = slope;
      scales[r] = scale[first + r];
    }
  }
  __syncthreads();
  for (int64_t c = int64_t(threadIdx.x) * width; c < columns;
       c += int64_t(blockDim.x) * width) {
    float g[width], b[width], gainGrad[width] = {}, biasGrad[width] = {};
    float residualSum[width] = {}, sum[width] = {};
    load(g, gain + c);
    load(b, bias + c);
    // Two rows at once: with more, registers would not let a large device hold
    // all blocks at the same time.
#pragma unroll 2
    for (int r = 0; r < count; ++r) {
      const int64_t at = (first + r) * columns + c;
      float grad[width], value[width], out[width] = {};
      load(grad, dy + at);
      load(value, normal + at);
      if (residual)
        load(out, residual + at);
      if constexpr (keeps) {
        store(kept + at, out);
#pragma unroll
        for (int i = 0; i < width; ++i)
          residualSum[i] += out[i];
      }
#pragma unroll
      for (int i = 0; i < width; ++i) {
        out[i] +=
            scales[r] * (grad[i] * g[i] - means[r] - value[i] * slopes[r]);
        gainGrad[i] += grad[i] * value[i];
        biasGrad[i] += grad[i];
        if constexpr (keeps)
          sum[i] += out[i];
        value[i] = g[i] * value[i] + b[i];
      }
      store(dx + at, out);
      store(normal + at, value);
    }
    float *partial = partials + blockIdx.x * (keeps ? 4 : 2) * columns;
    store(partial + c, gainGrad);
    store(partial + columns + c, biasGrad);
    if constexpr (keeps) {
      store(partial + 2 * columns + c, residualSum);
      store(partial + 3 * columns + c, sum);
    }
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
void normForward(const Stream &stream, int64_t rows, int64_t columns,
                 const T *x, const float *gain, const float *bias, T *normal,
                 float *scale, T *y) {
  withWidth(columns, [&](auto width) {
    launch(stream, normForwardKernel<T, width.value>,
           blocksFor(rows, warpsPerBlock), 32 * warpsPerBlock, 0, rows, columns,
           x, gain, bias, normal, scale, y);
  });
}

namespace {

template <bool keeps, typename T>
void inputGrad(const Stream &stream, int64_t rows, int64_t columns, const T *dy,
               T *normal, const float *scale, const float *gain,
               const float *bias, const T *residual, T *kept, T *dx,
               float *sums, float *partials) {
  const int64_t chunks = normChunks(rows), chunkRows = normChunkRows(rows);
  withWidth(columns, [&](auto width) {
    const int64_t threads =
        std::clamp<int64_t>((columns / width.value + 31) / 32 * 32, 64, 512);
    launch(stream, normInputGradKernel<T, width.value, keeps>, chunks, threads,
           3 * chunkRows * sizeof(float), rows, columns, chunkRows, dy, normal,
           scale, gain, bias, residual, kept, dx, partials);
  });
  setPartials(stream, {{chunks, (keeps ? 4 : 2) * columns, partials, sums}});
}

} // namespace

template <typename T>
void normInputGrad(const Stream &stream, int64_t rows, int64_t columns,
                   const T *dy, T *normal, const float *scale,
                   const float *gain, const float *bias, const T *residual,
                   T *dx, float *grads, float *partials) {
  inputGrad<false, T>(stream, rows, columns, dy, normal, scale, gain, bias,
                      residual, nullptr, dx, grads, partials);
}

template <typename T>
void normInputGradKeeping(const Stream &stream, int64_t rows, int64_t columns,
                          const T *dy, T *normal, const float *scale,
                          const float *gain, const float *bias,
                          const T *residual, T *kept, T *dx, float *sums,
                          float *partials) {
  inputGrad<true, T>(stream, rows, columns, dy, normal, scale, gain, bias,
                     residual, kept, dx, sums, partials);
}

#define RONDO_INSTANTIATE(T)                                                   \
  template void normForward(const Stream &, int64_t, int64_t, const T *,       \
                            const float *, const float *, T *, float *, T *);  \
  template void normInputGrad(                                                 \
      const Stream &, int64_t, int64_t, const T *, T *, const float *,         \
      const float *, const float *, const T *, T *, float *, float *);         \
  template void normInputGradKeeping(                                          \
      const Stream &, int64_t, int64_t, const T *, T *, const float *,         \
      const float *, const float *, const T *, T *, T *, float *, float *);
RONDO_INSTANTIATE(float)
RONDO_INSTANTIATE(Bf16)

} // namespace rondo::runtime::cuda
