//===- projections.h - Linear layers side by side on CUDA -------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Projections have matrices [out][in], as a Llama's layers do. Some read the
// same input and write next to each other: q, k and v, or gate and up. If their
// weights and outputs are so too, which usual widths give, they are one product
// each in F, I and W.
//
//===----------------------------------------------------------------------===//

#ifndef RONDO_RUNTIME_BODIES_CUDA_PROJECTIONS_H
#define RONDO_RUNTIME_BODIES_CUDA_PROJECTIONS_H

#include "runtime/bodies/cuda/layers.h"

namespace rondo::runtime::cuda {

struct Projection {
  /// Offsets in the layer's weights; a bias of -1: none.
  int64_t weight, bias;
  /// Its part of a row of outputs.
  int64_t first, out;
};

template <typename T> class Projections {
public:
  static constexpr int most = 3;

  /// From `in` inputs to rows of outputs that are `stride` elements apart.
  Projections(const Linear<T> &linear, int64_t in, int64_t stride,
              std::initializer_list<Projection> list);

  /// y = x w^T + bias + residual; the residual, which may be null, is laid out
  /// as y.
  void forward(const WeightsView<T> &weights, const T *x, const T *residual,
               T *y) const;
  /// dx = dy w.
  void inputGrad(const WeightsView<T> &weights, const T *dy, T *dx) const;
  /// dw += dy^T x. Biases are the caller's.
  void weightGrad(const T *x, const T *dy, float *gradients) const;

private:
  Product productOf(int64_t rows, int64_t columns, int64_t inner) const;
  void multiply(const Product &product) const {
    linear.stream.gemms->multiply(linear.stream, product, linear.workspace);
  }

  const Linear<T> &linear;
  int64_t in, stride;
  int count = 0;
  Projection list[most];
};

} // namespace rondo::runtime::cuda

#endif // RONDO_RUNTIME_BODIES_CUDA_PROJECTIONS_H
