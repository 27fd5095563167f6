//===- products.cpp - Matrix products of compiled graphs ------------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Functions of PyTorch's C interface for the CPU, which compiled graphs call.
// Operands have type fp32 and any layout; device_products.cpp has those for
// GPUs.
//
//===----------------------------------------------------------------------===//

#include "runtime/bodies/linear.h"
#include "runtime/torch/product_functions.h"
#include "runtime/torch/views.h"

#include <algorithm>
#include <new>
#include <optional>
#include <string>

namespace rondo::torch {

namespace {

using runtime::Matrix;

void copyOut(const View &view, float *to) {
  for (int64_t i = 0; i < view.rows; ++i)
    for (int64_t j = 0; j < view.columns; ++j)
      to[i * view.columns + j] =
          view.floats()[i * view.rowStride + j * view.columnStride];
}

/// A view as an operand of multiply(); one that has no rows or columns of
/// consecutive elements is copied.
struct Operand {
  explicit Operand(const View &view) {
    if (hasRows(view)) {
      matrix = {view.floats(), strideOf(view), false};
      return;
    }
    if (const View other = view.transposed(); hasRows(other)) {
      matrix = {other.floats(), strideOf(other), true};
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
                    right.matrix, keep, out.floats(), strideOf(out));
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
        view.floats()[i * view.rowStride + j * view.columnStride] =
            scale * base[i * from[d] + j * from[d + 1]];
  }
}

bool areFloats(std::initializer_list<const Tensor *> tensors) {
  for (const Tensor *tensor : tensors)
    if (!tensor->is(ScalarType::Float32)) {
      fail("a matrix product of type " + std::to_string(tensor->dtype) +
           ", not fp32");
      return false;
    }
  return true;
}

/// RONDO_PRODUCT_FUNCTIONS: of fp32, in any layout.
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
    return failMemory("a matrix product");
  }
  return 0;
}

/// One matrix of a tensor of two or three dimensions, without the samples.
View matrixOf(const Tensor &tensor, int64_t sample) {
  return viewOf(tensor, tensor.numDims == 3 ? sample : 0);
}

View rowsOf(const View &view, int64_t first, int64_t rows) {
  View part = view;
  part.data += first * view.rowStride * view.elementBytes;
  part.rows = rows;
  return part;
}

View columnsOf(const View &view, int64_t first, int64_t columns) {
  return rowsOf(view.transposed(), first, columns).transposed();
}

/// A tensor for products of groups, whose rows PyTorch aligns to 16 bytes.
Tensor *makeGrouped(int32_t numDims, const int64_t *sizes) {
  int64_t strides[3];
  const int64_t last = numDims - 1;
  strides[last] = 1;
  strides[last - 1] = (sizes[last] + 3) / 4 * 4;
  if (numDims == 3)
    strides[0] = sizes[1] * strides[1];
  return allocate(int32_t(ScalarType::Float32), numDims, sizes, strides);
}

/// Null, or what grouped products do not have.
const char *unsupported(const Tensor &a, const Tensor &b, const Tensor *ends,
                        bool hasBias) {
  if (!a.is(ScalarType::Float32) || !b.is(ScalarType::Float32))
    return "takes fp32 tensors";
  if (!ends || !ends->is(ScalarType::Int32) || a.numDims > 3 || b.numDims > 3 ||
      a.numDims + b.numDims == 6)
    return "takes the ends of its groups, in int32, and at most one tensor of "
           "three dimensions";
  return hasBias ? "has no bias" : nullptr;
}

/// The fault of the ends of groups, which are data; null without one.
const char *faultOfEnds(const Tensor &a, const Tensor &b, const Tensor &ends) {
  const int64_t extent = b.numDims == 3   ? a.sizes[0]
                         : a.numDims == 3 ? b.sizes[1]
                                          : a.sizes[1];
  const int64_t groups = ends.sizes[0];
  if ((a.numDims == 3 && groups != a.sizes[0]) ||
      (b.numDims == 3 && groups != b.sizes[0]))
    return "has another number of groups than of matrices";
  const auto *end = reinterpret_cast<const int32_t *>(ends.data());
  for (int64_t g = 0; g < groups; ++g)
    if (end[g * ends.strides[0]] > extent)
      return "has a group that ends after the last row or column";
  return nullptr;
}

/// The products of groups, which are consecutive rows of a, columns of b, or,
/// if both are matrices, of what a and b share. What belongs to no group is 0.
void multiplyGroups(const Tensor &a, const Tensor &b, const Tensor &ends,
                    const Tensor &out) {
  std::fill_n(out.floats(), out.extent() / int64_t(sizeof(float)), 0.0f);
  const auto *end = reinterpret_cast<const int32_t *>(ends.data());
  int64_t first = 0;
  for (int64_t g = 0; g < ends.sizes[0]; ++g) {
    const int64_t count = end[g * ends.strides[0]] - first;
    if (count <= 0)
      continue;
    View left = matrixOf(a, g), right = matrixOf(b, g), to = matrixOf(out, g);
    if (b.numDims == 3) {
      left = rowsOf(left, first, count);
      to = rowsOf(to, first, count);
    } else {
      right = a.numDims == 3 ? columnsOf(right, first, count)
                             : rowsOf(right, first, count);
      if (a.numDims == 3)
        to = columnsOf(to, first, count);
      else
        left = columnsOf(left, first, count);
    }
    multiplyViews(left, right, 1, 0, to);
    first += count;
  }
}

} // namespace

extern "C" {

int32_t aoti_torch_cpu__grouped_mm(Tensor *a, Tensor *b, Tensor **ends,
                                   Tensor **bias, int32_t *,
                                   Tensor **result) try {
  if (const char *what =
          unsupported(*a, *b, ends ? *ends : nullptr, bias && *bias))
    return fail(std::string("a product of groups ") + what);
  if (const char *what = faultOfEnds(*a, *b, **ends))
    return fail(std::string("a product of groups ") + what);
  const int64_t rows = a->sizes[a->numDims - 2];
  const int64_t columns = b->sizes[b->numDims - 1];
  const bool areMatrices = a->numDims == 2 && b->numDims == 2;
  const int64_t matrices[] = {(*ends)->sizes[0], rows, columns};
  *result =
      makeGrouped(areMatrices ? 3 : 2, areMatrices ? matrices : matrices + 1);
  if (!*result)
    throw std::bad_alloc();
  multiplyGroups(*a, *b, **ends, **result);
  return 0;
} catch (const std::bad_alloc &) {
  return failMemory("a product of groups");
}

} // extern "C"

RONDO_PRODUCT_FUNCTIONS(cpu)

} // namespace rondo::torch
