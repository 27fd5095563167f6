//===- attention_head.h - Attention of one head -----------------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// softmax(scale q k^T + mask) v of one head of one sample, a block of queries
// at a time. Probabilities are never kept: the backward recomputes them from
// the logarithms of the rows' sums (after FlashAttention, Dao et al. 2022, but
// with whole rows).
//
//===----------------------------------------------------------------------===//

#ifndef RONDO_RUNTIME_BODIES_ATTENTION_HEAD_H
#define RONDO_RUNTIME_BODIES_ATTENTION_HEAD_H

#include <cstdint>

namespace rondo::runtime {

/// Rows that begin `stride` elements apart.
template <typename Real> struct HeadRows {
  Real *data;
  int64_t stride;

  HeadRows from(int64_t row) const { return {data + row * stride, stride}; }
};

template <typename Real> struct AttentionHead {
  int64_t queries, keys, width;
  /// Queries at a time.
  int64_t block;
  Real scale;
  /// Query i sees the keys up to i.
  bool isCausal;
  /// Added to the scores; null: nothing. A query whose mask is -infinity
  /// everywhere has an output of 0.
  const Real *mask = nullptr;
  int64_t maskRow = 0, maskColumn = 0;
};

template <typename Real> struct AttentionInputs {
  HeadRows<const Real> q, k, v;
};

/// Results of F; logSumExp has one number a row.
template <typename Real> struct AttentionOutputs {
  HeadRows<Real> output, logSumExp;
};

template <typename Real> struct AttentionGrads {
  HeadRows<const Real> output;
  /// The gradient of q may replace q.
  HeadRows<Real> q;
  /// Added to.
  HeadRows<Real> k, v;
};

/// Memory of the backward: block * keys elements, as many, and `block`.
template <typename Real> struct AttentionMemory {
  Real *probabilities, *grads, *rowDots;
};

/// `scores` has block * keys elements.
template <typename Real>
void attendForward(const AttentionHead<Real> &head,
                   const AttentionInputs<Real> &in,
                   const AttentionOutputs<Real> &out, Real *scores);

template <typename Real>
void attendBackward(const AttentionHead<Real> &head,
                    const AttentionInputs<Real> &in,
                    const AttentionOutputs<const Real> &out,
                    const AttentionGrads<Real> &grads,
                    const AttentionMemory<Real> &memory);

} // namespace rondo::runtime

#endif // RONDO_RUNTIME_BODIES_ATTENTION_HEAD_H
