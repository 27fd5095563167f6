//===- views.h - Matrices in tensors ----------------------------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#ifndef RONDO_RUNTIME_TORCH_VIEWS_H
#define RONDO_RUNTIME_TORCH_VIEWS_H

#include "runtime/torch/tensor.h"

#include <algorithm>

namespace rondo::torch {

/// The last two dimensions of a tensor. Strides are in elements.
struct View {
  char *data;
  int64_t elementBytes;
  int64_t rows, columns;
  int64_t rowStride, columnStride;

  float *floats() const { return reinterpret_cast<float *>(data); }
  View transposed() const {
    return {data, elementBytes, columns, rows, columnStride, rowStride};
  }
};

inline View viewOf(const Tensor &tensor, int64_t sample = 0) {
  const int32_t d = tensor.numDims - 2;
  const int64_t bytes = bytesOf(tensor.dtype);
  char *data =
      tensor.data() + (d == 1 ? sample * tensor.strides[0] * bytes : 0);
  return {data,
          bytes,
          tensor.sizes[d],
          tensor.sizes[d + 1],
          tensor.strides[d],
          tensor.strides[d + 1]};
}

/// Whether consecutive rows begin `rowStride` elements apart and have their
/// elements side by side.
inline bool hasRows(const View &view) {
  return (view.columnStride == 1 || view.columns == 1) &&
         (view.rowStride >= view.columns || view.rows == 1);
}

inline int64_t strideOf(const View &view) {
  return std::max(view.rows == 1 ? view.columns : view.rowStride,
                  std::max<int64_t>(view.columns, 1));
}

/// The tensor's strides, as if it had the sizes of `out`: 0 where it repeats.
inline void broadcastStrides(const Tensor &tensor, const Tensor &out,
                             int64_t *strides) {
  const int32_t missing = out.numDims - tensor.numDims;
  for (int32_t d = 0; d < out.numDims; ++d)
    strides[d] = d < missing || tensor.sizes[d - missing] == 1
                     ? 0
                     : tensor.strides[d - missing];
}

inline bool isSame(const Tensor &a, const Tensor &b) {
  return a.data() == b.data() && a.numDims == b.numDims &&
         std::equal(a.sizes, a.sizes + a.numDims, b.sizes) &&
         std::equal(a.strides, a.strides + a.numDims, b.strides);
}

} // namespace rondo::torch

#endif // RONDO_RUNTIME_TORCH_VIEWS_H
