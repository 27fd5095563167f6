//===- linear.cpp - The products of a linear layer on CUDA ----------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "runtime/bodies/cuda/layers.h"

namespace rondo::runtime::cuda {

template <typename T>
void Linear<T>::forward(int64_t in, int64_t out, const T *x, const T *w,
                        const T *bias, const T *residual, T *y) const {
  Product product{};
  product.rows = rows;
  product.columns = out;
  product.inner = in;
  product.type = product.resultType = dtypeOf<T>();
  product.a = {x, in};
  product.b = {w, out};
  product.c = residual;
  product.d = y;
  product.stride = out;
  product.epilogue = Epilogue::Bias;
  product.bias = bias;
  stream.gemms->multiply(stream, product, workspace);
}

template <typename T>
void Linear<T>::inputGrad(int64_t in, int64_t out, const T *dy, const T *w,
                          T *dx) const {
  Product product{};
  product.rows = rows;
  product.columns = in;
  product.inner = out;
  product.type = product.resultType = dtypeOf<T>();
  product.a = {dy, out};
  product.b = {w, out, true};
  product.d = dx;
  product.stride = in;
  stream.gemms->multiply(stream, product, workspace);
}

template <typename T>
void Linear<T>::weightGrad(int64_t in, int64_t out, const T *x, const T *dy,
                           float *dw) const {
  Product product{};
  product.rows = in;
  product.columns = out;
  product.inner = rows;
  product.type = dtypeOf<T>();
  product.resultType = DType::Fp32;
  product.a = {x, in, true};
  product.b = {dy, out};
  product.c = product.d = dw;
  product.stride = out;
  stream.gemms->multiply(stream, product, workspace);
}

template struct Linear<float>;
template struct Linear<Bf16>;

} // namespace rondo::runtime::cuda
