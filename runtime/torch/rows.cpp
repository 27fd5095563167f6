//===- rows.cpp - Operations of compiled graphs along one dimension -------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Sums, sorts, bins and the largest elements along a dimension: functions of
// PyTorch's C interface for the CPU, which compiled graphs call. Each returns
// 0, or 1 with lastFault().
//
//===----------------------------------------------------------------------===//

#include "runtime/torch/tensor.h"

#include <algorithm>
#include <cmath>
#include <numeric>
#include <string>
#include <vector>

namespace rondo::torch {

namespace {

/// A contiguous tensor as [before][along][after], where `along` is the
/// dimension that an operation works on.
struct Rows {
  int64_t before = 1, along = 1, after = 1;

  /// Fails with a message unless the tensor is contiguous.
  static bool of(const Tensor &tensor, int64_t dim, const char *operation,
                 Rows &rows) {
    if (!isContiguous(tensor)) {
      fail(std::string(operation) +
           " takes a contiguous tensor: call contiguous() before it");
      return false;
    }
    dim = dim < 0 ? dim + tensor.numDims : dim;
    for (int32_t d = 0; d < tensor.numDims; ++d) {
      int64_t &part = d < dim ? rows.before : d > dim ? rows.after : rows.along;
      part *= tensor.sizes[d];
    }
    return true;
  }

