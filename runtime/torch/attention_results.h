//===- attention_results.h - Results of attention ---------------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The layouts that PyTorch gives the results of attention: graphs rely on them.
//
//===----------------------------------------------------------------------===//

#ifndef RONDO_RUNTIME_TORCH_ATTENTION_RESULTS_H
#define RONDO_RUNTIME_TORCH_ATTENTION_RESULTS_H

#include "runtime/torch/tensor.h"

#include <algorithm>
#include <iterator>

namespace rondo::torch {

/// A gradient, or a row's number: [samples, tokens, heads, width] or without a
/// width, with tokens and heads swapped.
inline Tensor *makeResult(const Tensor &like, int32_t numDims, int64_t width,
                          ScalarType dtype) {
  const int64_t heads = like.sizes[1], tokens = like.sizes[2];
  const int64_t sizes[] = {like.sizes[0], heads, tokens, width};
  const int64_t strides[] = {tokens * heads * width, width, heads * width, 1};
  return allocate(int32_t(dtype), numDims, sizes, strides);
}

/// An output: without gaps, its dimensions in the order of the query's strides.
inline Tensor *makeOutput(const Tensor &q) {
  int32_t order[] = {3, 2, 1, 0};
  std::stable_sort(
      std::begin(order), std::end(order),
      [&](int32_t a, int32_t b) { return q.strides[a] < q.strides[b]; });
  int64_t strides[4], stride = 1;
  for (const int32_t d : order) {
    strides[d] = stride;
    stride *= q.sizes[d];
  }
  return allocate(q.dtype, 4, q.sizes, strides);
}

} // namespace rondo::torch

#endif // RONDO_RUNTIME_TORCH_ATTENTION_RESULTS_H
