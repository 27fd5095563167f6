//===- rms_norm.cu - Normalisation by the root mean square, CUDA ----------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "runtime/bodies/cuda/norm.h"

#include "runtime/bodies/cuda/norm_rows.h"
#include "runtime/bodies/cuda/reduce.h"

namespace rondo::runtime::cuda {

namespace {

/// One warp per row, for rows without packs or too long for registers.
template <typename T, int width>
__global__ void __launch_bounds__(32 * warpsPerBlock)
    anyForwardKernel(int64_t rows, int64_t columns, float epsilon, const T *x,
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
         columns % 4 == 0 ? anyForwardKernel<T, 4> : anyForwardKernel<T, 1>,
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
