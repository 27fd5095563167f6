//===- attention.h - Causal self-attention, rotary positions ----*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// softmax(q k^T / sqrt(d)) v for each document and head, where a token sees
// itself and those before it. A token's q, k and v are consecutive in a row of
// 3 * hidden elements. Probabilities are never kept: F keeps the logarithm of
// each row's sum, and I recomputes them, 64 queries at a time (after
// FlashAttention, Dao et al. 2022, but with whole rows).
//
//===----------------------------------------------------------------------===//

#ifndef RONDO_RUNTIME_BODIES_ATTENTION_H
#define RONDO_RUNTIME_BODIES_ATTENTION_H

#include "runtime/bodies/layers.h"

namespace rondo::runtime {

// q, k and v of a token lie side by side, heads in succession: qkvWidth()
// numbers. Consecutive query heads share a key and a value head.

/// Writes output [tokens, attentionWidth()] and, document after document,
/// logSumExp [heads][tokens]. The workspace is one AttentionWorkspace.
template <typename Real>
void attentionForward(const TaskDocuments &documents, const Real *qkv,
                      Real *output, Real *logSumExp, Real *workspace);

/// Replaces q, k and v with their gradients.
template <typename Real>
void attentionInputGrad(const TaskDocuments &documents, Real *qkv,
                        const Real *output, const Real *outputGrad,
                        const Real *logSumExp, Real *workspace);

// Rotary positions: number j of a head's first half and number j of its second
// half are a vector, which is turned by position * frequency j.

/// Radians per position of pair j.
double rotaryFrequency(const LayerDesc &layer, int64_t j);

/// Writes cosines and sines [longest document][head width / 2].
template <typename Real>
void rotaryTable(const LayerDesc &layer, Real *cosines, Real *sines);

/// Turns the first `heads` heads of each row, in place; rows are `stride`
/// elements apart, and as many as the layer has tokens. A direction of -1 turns
/// back.
template <typename Real>
void rotate(const TaskDocuments &documents, int64_t heads, int64_t stride,
            Real direction, const Real *cosines, const Real *sines, Real *rows);

} // namespace rondo::runtime

#endif // RONDO_RUNTIME_BODIES_ATTENTION_H
