//===- activations.cu - GELU and SwiGLU -----------------------------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "runtime/bodies/cuda/kernels.h"

#include "runtime/base/cuda/thread.h"

namespace rondo::runtime::cuda {

namespace {

constexpr float twice = 1.5957691216057308f; // 2 sqrt(2/pi)
constexpr float cubic = 0.044715f;
constexpr int blockThreads = 256;

/// gelu(x) / x = (1 + tanh(z)) / 2 = 1 / (1 + e^-2z)
/// with z = sqrt(2/pi) (x + 0.044715 x^3). The exact division would branch for
/// each element; this one gives 0 if the divisor is close to overflow or
/// beyond.
__device__ __forceinline__ float geluShare(float x) {
  return __fdividef(1, 1 + __expf(-twice * x * (1 + cubic * x * x)));
}

struct Gelu {
  __device__ __forceinline__ float operator()(float x, float) const {
    return x * geluShare(x);
  }
};
struct GeluGrad {
  __device__ __forceinline__ float operator()(float x, float grad) const {
    float share = geluShare(x);
    return grad *
           (share + x * share * (1 - share) * twice * (1 + 3 * cubic * x * x));
  }
};

/// y = function(x, y), 16 bytes per thread, and the rest element by element.
template <typename T, typename Function>
__global__ void __launch_bounds__(blockThreads)
    elementKernel(int64_t count, const T *x, T *y) {
  constexpr int width = 16 / sizeof(T);
  const Function function;
  const int64_t at = (int64_t(blockIdx.x) * blockThreads + threadIdx.x) * width;
  if (at + width <= count) {
    float value[width], other[width];
    load(value, x + at);
    load(other, y + at);
#pragma unroll
    for (int i = 0; i < width; ++i)
      value[i] = function(value[i], other[i]);
    store(y + at, value);
    return;
  }
  for (int64_t i = at; i < count; ++i)
    y[i] = fromFloat<T>(function(toFloat(x[i]), toFloat(y[i])));
}

template <typename Function, typename T>
void onElements(const Stream &stream, int64_t count, const T *x, T *y) {
  launch(stream, elementKernel<T, Function>,
         blocksFor(count, blockThreads * (16 / sizeof(T))), blockThreads, 0,
         count, x, y);
}

} // namespace

template <typename T>
void geluForward(const Stream &stream, int64_t count, const T *x, T *y) {
  onElements<Gelu>(stream, count, x, y);
}

template <typename T>
void geluInputGrad(const Stream &stream, int64_t count, const T *x, T *grad) {
  onElements<GeluGrad>(stream, count, x, grad);
}

#define RONDO_INSTANTIATE(T)                                                   \
  template void geluForward(const Stream &, int64_t, const T *, T *);          \
  template void geluInputGrad(const Stream &, int64_t, const T *, T *);
RONDO_INSTANTIATE(float)
RONDO_INSTANTIATE(Bf16)
#undef RONDO_INSTANTIATE

} // namespace rondo::runtime::cuda

//===----------------------------------------------------------------------===//
// SwiGLU.
//===----------------------------------------------------------------------===//

namespace rondo::runtime::cuda {

namespace {

/// silu(x) / x. As in GELU, the division is 0 if the divisor is close to
/// overflow or beyond.
__device__ __forceinline__ float siluShare(float x) {
  return __fdividef(1, 1 + __expf(-x));
}

/// Forward writes the product; backward reads the product's gradient instead.
template <typename T, bool backward>
using Product = std::conditional_t<backward, const T, T>;

/// A block handles a part of a row.
template <typename T, int width, bool backward>
__global__ void __launch_bounds__(blockThreads)
    swigluKernel(Gates<T> gates, Product<T, backward> *product) {
  const int64_t c = (int64_t(blockIdx.y) * blockThreads + threadIdx.x) * width;
  if (c >= gates.columns)
    return;
  const int64_t row = blockIdx.x;
  T *gate = gates.values + row * gates.stride + c, *up = gate + gates.up;
  product += row * gates.columns + c;
  float x[width], y[width], out[width];
  load(x, gate);
  load(y, up);
  if constexpr (backward) {
    load(out, product);
#pragma unroll
    for (int i = 0; i < width; ++i) {
      const float share = siluShare(x[i]), silu = x[i] * share;
      x[i] = out[i] * y[i] * share * (1 + x[i] * (1 - share));
      y[i] = out[i] * silu;
    }
    store(gate, x);
    store(up, y);
  } else {
#pragma unroll
    for (int i = 0; i < width; ++i)
      out[i] = x[i] * siluShare(x[i]) * y[i];
    store(product, out);
  }
}

/// 16 bytes per thread if rows allow it.
template <bool backward, typename T>
void onRows(const Stream &stream, const Gates<T> &gates,
            Product<T, backward> *product) {
  auto run = [&](auto width) {
    launch(stream, swigluKernel<T, width.value, backward>,
           dim3(static_cast<unsigned>(gates.rows),
                blocksFor(gates.columns, blockThreads * width.value)),
           blockThreads, 0, gates, product);
  };
  constexpr int pack = 16 / sizeof(T);
  if (gates.columns % pack == 0)
    run(std::integral_constant<int, pack>());
  else
    run(std::integral_constant<int, 1>());
}

} // namespace

template <typename T>
void swigluForward(const Stream &stream, const Gates<T> &gates, T *product) {
  onRows<false>(stream, gates, product);
}

template <typename T>
void swigluInputGrad(const Stream &stream, const Gates<T> &gates,
                     const T *productGrad) {
  onRows<true>(stream, gates, productGrad);
}

#define RONDO_INSTANTIATE(T)                                                   \
  template void swigluForward(const Stream &, const Gates<T> &, T *);          \
  template void swigluInputGrad(const Stream &, const Gates<T> &, const T *);
RONDO_INSTANTIATE(float)
RONDO_INSTANTIATE(Bf16)

} // namespace rondo::runtime::cuda
