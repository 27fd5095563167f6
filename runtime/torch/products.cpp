//===- products.cpp - Matrix products of compiled graphs ------------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "runtime/bodies/linear.h"
#include "runtime/torch/tensor.h"

#include <algorithm>
#include <cstdio>
#include <optional>

namespace rondo::torch {

namespace {

using runtime::Matrix;

/// Two dimensions of a tensor.
struct View {
  float *data;
  int64_t rows, columns;
  int64_t rowStride, columnStride;

  View transposed() const {
    return {data, columns, rows, columnStride, rowStride};
  }
};

View viewOf(const Tensor &tensor, int64_t sample = 0) {
  const int32_t d = tensor.numDims - 2;
  float *data = tensor.floats() + (d == 1 ? sample * tensor.strides[0] : 0);
  return {data, tensor.sizes[d], tensor.sizes[d + 1], tensor.strides[d],
          tensor.strides[d + 1]};
}

/// Whether consecutive rows begin `rowStride` elements apart and have their
/// elements side by side.
bool hasRows(const View &view) {
  return (view.columnStride == 1 || view.columns == 1) &&
         (view.rowStride >= view.columns || view.rows == 1);
}

int64_t strideOf(const View &view) {
  return std::max(view.rows == 1 ? view.columns : view.rowStride,
                  std::max<int64_t>(view.columns, 1));
}

void copyOut(const View &view, float *to) {
  for (int64_t i = 0; i < view.rows; ++i)
    for (int64_t j = 0; j < view.columns; ++j)
      to[i * view.columns + j] =
          view.data[i * view.rowStride + j * view.columnStride];
}

/// A view as an operand of multiply(); one that has no rows or columns of
/// consecutive elements is copied.
struct Operand {
  explicit Operand(const View &view) {
    if (hasRows(view)) {
      matrix = {view.data, strideOf(view), false};
      return;
    }
    if (const View other = view.transposed(); hasRows(other)) {
      matrix = {other.data, strideOf(other), true};
      return;
    }
    copy.emplace(view.rows * view.columns);
    copyOut(view, copy->floats());
    matrix = {copy->floats(), view.columns, false};
  }

  Matrix<float> matrix;
  std::optional<Scratch> copy;
};

/// out = alpha a b + keep out. `out` is dense.
void multiplyViews(const View &a, const View &b, float alpha, float keep,
                   const View &out) {
  if (!hasRows(out) && hasRows(out.transposed()))
    return multiplyViews(b.transposed(), a.transposed(), alpha, keep,
                         out.transposed());
  const Operand left(a), right(b);
  runtime::multiply(out.rows, out.columns, a.columns, alpha, left.matrix,
                    right.matrix, keep, out.data, strideOf(out));
}

/// The tensor's strides, as if it had the sizes of `out`: 0 where it repeats.
void broadcastStrides(const Tensor &tensor, const Tensor &out,
                      int64_t *strides) {
  const int32_t missing = out.numDims - tensor.numDims;
  for (int32_t d = 0; d < out.numDims; ++d)
    strides[d] = d < missing || tensor.sizes[d - missing] == 1
                     ? 0
                     : tensor.strides[d - missing];
}

bool isSame(const Tensor &a, const Tensor &b) {
  return a.data() == b.data() && a.numDims == b.numDims &&
         std::equal(a.sizes, a.sizes + a.numDims, b.sizes) &&
         std::equal(a.strides, a.strides + a.numDims, b.strides);
}

/// out = scale * tensor, of two or three dimensions.
void fill(const Tensor &tensor, float scale, const Tensor &out) {
  int64_t from[maxDims];
  broadcastStrides(tensor, out, from);
  const int32_t d = out.numDims - 2;
  for (int64_t s = 0; s < (d == 1 ? out.sizes[0] : 1); ++s) {
    const View view = viewOf(out, s);
    const float *base = tensor.floats() + (d == 1 ? s * from[0] : 0);
    for (int64_t i = 0; i < view.rows; ++i)
      for (int64_t j = 0; j < view.columns; ++j)
        view.data[i * view.rowStride + j * view.columnStride] =
            scale * base[i * from[d] + j * from[d + 1]];
  }
}

bool areFloats(std::initializer_list<const Tensor *> tensors) {
  for (const Tensor *tensor : tensors)
    if (tensor->dtype != int32_t(ScalarType::Float32)) {
      std::fprintf(stderr,
                   "rondo.torch: a matrix product of type %d, not fp32\n",
                   int(tensor->dtype));
      return false;
    }
  return true;
}

/// out = alpha a b + beta addend; null: nothing is added. All have two
/// dimensions, or three with as many samples.
int32_t product(Tensor *out, Tensor *addend, Tensor *a, Tensor *b, double beta,
                double alpha) {
  if (!areFloats({out, a, b}) || (addend && !areFloats({addend})))
    return 1;
  try {
    float keep = 0;
    if (addend && beta != 0) {
      keep = isSame(*addend, *out) ? float(beta) : 1;
      if (!isSame(*addend, *out))
        fill(*addend, float(beta), *out);
    }
    const int64_t samples = out->numDims == 3 ? out->sizes[0] : 1;
    for (int64_t s = 0; s < samples; ++s)
      multiplyViews(viewOf(*a, s), viewOf(*b, s), float(alpha), keep,
                    viewOf(*out, s));
  } catch (const std::bad_alloc &) {
    std::fprintf(stderr, "rondo.torch: a matrix product needs memory that was "
                         "not planned\n");
    return 1;
  }
  return 0;
}

} // namespace

extern "C" {

int32_t aoti_torch_cpu_mm_out(Tensor *out, Tensor *a, Tensor *b) {
  return product(out, nullptr, a, b, 0, 1);
}

int32_t aoti_torch_cpu_bmm_out(Tensor *out, Tensor *a, Tensor *b) {
  return product(out, nullptr, a, b, 0, 1);
}

int32_t aoti_torch_cpu_addmm_out(Tensor *out, Tensor *addend, Tensor *a,
                                 Tensor *b, double beta, double alpha) {
  return product(out, addend, a, b, beta, alpha);
}

int32_t aoti_torch_cpu_baddbmm_out(Tensor *out, Tensor *addend, Tensor *a,
                                   Tensor *b, double beta, double alpha) {
  return product(out, addend, a, b, beta, alpha);
}

} // extern "C"

} // namespace rondo::torch
