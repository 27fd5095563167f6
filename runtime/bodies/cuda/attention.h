//===- attention.h - Causal self-attention on CUDA --------------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// softmax(q k^T / sqrt(width)) v for each sample and head, where a token sees
// itself and those before it. By cuDNN where the stream has it and it takes the
// shape (attention_cudnn.h), otherwise by the kernels described here, which
// never make a matrix of sequence x sequence. A token's
// q, k and v are in one row. Consecutive query heads may share a head of keys
// and values: nothing is repeated for them, and one block adds the gradients
// that they all have for a key, head after head. F keeps the logarithm of each
// row's sum, from which I recomputes the probabilities (FlashAttention-2, Dao
// 2023). I runs over queries and again over keys, so that every gradient is
// added by one warp in a fixed order: no atomics, at the cost of 7 products of
// tiles instead of 5.
//
// bf16 with a head width of at most 128 runs on tensor cores; limit: their
// mma.sync rate, and shared memory's bandwidth. Everything else takes plain
// kernels, limited by fp32 arithmetic.
//
//===----------------------------------------------------------------------===//

#ifndef RONDO_RUNTIME_BODIES_CUDA_ATTENTION_H
#define RONDO_RUNTIME_BODIES_CUDA_ATTENTION_H

#include "runtime/base/cuda/stream.h"

#include <cstdint>

namespace rondo::runtime::cuda {

struct AttentionShape {
  int batch, sequence, heads;
  /// Width of a head, at most maxHeadWidthCuda.
  int width;
  /// Consecutive heads / kvHeads query heads share keys and values.
  int kvHeads;
  /// Offsets of keys and values in a row, which begins with the queries, and
  /// the elements of a row. If widths are multiples of 8, so are these.
  int keys, values, stride;

  /// The same number of heads of keys and of queries, without gaps.
  AttentionShape(int batch, int sequence, int heads, int width)
      : AttentionShape(batch, sequence, heads, width, heads, heads * width,
                       2 * heads * width, 3 * heads * width) {}
  AttentionShape(int batch, int sequence, int heads, int width, int kvHeads,
                 int keys, int values, int stride)
      : batch(batch), sequence(sequence), heads(heads), width(width),
        kvHeads(kvHeads), keys(keys), values(values), stride(stride) {}

  /// Numbers of all query heads.
  __host__ __device__ int64_t hidden() const { return int64_t(heads) * width; }
  /// Query heads that share keys and values.
  __host__ __device__ int group() const { return heads / kvHeads; }
  __host__ __device__ int64_t tokens() const {
    return int64_t(batch) * sequence;
  }
};

/// Writes output [tokens, hidden] and logSumExp [batch][heads][sequence].
template <typename T>
void attentionForward(const Stream &stream, const AttentionShape &shape,
                      const T *qkv, T *output, float *logSumExp);

/// Replaces q, k and v with their gradients. Scratch: queryGrad [tokens,
/// hidden] and rowDots [batch][heads][sequence].
template <typename T>
void attentionInputGrad(const Stream &stream, const AttentionShape &shape,
                        T *qkv, const T *output, const T *outputGrad,
                        const float *logSumExp, T *queryGrad, float *rowDots);

} // namespace rondo::runtime::cuda

#endif // RONDO_RUNTIME_BODIES_CUDA_ATTENTION_H
