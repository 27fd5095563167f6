//===- reduce.h - Sums over rows, always in the same order ------*- C++ -*-===//
//
// Rows are cut into chunks whose number depends on the shape alone. A chunk is
// summed row after row, then the chunks are added in order: no atomics, the
// same bits each time.
//
//===----------------------------------------------------------------------===//

#ifndef RONDO_RUNTIME_BODIES_CUDA_REDUCE_H
#define RONDO_RUNTIME_BODIES_CUDA_REDUCE_H

#include "runtime/device/cuda/stream.h"

#include <cstdint>

namespace rondo::runtime::cuda {

/// result[c] (+)= sum of partials[chunk][c], for each of `columns`. Adds to the
/// result where `accumulate`.
void addChunks(const Stream &stream, int64_t chunks, int64_t columns,
               const float *partials, bool accumulate, float *result);

/// sums[c] += sum of values[row][c]; the bias gradient of a linear layer.
/// `partials` has columnSumChunks(rows) * columns elements
/// (bodies/cuda/layouts.h). Limit: one pass over `values` at the memory's
/// bandwidth.
template <typename T>
void addColumnSums(const Stream &stream, int64_t rows, int64_t columns,
                   const T *values, float *partials, float *sums);

} // namespace rondo::runtime::cuda

#endif // RONDO_RUNTIME_BODIES_CUDA_REDUCE_H