  /// The first element of a row; others follow `after` elements apart.
  int64_t first(int64_t row) const {
    return row / after * along * after + row % after;
  }
};

/// A contiguous tensor of the sizes of `like`, but for one.
Tensor *makeLike(const Tensor &like, ScalarType dtype, int64_t dim,
                 int64_t size) {
  int64_t sizes[maxDims], strides[maxDims], stride = 1;
  std::copy_n(like.sizes, like.numDims, sizes);
  if (like.numDims > 0)
    sizes[dim < 0 ? dim + like.numDims : dim] = size;
  for (int32_t d = like.numDims - 1; d >= 0; --d) {
    strides[d] = stride;
    stride *= sizes[d];
  }
  return allocate(int32_t(dtype), like.numDims, sizes, strides);
}

template <typename Number> Number *dataOf(const Tensor &tensor) {
  return reinterpret_cast<Number *>(tensor.data());
}

/// Calls with(number) with a 0 of the tensor's type; false if it is another.
template <typename With> bool withType(int32_t dtype, const With &with) {
  switch (static_cast<ScalarType>(dtype)) {
  case ScalarType::Float32:
    with(0.0f);
    return true;
  case ScalarType::Int32:
    with(int32_t(0));
    return true;
  case ScalarType::Int64:
    with(int64_t(0));
    return true;
  default:
    return false;
  }
}

/// Numbers are converted before they are added.
template <typename In, typename Out>
void accumulate(const Rows &rows, const In *in, Out *out) {
  for (int64_t row = 0; row < rows.before * rows.after; ++row) {
    int64_t at = rows.first(row);
    Out sum = 0;
    for (int64_t i = 0; i < rows.along; ++i, at += rows.after)
      out[at] = sum += static_cast<Out>(in[at]);
  }
}

/// Whether a comes before b, a NaN after all numbers.
template <typename Number> bool isLess(Number a, Number b) {
  return a < b || (b != b && a == a);
}

/// Sorts rows, equal values in their order.
template <typename Number>
void sortRows(const Rows &rows, bool descending, const Number *in, Number *out,
              int64_t *places) {
  std::vector<int64_t> order(rows.along);
  for (int64_t row = 0; row < rows.before * rows.after; ++row) {
    const int64_t first = rows.first(row);
    auto at = [&](int64_t i) { return in[first + i * rows.after]; };
    std::iota(order.begin(), order.end(), 0);
    std::stable_sort(order.begin(), order.end(), [&](int64_t i, int64_t j) {
      return descending ? isLess(at(j), at(i)) : isLess(at(i), at(j));
    });
    for (int64_t i = 0; i < rows.along; ++i) {
      out[first + i * rows.after] = at(order[i]);
      places[first + i * rows.after] = order[i];
    }
  }
}

} // namespace

extern "C" {

int32_t aoti_torch_cpu_cumsum(Tensor *tensor, int64_t dim, int32_t *dtype,
                              Tensor **result) {
  Rows rows;
  if (!Rows::of(*tensor, dim, "cumsum", rows))
    return 1;
  const int32_t type = dtype ? *dtype : tensor->dtype;
  *result = makeLike(*tensor, static_cast<ScalarType>(type), dim, rows.along);
  if (!*result)
    return failMemory("cumsum");
  bool isKnown = false;
  withType(tensor->dtype, [&](auto from) {
    isKnown = withType(type, [&](auto to) {
      accumulate(rows, dataOf<decltype(from)>(*tensor),
                 dataOf<decltype(to)>(**result));
    });
  });
  return isKnown ? 0 : fail("cumsum takes and gives fp32, int32 and int64");
}

// Equal values keep their order, whether that is asked for or not.
int32_t aoti_torch_cpu_sort_stable(Tensor *tensor, int32_t *, int64_t dim,
                                   int32_t descending, Tensor **values,
                                   Tensor **indices) {
  Rows rows;
  if (!Rows::of(*tensor, dim, "sort", rows))
    return 1;
  *values = makeLike(*tensor, static_cast<ScalarType>(tensor->dtype), dim,
                     rows.along);
  *indices = makeLike(*tensor, ScalarType::Int64, dim, rows.along);
  if (!*values || !*indices)
    return failMemory("sort");
  const bool isKnown = withType(tensor->dtype, [&](auto number) {
    using Number = decltype(number);
    sortRows(rows, descending != 0, dataOf<Number>(*tensor),
             dataOf<Number>(**values), dataOf<int64_t>(**indices));
  });
  return isKnown ? 0 : fail("sort takes fp32, int32 and int64");
}

int32_t aoti_torch_cpu_sort(Tensor *tensor, int64_t dim, int32_t descending,
                            Tensor **values, Tensor **indices) {
  return aoti_torch_cpu_sort_stable(tensor, nullptr, dim, descending, values,
                                    indices);
}

// The numbers of values in bins of equal width, the last with both its ends;
// what lies outside of them is not counted.
int32_t aoti_torch_cpu_histc(Tensor *tensor, int64_t bins, double least,
                             double most, Tensor **result) {
  Rows rows;
  if (!Rows::of(*tensor, 0, "histc", rows))
    return 1;
  if (!tensor->is(ScalarType::Float32) || !(least < most))
    return fail("histc takes fp32, and a least value below the largest");
  const int64_t stride = 1;
  *result = allocate(tensor->dtype, 1, &bins, &stride);
  if (!*result)
    return failMemory("histc");
  std::fill_n((*result)->floats(), bins, 0.0f);
  for (int64_t i = 0; i < tensor->count(); ++i) {
    const double value = tensor->floats()[i];
    if (!(value >= least && value <= most))
      continue;
    const double place = (value - least) / (most - least) * double(bins);
    ++(*result)->floats()[std::min(int64_t(place), bins - 1)];
  }
  return 0;
}

// Takes the first ones of equal values, and sorts results whether that is asked
// for or not, so that the same input gives the same output everywhere.
// A NaN counts as the largest, as in PyTorch.
int32_t aoti_torch_cpu_topk(Tensor *tensor, int64_t count, int64_t dim,
                            int32_t largest, int32_t, Tensor **values,
                            Tensor **indices) {
  Rows rows;
  if (!Rows::of(*tensor, dim, "topk", rows))
    return 1;
  if (!tensor->is(ScalarType::Float32) || count > rows.along)
    return fail("topk takes fp32, and at most as many as there are");
  *values = makeLike(*tensor, ScalarType::Float32, dim, count);
  *indices = makeLike(*tensor, ScalarType::Int64, dim, count);
  if (!*values || !*indices)
    return failMemory("topk");
  const float *in = tensor->floats();
  float *out = (*values)->floats();
  int64_t *places = reinterpret_cast<int64_t *>((*indices)->data());
  const Rows results{rows.before, count, rows.after};
  std::vector<int64_t> order(rows.along);
  for (int64_t row = 0; row < rows.before * rows.after; ++row) {
    const float *values = in + rows.first(row);
    auto at = [&](int64_t i) { return values[i * rows.after]; };
    std::iota(order.begin(), order.end(), 0);
    std::partial_sort(order.begin(), order.begin() + count, order.end(),
                      [&](int64_t i, int64_t j) {
                        const float a = largest ? at(i) : at(j),
                                    b = largest ? at(j) : at(i);
                        if (std::isnan(a) || std::isnan(b))
                          return std::isnan(a) != std::isnan(b) ? std::isnan(a)
                                                                : i < j;
                        return a != b ? a > b : i < j;
                      });
    int64_t to = results.first(row);
    for (int64_t k = 0; k < count; ++k, to += rows.after) {
      out[to] = at(order[k]);
      places[to] = order[k];
    }
  }
  return 0;
}

} // extern "C"

} // namespace rondo::torch
