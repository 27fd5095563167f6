//===- reduce.h - Sums over rows, always in the same order ------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Rows are cut into chunks whose number depends only on the shape. A kernel
// sums the rows of a chunk in an order that only their number decides, then the
// chunks are added in order: no atomics, the same bits each time.
//
//===----------------------------------------------------------------------===//

#ifndef RONDO_RUNTIME_BODIES_CUDA_REDUCE_H
#define RONDO_RUNTIME_BODIES_CUDA_REDUCE_H

#include "runtime/base/cuda/stream.h"

#include <cstdint>
#include <initializer_list>

namespace rondo::runtime::cuda {

/// Sums of chunks of rows, partials [chunks][columns], and where their sums go.
struct Partials {
  int64_t chunks, columns;
  const float *partials;
  float *sums;
};
/// The most of them in one launch.
inline constexpr int maxPartials = 8;
/// sums[c] += sum of partials[chunk][c], for each of the list.
void addPartials(const Stream &stream, std::initializer_list<Partials> list);
/// sums[c] = sum of partials[chunk][c], for each of the list.
void setPartials(const Stream &stream, std::initializer_list<Partials> list);

/// sums[v][i] += values[v][i], for each i below `count`; at most maxPartials
/// vectors.
void addVectors(const Stream &stream, int64_t count, const float *values,
                std::initializer_list<float *> sums);

/// Values whose columns are to be summed: [rows][columns], and `stride`
/// elements from one row to the next. Partials [columnSumChunks(rows)][columns]
/// (model/cuda_layouts.h) take the sums of chunks of rows.
template <typename T> struct ColumnSums {
  int64_t columns, stride;
  const T *values;
  float *partials;
};
/// The most of them in one launch.
inline constexpr int maxColumnSums = 3;
/// Sums chunks of the columns of the list, which have the same number of rows;
/// addPartials() adds the chunks up: the bias gradients of linear layers.
/// Limit: one pass over the values at the memory's bandwidth.
template <typename T>
void columnSums(const Stream &stream, int64_t rows,
                std::initializer_list<ColumnSums<T>> list);

/// values[row][c] += vector[c]; rows are `stride` elements apart. For products
/// that cannot add their bias.
template <typename T>
void addToRows(const Stream &stream, int64_t rows, int64_t columns,
               int64_t stride, const T *vector, T *values);

} // namespace rondo::runtime::cuda

#endif // RONDO_RUNTIME_BODIES_CUDA_REDUCE_H
