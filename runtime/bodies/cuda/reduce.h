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
inline constexpr int mostPartials = 8;
/// sums[c] += sum of partials[chunk][c], for each of the list.
void addPartials(const Stream &stream, std::initializer_list<Partials> list);
/// sums[c] = sum of partials[chunk][c], for each of the list.
void setPartials(const Stream &stream, std::initializer_list<Partials> list);

/// sums[v][i] += values[v][i], for each i below `count`; at most mostPartials
/// vectors.
void addVectors(const Stream &stream, int64_t count, const float *values,
                std::initializer_list<float *> sums);

/// partials [columnSumChunks(rows)][columns] (model/cuda_layouts.h): the sums
/// of values[row][c] over chunks of rows, which are `stride` elements apart.
/// Limit: one pass over `values` at the memory's bandwidth.
template <typename T>
void columnSums(const Stream &stream, int64_t rows, int64_t columns,
                int64_t stride, const T *values, float *partials);

/// sums[c] += sum of values[row][c], by columnSums() and addPartials(); the
/// bias gradient of a linear layer.
template <typename T>
void addColumnSums(const Stream &stream, int64_t rows, int64_t columns,
                   int64_t stride, const T *values, float *partials,
                   float *sums);

/// values[row][c] += vector[c]; rows are `stride` elements apart. For products
/// that cannot add their bias.
template <typename T>
void addToRows(const Stream &stream, int64_t rows, int64_t columns,
               int64_t stride, const T *vector, T *values);

} // namespace rondo::runtime::cuda

#endif // RONDO_RUNTIME_BODIES_CUDA_REDUCE_H
