//===- reduce.h - Sums over rows, always in the same order ------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Rows are cut into chunks whose number depends only on the shape. A chunk is
// summed row by row, then the chunks are added in order: no atomics, the same
// bits each time.
//
//===----------------------------------------------------------------------===//

#ifndef RONDO_RUNTIME_BODIES_CUDA_REDUCE_H
#define RONDO_RUNTIME_BODIES_CUDA_REDUCE_H

#include "runtime/base/cuda/stream.h"

#include <cstdint>
#include <initializer_list>

namespace rondo::runtime::cuda {

/// sums[c] = sum of partials[chunk][c], for each of `columns`.
void addChunks(const Stream &stream, int64_t chunks, int64_t columns,
               const float *partials, float *sums);

/// The most vectors that one call of addVectors() takes.
inline constexpr int mostVectors = 6;
/// sums[v][i] += values[v][i], for each i below `count`.
void addVectors(const Stream &stream, int64_t count, const float *values,
                std::initializer_list<float *> sums);

/// sums[c] += sum of values[row][c]; the bias gradient of a linear layer. Rows
/// are `stride` elements apart. `partials` has columnSumChunks(rows) * columns
/// elements (model/cuda_layouts.h). Limit: one pass over `values` at the
/// memory's bandwidth.
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
