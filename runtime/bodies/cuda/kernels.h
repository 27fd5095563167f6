//===- kernels.h - Kernels of layers ----------------------------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#ifndef RONDO_RUNTIME_BODIES_CUDA_KERNELS_H
#define RONDO_RUNTIME_BODIES_CUDA_KERNELS_H

#include "runtime/base/cuda/stream.h"
#include "runtime/bodies/cuda/documents.h"
#include "runtime/model/layer.h"

#include <cstdint>
#include <initializer_list>

namespace rondo::runtime::cuda {

//===----------------------------------------------------------------------===//
// GELU and SwiGLU.
//
// GELU is for products in which cuBLASLt does not do it. Limit: one pass over
// each tensor at the memory's bandwidth.
//===----------------------------------------------------------------------===//

/// y = gelu(x). All tensors start at multiples of 16 bytes.
template <typename T>
void geluForward(const Stream &stream, int64_t count, const T *x, T *y);

/// grad *= slope of gelu at x.
template <typename T>
void geluInputGrad(const Stream &stream, int64_t count, const T *x, T *grad);

/// Rows of `columns` numbers of gate and of up, which begin `up` elements after
/// the gate's; both are multiples of packs apart.
template <typename T> struct Gates {
  int64_t rows, columns, up, stride;
  T *values;
};

/// product [rows, columns] = silu(gate) * up with silu(x) = x / (1 + e^-x).
template <typename T>
void swigluForward(const Stream &stream, const Gates<T> &gates, T *product);

/// Replaces gate and up by their gradients.
template <typename T>
void swigluInputGrad(const Stream &stream, const Gates<T> &gates,
                     const T *productGrad);

//===----------------------------------------------------------------------===//
// Token and position embedding.
//===----------------------------------------------------------------------===//

/// output [tokens, hidden] = row of the token + row of its position in its
/// document, unless that table is null; keeps the tokens. Limit: the memory's
/// bandwidth.
template <typename T>
void embeddingForward(const Stream &stream, const Documents &documents,
                      int64_t hidden, const int32_t *ids, const T *tokenTable,
                      const T *positionTable, int32_t *savedIds, T *output);

/// Adds rows of outputGrad [tokens, hidden] to the gradients of the tables that
/// there are; the table of positions has `positions` rows. One block adds to a
/// row of a table, in the order of the tokens: no atomics. Limit: the rows of
/// the most frequent token, several at a time.
template <typename T>
void embeddingWeightGrad(const Stream &stream, const Documents &documents,
                         int64_t positions, int64_t hidden, const int32_t *ids,
                         const T *outputGrad, float *tokenGrad,
                         float *positionGrad);

//===----------------------------------------------------------------------===//
// Softmax and cross-entropy.
//===----------------------------------------------------------------------===//

/// Rows of `vocab` logits, `stride` elements apart, a multiple of 8. Gradients
/// after the last logit become 0, up to a multiple of 8. Limit: the memory's
/// bandwidth, one read and one write: a row up to 112 KiB, 57,280 logits in
/// bf16, is kept in shared memory if the device has as much; a longer one is
/// read twice, the second time from a cache.
template <typename T> struct Logits {
  int64_t rows, vocab, stride;
  T *values;
};

/// Logits become gradients: (softmax - 1 at the target) * share. Writes each
/// row's loss and, if they are not null, the logarithm of each row's sum and
/// the share, one element.
template <typename T>
void crossEntropy(const Stream &stream, const Logits<T> &logits,
                  const int32_t *targets, float share, float *losses,
                  float *logSumExp, float *savedShare);

/// Computes the same gradients from what was saved.
template <typename T>
void crossEntropyAgain(const Stream &stream, const Logits<T> &logits,
                       const int32_t *targets, const float *logSumExp,
                       const float *savedShare);

/// *mean = mean of `count` losses, added in fp64 in a fixed order.
void meanLoss(const Stream &stream, int64_t count, const float *losses,
              float *mean);

//===----------------------------------------------------------------------===//
// Norms and rotary positions of heads.
//
// Operations on the heads of q and k between their projections and attention,
// in place: rotate() of bodies/attention.h, and before it, if the layer has
// norms of heads, that of bodies/norm.h on each head. Limit: one pass over q
// and k at the memory's bandwidth; cosines and sines are computed once for all
// heads that a thread turns.
//===----------------------------------------------------------------------===//

/// The norms of heads: all null without. A token's heads of q come before those
/// of k.
template <typename T> struct HeadNorms {
  /// [head width].
  const float *queryGain, *keyGain;
  /// [tokens][rotated heads][head width].
  T *normal;
  /// [tokens][rotated heads].
  float *scale;
};

/// Rows are laid out as QkvColumns (model/llama_sizes.h) says. Writes
/// normal and scale.
template <typename T>
void headsForward(const Stream &stream, const LayerDesc &layer,
                  const Documents &documents, const HeadNorms<T> &norms,
                  T *qkv);

/// Turns the gradients of what headsForward() made into those of what it got.
/// With norms, writes the gradients of both gains to gainGrads [2][head width];
/// `partials` has normChunks(tokens) times as many elements. Positions are
/// turned in fp32 from angles reduced in fp64.
template <typename T>
void headsInputGrad(const Stream &stream, const LayerDesc &layer,
                    const Documents &documents, const HeadNorms<T> &norms,
                    T *qkv, float *gainGrads, float *partials);

//===----------------------------------------------------------------------===//
// Normalisation of layers.
//
// The formulas of bodies/norm.h. T is the type of activations; gain, bias and
// the row's scale are fp32. All are bound by the memory's bandwidth: each reads
// and writes every tensor once. Rows are kept in registers, 16 bytes at a time;
// those without such packs, or too long, are read again, from L1.
//===----------------------------------------------------------------------===//

/// Writes normal and y [rows, columns] and scale [rows]. The matrix product
/// that makes x also adds the residual.
template <typename T>
void normForward(const Stream &stream, int64_t rows, int64_t columns,
                 const T *x, const float *gain, const float *bias, T *normal,
                 float *scale, T *y);

/// dx = residual + gradient through the norm; the residual may be null. Also
/// writes the gradients of gain and bias to grads [2 * columns], and y in place
/// of normal, which is no longer needed. `partials` has normChunks(rows) * 2 *
/// columns elements (model/cuda_layouts.h). If `grads` is null, these are left
/// for setPartials() (reduce.cu), which adds those of several norms at once.
template <typename T>
void normInputGrad(const Stream &stream, int64_t rows, int64_t columns,
                   const T *dy, T *normal, const float *scale,
                   const float *gain, const float *bias, const T *residual,
                   T *dx, float *grads, float *partials);

/// Also copies the residual, the gradient of the norm's layer, to `kept`, and
/// sums the columns of both: sums [4][columns] are the gradients of gain and
/// bias, the residual's sums and those of dx. The last two are gradients of the
/// biases before either tensor, which then need no pass of their own.
/// `partials` has normChunks(rows) * 4 * columns elements; `sums` may be null
/// as well.
template <typename T>
void normInputGradKeeping(const Stream &stream, int64_t rows, int64_t columns,
                          const T *dy, T *normal, const float *scale,
                          const float *gain, const float *bias,
                          const T *residual, T *kept, T *dx, float *sums,
                          float *partials);

// Normalisation by the root mean square, with the same types and bound.

/// Writes normal and y [rows, columns] and scale [rows].
template <typename T>
void rmsForward(const Stream &stream, int64_t rows, int64_t columns,
                float epsilon, const T *x, const float *gain, T *normal,
                float *scale, T *y);

/// dx = residual + gradient through the norm; the residual may be null. Copies
/// the residual to `kept`, unless that is null, writes the gradient of gain to
/// grads [columns], and y in place of normal, which is no longer needed.
/// `partials` has normChunks(rows) * columns elements (model/cuda_layouts.h).
template <typename T>
void rmsInputGrad(const Stream &stream, int64_t rows, int64_t columns,
                  const T *dy, T *normal, const float *scale, const float *gain,
                  const T *residual, T *kept, T *dx, float *grads,
                  float *partials);

//===----------------------------------------------------------------------===//
// Sums over rows, always in the same order.
//
// Rows are cut into chunks whose number depends only on the shape. A kernel
// sums the rows of a chunk in an order that only their number decides, then the
// chunks are added in order: no atomics, the same bits each time.
//===----------------------------------------------------------------------===//

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

#endif // RONDO_RUNTIME_BODIES_CUDA_KERNELS_H
