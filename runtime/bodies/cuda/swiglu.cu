//===- swiglu.cu - SiLU times a gate, on CUDA -----------------------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "runtime/bodies/cuda/activations.h"

#include "runtime/base/cuda/thread.h"

namespace rondo::runtime::cuda {

namespace {

constexpr int blockThreads = 256;

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
