//===- norm_backward.cu - Gradients of layer normalisation on CUDA --------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// One block per chunk of rows, whose gradients of gain and bias it adds. A
// thread has the same columns of every row, so it adds in registers. A row's
// two sums, over all columns, are needed before its gradient.
//
//===----------------------------------------------------------------------===//

#include "runtime/bodies/cuda/norm.h"

#include "runtime/base/cuda/thread.h"
#include "runtime/bodies/cuda/reduce.h"
#include "runtime/model/cuda_layouts.h"

#include <algorithm>

namespace rondo::runtime::cuda {

namespace {

constexpr int mostThreads = 512;
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

template <typename T> struct Arguments {
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
template <int width, bool keeps> struct Columns {
  float gain[width] = {}, bias[width] = {};
  float gainGrad[width] = {}, biasGrad[width] = {};
  float residual[keeps ? width : 1] = {}, sum[keeps ? width : 1] = {};
};

/// `count` rows from `row`. The warps exchange their sums in `exchange`
/// [warps][count], which nobody may be reading.
template <int count, bool keeps, typename T>
__device__ __forceinline__ void rowsGrad(const Arguments<T> &a, int64_t row,
                                         Columns<Pack<T>::width, keeps> &mine,
                                         float2 *exchange) {
  constexpr int width = Pack<T>::width;
  const int64_t column = int64_t(threadIdx.x) * width;
  const bool inside = column < a.columns;
  const int warps = blockDim.x / 32, warp = threadIdx.x / 32;
  const int64_t at = row * a.columns + column;
  Pack<T> grads[count], values[count], residuals[count];
  float scales[count];
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
#pragma unroll
  for (int r = 0; r < count; ++r)
    scales[r] = a.scale[row + r];
#pragma unroll
  for (int r = 0; r < count; ++r) {
    float grad[width], value[width], mean = 0, slope = 0;
    grads[r].unpack(grad);
    values[r].unpack(value);
#pragma unroll
    for (int i = 0; i < width; ++i) {
      mean += grad[i] * mine.gain[i];
      slope += grad[i] * mine.gain[i] * value[i];
    }
    mean = warpSum(mean);
    slope = warpSum(slope);
    if (threadIdx.x % 32 == 0)
      exchange[warp * count + r] = make_float2(mean, slope);
  }
  __syncthreads();
#pragma unroll
  for (int r = 0; r < count; ++r) {
    float mean = 0, slope = 0;
    for (int w = 0; w < warps; ++w) {
      const float2 other = exchange[w * count + r];
      mean += other.x;
      slope += other.y;
    }
    mean /= a.columns;
    slope /= a.columns;
    if (!inside)
      continue;
    float grad[width], value[width], out[width];
    grads[r].forget();
    values[r].forget();
    grads[r].unpack(grad);
    values[r].unpack(value);
    residuals[r].unpack(out);
    if constexpr (keeps)
      store(a.kept + at + r * a.columns, out);
#pragma unroll
    for (int i = 0; i < width; ++i) {
      if constexpr (keeps)
        mine.residual[i] += out[i];
      out[i] += scales[r] * (grad[i] * mine.gain[i] - mean - value[i] * slope);
      mine.gainGrad[i] += grad[i] * value[i];
      mine.biasGrad[i] += grad[i];
      if constexpr (keeps)
        mine.sum[i] += out[i];
      value[i] = mine.gain[i] * value[i] + mine.bias[i];
    }
    store(a.dx + at + r * a.columns, out);
    store(a.normal + at + r * a.columns, value);
  }
}

/// A thread per pack of a row. `keeps`: also does the extra work of
/// normInputGradKeeping().
template <typename T, bool keeps>
__global__ void __launch_bounds__(mostThreads)
    normInputGradKernel(Arguments<T> a) {
  constexpr int width = Pack<T>::width;
  const int64_t column = int64_t(threadIdx.x) * width;
  const int64_t first = int64_t(blockIdx.x) * a.chunkRows;
  const int64_t last =
      first + a.chunkRows < a.rows ? first + a.chunkRows : a.rows;
  // Two, used in turns, so that one barrier for each exchange suffices: who
  // writes to one again has passed the barrier of the other, behind which
  // nobody reads the first.
  auto *exchange = reinterpret_cast<float2 *>(sharedMemory());
  const int size = static_cast<int>(blockDim.x) / 32 * rowsAtOnce;
  int turn = 0;
  Columns<width, keeps> mine;
  if (column < a.columns) {
    load(mine.gain, a.gain + column);
    load(mine.bias, a.bias + column);
  }
  int64_t row = first;
  for (; row + rowsAtOnce <= last; row += rowsAtOnce, turn ^= 1)
    rowsGrad<rowsAtOnce, keeps>(a, row, mine, exchange + turn * size);
  for (; row < last; ++row, turn ^= 1)
    rowsGrad<1, keeps>(a, row, mine, exchange + turn * size);
  if (column >= a.columns)
    return;
  float *partial =
      a.partials + blockIdx.x * (keeps ? 4 : 2) * a.columns + column;
  store(partial, mine.gainGrad);
  store(partial + a.columns, mine.biasGrad);
  if constexpr (keeps) {
    store(partial + 2 * a.columns, mine.residual);
    store(partial + 3 * a.columns, mine.sum);
  }
}

/// For rows without packs, or too long for a block. First a warp computes a
/// row's two sums; then each thread goes down the chunk in its own columns, and
/// reads again, from a cache.
template <typename T, int width, bool keeps>
__global__ void __launch_bounds__(512) anyInputGradKernel(Arguments<T> a) {
  const auto [rows, columns, chunkRows, dy, normal, scale, gain, bias, residual,
              kept, dx, partials] = a;
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

template <bool keeps, typename T>
void inputGrad(const Stream &stream, const Arguments<T> &a, float *sums) {
  constexpr int width = Pack<T>::width;
  const int64_t chunks = normChunks(a.rows);
  const auto threadsFor = [&](int64_t each) {
    return (a.columns / each + 31) / 32 * 32;
  };
  const auto runAny = [&](auto kernel, int64_t each) {
    launch(stream, kernel, chunks,
           std::clamp<int64_t>(threadsFor(each), 64, mostThreads),
           3 * a.chunkRows * sizeof(float), a);
  };
  const int64_t threads = threadsFor(width);
  if (a.columns % width == 0 && threads <= mostThreads)
    launch(stream, normInputGradKernel<T, keeps>, chunks, threads,
           2 * threads / 32 * rowsAtOnce * sizeof(float2), a);
  else if (a.columns % 4 == 0)
    runAny(anyInputGradKernel<T, 4, keeps>, 4);
  else
    runAny(anyInputGradKernel<T, 1, keeps>, 1);
  setPartials(stream,
              {{chunks, (keeps ? 4 : 2) * a.columns, a.partials, sums}});
}

} // namespace

template <typename T>
void normInputGrad(const Stream &stream, int64_t rows, int64_t columns,
                   const T *dy, T *normal, const float *scale,
                   const float *gain, const float *bias, const T *residual,
                   T *dx, float *grads, float *partials) {
  const int chunkRows = static_cast<int>(normChunkRows(rows));
  inputGrad<false, T>(stream,
                      {rows, columns, chunkRows, dy, normal, scale, gain, bias,
                       residual, nullptr, dx, partials},
                      grads);
}

template <typename T>
void normInputGradKeeping(const Stream &stream, int64_t rows, int64_t columns,
                          const T *dy, T *normal, const float *scale,
                          const float *gain, const float *bias,
                          const T *residual, T *kept, T *dx, float *sums,
                          float *partials) {
  const int chunkRows = static_cast<int>(normChunkRows(rows));
  inputGrad<true, T>(stream,
                     {rows, columns, chunkRows, dy, normal, scale, gain, bias,
                      residual, kept, dx, partials},
                     sums);
}

#define RONDO_INSTANTIATE(T)                                                   \
  template void normInputGrad(                                                 \
      const Stream &, int64_t, int64_t, const T *, T *, const float *,         \
      const float *, const float *, const T *, T *, float *, float *);         \
  template void normInputGradKeeping(                                          \
      const Stream &, int64_t, int64_t, const T *, T *, const float *,         \
      const float *, const float *, const T *, T *, T *, float *, float *);
RONDO_INSTANTIATE(float)
RONDO_INSTANTIATE(Bf16)

} // namespace rondo::runtime::cuda
