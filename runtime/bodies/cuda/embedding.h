//===- embedding.h - Token and position embedding on CUDA -------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#ifndef RONDO_RUNTIME_BODIES_CUDA_EMBEDDING_H
#define RONDO_RUNTIME_BODIES_CUDA_EMBEDDING_H

#include "runtime/base/cuda/stream.h"

#include <cstdint>

namespace rondo::runtime::cuda {

/// output [tokens, hidden] = row of the token + row of its position, unless
/// that table is null; keeps the tokens. Limit: the memory's bandwidth.
template <typename T>
void embeddingForward(const Stream &stream, int64_t tokens, int64_t sequence,
                      int64_t hidden, const int32_t *ids, const T *tokenTable,
                      const T *positionTable, int32_t *savedIds, T *output);

/// Adds rows of outputGrad [tokens, hidden] to the gradients of the tables that
/// there are. One block adds to a row of a table, in the order of the tokens:
/// no atomics. Limit: the rows of the most frequent token, several at a time.
template <typename T>
void embeddingWeightGrad(const Stream &stream, int64_t tokens, int64_t sequence,
                         int64_t hidden, const int32_t *ids,
                         const T *outputGrad, float *tokenGrad,
                         float *positionGrad);

} // namespace rondo::runtime::cuda

#endif // RONDO_RUNTIME_BODIES_CUDA_EMBEDDING_H
