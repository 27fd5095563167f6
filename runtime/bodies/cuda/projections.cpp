//===- projections.cpp - Linear layers side by side on CUDA ---------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "runtime/bodies/cuda/projections.h"

namespace rondo::runtime::cuda {

template <typename T>
Projections<T>::Projections(const Linear<T> &linear, int64_t in, int64_t stride,
                            std::initializer_list<Projection> list)
    : linear(linear), in(in), stride(stride) {
  // One that continues the one before becomes a part of it.
  for (const Projection &next : list) {
    Projection *last = count > 0 ? &this->list[count - 1] : nullptr;
    if (last && next.weight == last->weight + last->out * in &&
        next.first == last->first + last->out &&
        (next.bias < 0 ? last->bias < 0 : next.bias == last->bias + last->out))
      last->out += next.out;
    else
      this->list[count++] = next;
  }
}

template <typename T>
Product Projections<T>::productOf(int64_t rows, int64_t columns,
                                  int64_t inner) const {
  Product product{};
  product.rows = rows;
  product.columns = columns;
  product.inner = inner;
  product.type = product.resultType = dtypeOf<T>();
  return product;
}

template <typename T>
void Projections<T>::forward(const WeightsView<T> &weights, const T *x,
                             const T *residual, T *y) const {
  for (int i = 0; i < count; ++i) {
    const Projection &p = list[i];
    Product product = productOf(linear.rows, p.out, in);
    product.a = {x, in};
    product.b = {weights[p.weight], in, true};
    product.c = residual ? residual + p.first : nullptr;
    product.d = y + p.first;
    product.stride = stride;
    if (p.bias >= 0) {
      product.epilogue = Epilogue::Bias;
      product.bias = weights[p.bias];
    }
    multiply(product);
  }
}

template <typename T>
void Projections<T>::inputGrad(const WeightsView<T> &weights, const T *dy,
                               T *dx) const {
  for (int i = 0; i < count; ++i) {
    const Projection &p = list[i];
    Product product = productOf(linear.rows, in, p.out);
    product.a = {dy + p.first, stride};
    product.b = {weights[p.weight], in};
    product.c = i > 0 ? dx : nullptr;
    product.d = dx;
    product.stride = in;
    multiply(product);
  }
}

template <typename T>
void Projections<T>::weightGrad(const T *x, const T *dy,
                                float *gradients) const {
  for (int i = 0; i < count; ++i) {
    const Projection &p = list[i];
    Product product = productOf(p.out, in, linear.rows);
    product.a = {dy + p.first, stride, true};
    product.b = {x, in};
    product.resultType = DType::Fp32;
    product.c = product.d = gradients + p.weight;
    product.stride = in;
    multiply(product);
  }
}

template class Projections<float>;
template class Projections<Bf16>;

} // namespace rondo::runtime::cuda
