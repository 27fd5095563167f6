//===- norm.cu - Layer normalisation on CUDA ------------------------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "runtime/bodies/cuda/norm.h"

#include "runtime/base/cuda/thread.h"

namespace rondo::runtime::cuda {

namespace {

constexpr int warpsPerBlock = 4;
/// The most packs of 16 bytes that a lane keeps.
constexpr int mostPacks = 8;

/// One warp per row, which it reads once and keeps in registers.
template <typename T, int packs>
__global__ void __launch_bounds__(32 * warpsPerBlock, 4)
    normForwardKernel(int64_t rows, int64_t columns, const T *x,
                      const float *gain, const float *bias, T *normal,
                      float *scale, T *y) {
  constexpr int width = 16 / sizeof(T);
  const int64_t row = int64_t(blockIdx.x) * warpsPerBlock + threadIdx.x / 32;
  if (row >= rows)
    return;
  const int lane = threadIdx.x % 32;
  const T *rowX = x + row * columns;
  float value[packs][width];

  // Loads unconditionally, so that all are in flight; past the row's end, its
  // beginning.
#pragma unroll
  for (int p = 0; p < packs; ++p) {
    const int c = (32 * p + lane) * width;
    load(value[p], rowX + (c < columns ? c : 0));
  }
  float sum = 0;
#pragma unroll
  for (int p = 0; p < packs; ++p)
#pragma unroll
    for (int i = 0; i < width; ++i)
      sum += (32 * p + lane) * width < columns ? value[p][i] : 0;
  const float mean = warpSum(sum) / columns;
  float squares = 0;
#pragma unroll
  for (int p = 0; p < packs; ++p)
#pragma unroll
    for (int i = 0; i < width; ++i) {
      value[p][i] -= mean;
      squares +=
          (32 * p + lane) * width < columns ? value[p][i] * value[p][i] : 0;
    }
  const float rowScale = rsqrtf(warpSum(squares) / columns + 1e-5f);
  if (lane == 0)
    scale[row] = rowScale;
#pragma unroll
  for (int p = 0; p < packs; ++p) {
    const int c = (32 * p + lane) * width;
    if (c >= columns)
      continue;
    float g[width], b[width], out[width];
    load(g, gain + c);
    load(b, bias + c);
#pragma unroll
    for (int i = 0; i < width; ++i) {
      value[p][i] *= rowScale;
      out[i] = g[i] * value[p][i] + b[i];
    }
    store(normal + row * columns + c, value[p]);
    store(y + row * columns + c, out);
  }
}

/// For rows without packs, or too long for registers: reads them three times,
/// from a cache after the first.
template <typename T, int width>
__global__ void __launch_bounds__(32 * warpsPerBlock)
    anyForwardKernel(int64_t rows, int64_t columns, const T *x,
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

} // namespace

template <typename T>
void normForward(const Stream &stream, int64_t rows, int64_t columns,
                 const T *x, const float *gain, const float *bias, T *normal,
                 float *scale, T *y) {
  constexpr int64_t width = 16 / sizeof(T);
  const auto run = [&](auto kernel) {
    launch(stream, kernel, blocksFor(rows, warpsPerBlock), 32 * warpsPerBlock,
           0, rows, columns, x, gain, bias, normal, scale, y);
  };
  const int64_t packs = columns % width == 0
                            ? (columns + 32 * width - 1) / (32 * width)
                            : mostPacks + 1;
  if (packs <= 1)
    run(normForwardKernel<T, 1>);
  else if (packs <= 2)
    run(normForwardKernel<T, 2>);
  else if (packs <= 3)
    run(normForwardKernel<T, 3>);
  else if (packs <= 4)
    run(normForwardKernel<T, 4>);
  else if (packs <= 6)
    run(normForwardKernel<T, 6>);
  else if (packs <= mostPacks)
    run(normForwardKernel<T, mostPacks>);
  else if (columns % 4 == 0)
    run(anyForwardKernel<T, 4>);
  else
    run(anyForwardKernel<T, 1>);
}

#define RONDO_INSTANTIATE(T)                                                   \
  template void normForward(const Stream &, int64_t, int64_t, const T *,       \
                            const float *, const float *, T *, float *, T *);
RONDO_INSTANTIATE(float)
RONDO_INSTANTIATE(Bf16)

} // namespace rondo::runtime::cuda
