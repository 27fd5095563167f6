//===- norm.cu - Layer normalisation on CUDA ------------------------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "runtime/bodies/cuda/kernels.h"

#include "runtime/bodies/cuda/norm_rows.h"

namespace rondo::runtime::cuda {

namespace {

/// Added to the variance of a row.
constexpr float epsilon = 1e-5f;

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
  const float rowScale = rsqrtf(warpSum(squares) / columns + epsilon);
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

/// For rows without packs, or too long for a block. First a warp computes a
/// row's two sums; then each thread goes down the chunk in its own columns, and
/// reads again, from a cache.
template <typename T, int width, bool keeps>
__global__ void __launch_bounds__(512) anyInputGradKernel(NormGrad<T> a) {
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

template <NormKind kind, typename T>
void inputGrad(const Stream &stream, const NormGrad<T> &a, float *sums) {
  constexpr bool keeps = kind == NormKind::LayerKeeping;
  const int64_t chunks = normChunks(a.rows);
  const auto runAny = [&](auto kernel, int64_t width) {
    launch(stream, kernel, chunks, normThreads(a.columns, width),
           3 * a.chunkRows * sizeof(float), a);
  };
  if (!normGradRows<kind>(stream, a)) {
    if (a.columns % 4 == 0)
      runAny(anyInputGradKernel<T, 4, keeps>, 4);
    else
      runAny(anyInputGradKernel<T, 1, keeps>, 1);
  }
  if (sums)
    setPartials(stream,
                {{chunks, normSums<kind> * a.columns, a.partials, sums}});
}

} // namespace

template <typename T>
void normForward(const Stream &stream, int64_t rows, int64_t columns,
                 const T *x, const float *gain, const float *bias, T *normal,
                 float *scale, T *y) {
  if (normForwardRows<true>(stream, rows, columns, epsilon, x, gain, bias,
                            normal, scale, y))
    return;
  launch(stream,
         columns % 4 == 0 ? anyForwardKernel<T, 4> : anyForwardKernel<T, 1>,
         blocksFor(rows, warpsPerBlock), 32 * warpsPerBlock, 0, rows, columns,
         x, gain, bias, normal, scale, y);
}

template <typename T>
void normInputGrad(const Stream &stream, int64_t rows, int64_t columns,
                   const T *dy, T *normal, const float *scale,
                   const float *gain, const float *bias, const T *residual,
                   T *dx, float *grads, float *partials) {
  const int chunkRows = static_cast<int>(normChunkRows(rows));
  inputGrad<NormKind::Layer, T>(stream,
                                {rows, columns, chunkRows, dy, normal, scale,
                                 gain, bias, residual, nullptr, dx, partials},
                                grads);
}

template <typename T>
void normInputGradKeeping(const Stream &stream, int64_t rows, int64_t columns,
                          const T *dy, T *normal, const float *scale,
                          const float *gain, const float *bias,
                          const T *residual, T *kept, T *dx, float *sums,
                          float *partials) {
  const int chunkRows = static_cast<int>(normChunkRows(rows));
  inputGrad<NormKind::LayerKeeping, T>(stream,
                                       {rows, columns, chunkRows, dy, normal,
                                        scale, gain, bias, residual, kept, dx,
                                        partials},
                                       sums);
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
#undef RONDO_INSTANTIATE

} // namespace rondo::runtime::cuda

//===----------------------------------------------------------------------===//
// RMS norm.
//===----------------------------------------------------------------------===//

namespace rondo::runtime::cuda {

namespace {

/// One warp per row, for rows without packs or too long for registers.
template <typename T, int width>
__global__ void __launch_bounds__(32 * warpsPerBlock)
    anyRmsForwardKernel(int64_t rows, int64_t columns, float epsilon,
                        const T *x, const float *gain, T *normal, float *scale,
                        T *y) {
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

/// For rows without packs, or too long for a block: one block per chunk of
/// rows, like the kernel of a norm with mean and bias.
template <typename T, int width>
__global__ void __launch_bounds__(512) anyInputGradKernel(NormGrad<T> a) {
  const auto [rows, columns, chunkRows, dy, normal, scale, gain, bias, residual,
              kept, dx, partials] = a;
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

} // namespace

template <typename T>
void rmsForward(const Stream &stream, int64_t rows, int64_t columns,
                float epsilon, const T *x, const float *gain, T *normal,
                float *scale, T *y) {
  if (normForwardRows<false, T>(stream, rows, columns, epsilon, x, gain,
                                nullptr, normal, scale, y))
    return;
  launch(stream,
         columns % 4 == 0 ? anyRmsForwardKernel<T, 4>
                          : anyRmsForwardKernel<T, 1>,
         blocksFor(rows, warpsPerBlock), 32 * warpsPerBlock, 0, rows, columns,
         epsilon, x, gain, normal, scale, y);
}

template <typename T>
void rmsInputGrad(const Stream &stream, int64_t rows, int64_t columns,
                  const T *dy, T *normal, const float *scale, const float *gain,
                  const T *residual, T *kept, T *dx, float *grads,
                  float *partials) {
  const int64_t chunks = normChunks(rows);
  const NormGrad<T> a{rows, columns, static_cast<int>(normChunkRows(rows)),
                      dy,   normal,  scale,
                      gain, nullptr, residual,
                      kept, dx,      partials};
  if (!normGradRows<NormKind::RootMeanSquare>(stream, a)) {
    const int width = columns % 4 == 0 ? 4 : 1;
    launch(stream,
           width == 4 ? anyInputGradKernel<T, 4> : anyInputGradKernel<T, 1>,
           chunks, normThreads(columns, width), 2 * a.chunkRows * sizeof(float),
           a);
  }
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
