//===- norm_rows.h - Norms whose rows fit registers, on CUDA ----*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// For layer norms and those by the root mean square. Forward, a warp has a row.
// Backward, a block has a chunk of rows, whose gradients of gain and bias it
// adds: a thread has the same columns of every row, so it adds in registers. A
// row's sums, over all columns, are needed before its gradient.
//
//===----------------------------------------------------------------------===//

#ifndef RONDO_RUNTIME_BODIES_CUDA_NORM_ROWS_H
#define RONDO_RUNTIME_BODIES_CUDA_NORM_ROWS_H

#include "runtime/base/cuda/stream.h"
#include "runtime/base/cuda/thread.h"
#include "runtime/model/cuda_layouts.h"

namespace rondo::runtime::cuda {

enum class NormKind : uint8_t {
  Layer,
  /// With the sums of normInputGradKeeping() (kernels.h).
  LayerKeeping,
  /// Without mean and bias: by the root mean square.
  RootMeanSquare,
};
/// Sums of columns that the gradient of a norm makes.
template <NormKind kind>
constexpr int normSums = kind == NormKind::Layer          ? 2
                         : kind == NormKind::LayerKeeping ? 4
                                                          : 1;

constexpr int warpsPerBlock = 4;
/// The most packs of 16 bytes of a row that a lane keeps.
constexpr int maxPacks = 8;

/// One warp per row, which it reads once and keeps in registers.
template <typename T, int packs, bool centred>
__global__ void __launch_bounds__(32 * warpsPerBlock, 4)
    normForwardKernel(int64_t rows, int64_t columns, float epsilon, const T *x,
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
  float mean = 0;
  if constexpr (centred) {
    float sum = 0;
#pragma unroll
    for (int p = 0; p < packs; ++p)
#pragma unroll
      for (int i = 0; i < width; ++i)
        sum += (32 * p + lane) * width < columns ? value[p][i] : 0;
    mean = warpSum(sum) / columns;
  }
  float squares = 0;
#pragma unroll
  for (int p = 0; p < packs; ++p)
#pragma unroll
    for (int i = 0; i < width; ++i) {
      value[p][i] -= mean;
      squares +=
          (32 * p + lane) * width < columns ? value[p][i] * value[p][i] : 0;
    }
  const float rowScale = rsqrtf(warpSum(squares) / columns + epsilon);
  if (lane == 0)
    scale[row] = rowScale;
#pragma unroll
  for (int p = 0; p < packs; ++p) {
    const int c = (32 * p + lane) * width;
    if (c >= columns)
      continue;
    float g[width], b[width] = {}, out[width];
    load(g, gain + c);
    if constexpr (centred)
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

/// Makes normal, scale and y (kernels.h). False, and nothing done, for rows
/// without packs or too long.
template <bool centred, typename T>
bool normForwardRows(const Stream &stream, int64_t rows, int64_t columns,
                     float epsilon, const T *x, const float *gain,
                     const float *bias, T *normal, float *scale, T *y) {
  constexpr int64_t width = 16 / sizeof(T);
  const int64_t packs = (columns + 32 * width - 1) / (32 * width);
  if (columns % width != 0 || packs > maxPacks)
    return false;
  const auto run = [&](auto kernel) {
    launch(stream, kernel, blocksFor(rows, warpsPerBlock), 32 * warpsPerBlock,
           0, rows, columns, epsilon, x, gain, bias, normal, scale, y);
  };
  if (packs <= 1)
    run(normForwardKernel<T, 1, centred>);
  else if (packs <= 2)
    run(normForwardKernel<T, 2, centred>);
  else if (packs <= 3)
    run(normForwardKernel<T, 3, centred>);
  else if (packs <= 4)
    run(normForwardKernel<T, 4, centred>);
  else if (packs <= 6)
    run(normForwardKernel<T, 6, centred>);
  else
    run(normForwardKernel<T, maxPacks, centred>);
  return true;
}

/// The most threads of a block with a chunk of rows.
constexpr int maxThreads = 512;
/// Rows that a block reads before it waits for their sums: with fewer, too few
/// bytes are on their way.
constexpr int rowsAtOnce = 4;

/// 16 bytes of a row, kept as they came: as floats, bf16 would need twice the
/// registers.
template <typename T> struct Pack {
  static constexpr int width = 16 / sizeof(T);
  uint4 bits = {0, 0, 0, 0};

  __device__ __forceinline__ void read(const T *from) {
    bits = asVector<const uint4>(from);
  }
  __device__ __forceinline__ void unpack(float (&value)[width]) const {
    T elements[width];
    memcpy(elements, &bits, sizeof(bits));
#pragma unroll
    for (int i = 0; i < width; ++i)
      value[i] = toFloat(elements[i]);
  }
  /// Without it a compiler keeps the floats of an earlier unpack().
  __device__ __forceinline__ void forget() {
#ifdef __CUDACC__
    asm volatile("" : "+r"(bits.x), "+r"(bits.y), "+r"(bits.z), "+r"(bits.w));
#endif
  }
};

/// See kernels.h; bias, residual and kept may be null there.
template <typename T> struct NormGrad {
  int64_t rows, columns;
  int chunkRows;
  const T *dy;
  T *normal;
  const float *scale, *gain, *bias;
  const T *residual;
  T *kept, *dx;
  float *partials;
};

/// A thread's columns: gain and bias, and the sums over rows.
template <int width, NormKind kind> struct NormColumns {
  static constexpr int withBias = normSums<kind> > 1 ? width : 1;
  static constexpr int withSums = normSums<kind> > 2 ? width : 1;
  float gain[width] = {}, bias[withBias] = {};
  float gainGrad[width] = {}, biasGrad[withBias] = {};
  float residual[withSums] = {}, sum[withSums] = {};
};

/// `count` rows from `row`. The warps exchange their sums in `exchange`
/// [warps + 1][count], which nobody may be reading; the last are the rows'
/// scales.
template <int count, NormKind kind, typename T>
__device__ __forceinline__ void
rowsGrad(const NormGrad<T> &a, int64_t row,
         NormColumns<Pack<T>::width, kind> &mine, float2 *exchange) {
  constexpr int width = Pack<T>::width;
  constexpr bool centred = normSums<kind> > 1, keeps = normSums<kind> > 2;
  const int64_t column = int64_t(threadIdx.x) * width;
  const bool inside = column < a.columns;
  const int warps = blockDim.x / 32, warp = threadIdx.x / 32;
  const int64_t at = row * a.columns + column;
  Pack<T> grads[count], values[count], residuals[count];
  const float share = 1 / static_cast<float>(a.columns);
  if (inside) {
#pragma unroll
    for (int r = 0; r < count; ++r) {
      grads[r].read(a.dy + at + r * a.columns);
      values[r].read(a.normal + at + r * a.columns);
    }
    if (a.residual)
#pragma unroll
      for (int r = 0; r < count; ++r)
        residuals[r].read(a.residual + at + r * a.columns);
  }
  if (threadIdx.x < count)
    exchange[warps * count + threadIdx.x].x = a.scale[row + threadIdx.x];
#pragma unroll
  for (int r = 0; r < count; ++r) {
    float grad[width], value[width], mean = 0, slope = 0;
    grads[r].unpack(grad);
    values[r].unpack(value);
#pragma unroll
    for (int i = 0; i < width; ++i) {
      if constexpr (centred)
        mean += grad[i] * mine.gain[i];
      slope += grad[i] * mine.gain[i] * value[i];
    }
    if constexpr (centred)
      mean = warpSum(mean);
    slope = warpSum(slope);
    if (threadIdx.x % 32 == 0)
      exchange[warp * count + r] = make_float2(mean * share, slope * share);
  }
  __syncthreads();
  if (!inside)
    return;
  float means[count] = {}, slopes[count] = {};
  for (int w = 0; w < warps; ++w)
#pragma unroll
    for (int r = 0; r < count; ++r) {
      const float2 other = exchange[w * count + r];
      means[r] += other.x;
      slopes[r] += other.y;
    }
#pragma unroll
  for (int r = 0; r < count; ++r) {
    float grad[width], value[width], out[width];
    const float scale = exchange[warps * count + r].x;
    grads[r].forget();
    values[r].forget();
    grads[r].unpack(grad);
    values[r].unpack(value);
    residuals[r].unpack(out);
    if (keeps || (!centred && a.kept))
      store(a.kept + at + r * a.columns, out);
#pragma unroll
    for (int i = 0; i < width; ++i) {
      if constexpr (keeps)
        mine.residual[i] += out[i];
      float slope = grad[i] * mine.gain[i] - value[i] * slopes[r];
      if constexpr (centred)
        slope -= means[r];
      out[i] += scale * slope;
      mine.gainGrad[i] += grad[i] * value[i];
      if constexpr (keeps)
        mine.sum[i] += out[i];
      value[i] *= mine.gain[i];
      if constexpr (centred) {
        mine.biasGrad[i] += grad[i];
        value[i] += mine.bias[i];
      }
    }
    store(a.dx + at + r * a.columns, out);
    store(a.normal + at + r * a.columns, value);
  }
}

/// A thread per pack of a row.
template <typename T, NormKind kind>
__global__ void __launch_bounds__(maxThreads)
    normInputGradKernel(NormGrad<T> a) {
  constexpr int width = Pack<T>::width;
  const int64_t column = int64_t(threadIdx.x) * width;
  const int64_t first = int64_t(blockIdx.x) * a.chunkRows;
  const int64_t last =
      first + a.chunkRows < a.rows ? first + a.chunkRows : a.rows;
  // Two buffers in turn, so that one barrier per exchange is enough: a thread
  // that writes to the first again has passed the barrier of the second, and
  // after that barrier nobody reads the first.
  auto *exchange = reinterpret_cast<float2 *>(sharedMemory());
  const int size = (static_cast<int>(blockDim.x) / 32 + 1) * rowsAtOnce;
  int turn = 0;
  NormColumns<width, kind> mine;
  if (column < a.columns) {
    load(mine.gain, a.gain + column);
    if constexpr (normSums<kind> > 1)
      load(mine.bias, a.bias + column);
  }
  int64_t row = first;
  for (; row + rowsAtOnce <= last; row += rowsAtOnce, turn ^= 1)
    rowsGrad<rowsAtOnce, kind>(a, row, mine, exchange + turn * size);
  for (; row < last; ++row, turn ^= 1)
    rowsGrad<1, kind>(a, row, mine, exchange + turn * size);
  if (column >= a.columns)
    return;
  float *partial =
      a.partials + blockIdx.x * normSums<kind> * a.columns + column;
  store(partial, mine.gainGrad);
  if constexpr (normSums<kind> > 1)
    store(partial + a.columns, mine.biasGrad);
  if constexpr (normSums<kind> > 2) {
    store(partial + 2 * a.columns, mine.residual);
    store(partial + 3 * a.columns, mine.sum);
  }
}

/// Makes dx, y and partials [normChunks(rows)][normSums][columns]. False, and
/// nothing done, for rows without packs or too long.
template <NormKind kind, typename T>
bool normGradRows(const Stream &stream, const NormGrad<T> &a) {
  constexpr int width = Pack<T>::width;
  const int64_t threads = (a.columns / width + 31) / 32 * 32;
  if (a.columns % width != 0 || threads > maxThreads)
    return false;
  launch(stream, normInputGradKernel<T, kind>, normChunks(a.rows), threads,
         2 * (threads / 32 + 1) * rowsAtOnce * sizeof(float2), a);
  return true;
}

/// Threads of a block that reads rows a second time, for its pack's width.
inline int64_t normThreads(int64_t columns, int64_t width) {
  return smaller(larger((columns / width + 31) / 32 * 32, 64), maxThreads);
}

} // namespace rondo::runtime::cuda

#endif // RONDO_RUNTIME_BODIES_CUDA_NORM_ROWS_H
