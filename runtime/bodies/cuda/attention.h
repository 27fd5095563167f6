//===- attention.h - Causal self-attention on CUDA --------------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// softmax(q k^T / sqrt(width)) v for each document and head, where a token sees
// itself and those before it in the document. By cuDNN where the stream has it
// and it takes the shape (attention_cudnn.cpp), otherwise by the kernels
// described here, which never make a matrix of sequence x sequence, and whose
// blocks have a tile of one document each: their work follows the pairs of
// tokens within documents. A token's q, k and v are in one row. Consecutive
// query heads may share a head of keys and values: nothing is repeated for
// them, and one block adds the gradients that they all have for a key, head
// after head. F keeps the logarithm of each row's sum, from which I recomputes
// the probabilities (FlashAttention-2, Dao 2023). I runs over queries and again
// over keys, so that every gradient is added by one warp in a fixed order: no
// atomics, at the cost of 7 products of tiles instead of 5.
//
// bf16 with a head width of at most 128 runs on tensor cores; limit: their
// mma.sync rate, and shared memory's bandwidth. Everything else takes plain
// kernels, limited by fp32 arithmetic.
//
//===----------------------------------------------------------------------===//

#ifndef RONDO_RUNTIME_BODIES_CUDA_ATTENTION_H
#define RONDO_RUNTIME_BODIES_CUDA_ATTENTION_H

#include "runtime/base/cuda/stream.h"
#include "runtime/bodies/cuda/documents.h"

#include <cstdint>
#include <cuda_bf16.h>
#include <memory>
#include <string>

namespace rondo::runtime::cuda {

struct AttentionShape {
  Documents documents;
  int heads;
  /// Width of a head, at most maxHeadWidthCuda.
  int width;
  /// Consecutive heads / kvHeads query heads share keys and values.
  int kvHeads;
  /// Offsets of keys and values in a row, which begins with the queries, and
  /// the elements of a row. If widths are multiples of 8, so are these.
  int keys, values, stride;

  /// The same number of heads of keys and of queries, without gaps.
  AttentionShape(const Documents &documents, int heads, int width)
      : AttentionShape(documents, heads, width, heads, heads * width,
                       2 * heads * width, 3 * heads * width) {}
  // Samples.
  AttentionShape(int batch, int sequence, int heads, int width)
      : AttentionShape(Documents(batch, sequence), heads, width) {}
  AttentionShape(int batch, int sequence, int heads, int width, int kvHeads,
                 int keys, int values, int stride)
      : AttentionShape(Documents(batch, sequence), heads, width, kvHeads, keys,
                       values, stride) {}
  AttentionShape(const Documents &documents, int heads, int width, int kvHeads,
                 int keys, int values, int stride)
      : documents(documents), heads(heads), width(width), kvHeads(kvHeads),
        keys(keys), values(values), stride(stride) {}

  /// Numbers of all query heads.
  __host__ __device__ int64_t hidden() const { return int64_t(heads) * width; }
  /// Query heads that share keys and values.
  __host__ __device__ int group() const { return heads / kvHeads; }
  __host__ __device__ int64_t tokens() const { return documents.tokens(); }
};

/// Writes output [tokens, hidden] and, document after document, logSumExp
/// [heads][tokens].
template <typename T>
void attentionForward(const Stream &stream, const AttentionShape &shape,
                      const T *qkv, T *output, float *logSumExp);

/// Replaces q, k and v with their gradients. Scratch: queryGrad [tokens,
/// hidden] and rowDots, as large as logSumExp.
template <typename T>
void attentionInputGrad(const Stream &stream, const AttentionShape &shape,
                        T *qkv, const T *output, const T *outputGrad,
                        const float *logSumExp, T *queryGrad, float *rowDots);

//===----------------------------------------------------------------------===//
// Attention without tensor cores.
//
// Like attentionForward() and attentionInputGrad() of attention.h, and the
// steps before and after that all input gradient kernels of attention share.
//===----------------------------------------------------------------------===//

template <typename T>
void plainAttentionForward(const Stream &stream, const AttentionShape &shape,
                           const T *qkv, T *output, float *logSumExp);
template <typename T>
void plainAttentionInputGrad(const Stream &stream, const AttentionShape &shape,
                             T *qkv, const T *output, const T *outputGrad,
                             const float *logSumExp, T *queryGrad,
                             float *rowDots);

/// Sums of output * outputGrad over each row of a head, laid out as logSumExp.
template <typename T>
void attentionRowDots(const Stream &stream, const AttentionShape &shape,
                      const T *output, const T *outputGrad, float *rowDots);
/// Call this once no kernel reads the queries any more.
template <typename T>
void copyQueryGrad(const Stream &stream, const AttentionShape &shape,
                   const T *queryGrad, T *qkv);

//===----------------------------------------------------------------------===//
// Attention by cuDNN.
//
// The same function as attention.h's, by NVIDIA's library where it is there: on
// an H200 it takes 0.6 to 0.8 of the time. By its deterministic algorithm, so
// that the bits are the same each time. Loaded when a program starts; nothing
// links it.
//===----------------------------------------------------------------------===//

/// One rank's handle of cuDNN and its plans, one for each direction of a shape
/// that is called. Used by one host thread at a time.
class CudnnAttention {
public:
  /// On the current device. Null if this program was built without cuDNN's
  /// headers or if the library cannot be loaded; the reason is then in `why`.
  static std::unique_ptr<CudnnAttention> load(std::string &why);
  ~CudnnAttention();
  CudnnAttention(const CudnnAttention &) = delete;
  CudnnAttention &operator=(const CudnnAttention &) = delete;

  /// Like attentionForward() and attentionInputGrad(). False if the library
  /// refuses the shape, or for rows of documents; then nothing is enqueued.
  /// Both agree on logSumExp with attention.h's, so either may be refused
  /// alone. The first call of either with a shape plans it, which takes up to
  /// seconds and must not be recorded in a graph.
  bool forward(const Stream &stream, const AttentionShape &shape,
               const __nv_bfloat16 *qkv, __nv_bfloat16 *output,
               float *logSumExp);
  bool inputGrad(const Stream &stream, const AttentionShape &shape,
                 __nv_bfloat16 *qkv, const __nv_bfloat16 *output,
                 const __nv_bfloat16 *outputGrad, const float *logSumExp);

  /// Whether the library computes any shape.
  bool isUsed() const;
  /// Device memory that plans take, outside of the arena.
  int64_t bytes() const;
  /// Text of the library's last refusal of a shape; empty if it never refused
  /// one.
  const std::string &refusal() const;
  /// `9.19.0`.
  std::string version() const;

private:
  struct Library;
  explicit CudnnAttention(std::unique_ptr<Library> library);
  std::unique_ptr<Library> library;
};

} // namespace rondo::runtime::cuda

#endif // RONDO_RUNTIME_BODIES_CUDA_ATTENTION_H
