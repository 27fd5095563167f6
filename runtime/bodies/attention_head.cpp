//===- attention_head.cpp - Attention of one head -------------------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "runtime/bodies/attention_head.h"

#include "runtime/base/vectorise.h"
#include "runtime/bodies/linear.h"

#include <algorithm>
#include <limits>

namespace rondo::runtime {

namespace {

/// A block of scores: row i is query first + i and has `seen` columns.
struct Block {
  int64_t first, rows, seen;
  bool isCausal;
  /// A row may see nothing.
  bool isMasked;
};

/// Keys that row i sees.
RONDO_INLINE int64_t seenBy(const Block &block, int64_t i) {
  return block.isCausal && block.first + i + 1 < block.seen
             ? block.first + i + 1
             : block.seen;
}

template <typename Real>
void addMask(const AttentionHead<Real> &head, const Block &block,
             Real *scores) {
  for (int64_t i = 0; i < block.rows; ++i) {
    const Real *mask = head.mask + (block.first + i) * head.maskRow;
    for (int64_t j = 0; j < block.seen; ++j)
      scores[i * block.seen + j] += mask[j * head.maskColumn];
  }
}

/// Rows of scores become probabilities. Columns that a row does not see become
/// 0.
template <typename Real>
RONDO_VECTORISE void softmaxRows(const Block &block, Real *__restrict scores,
                                 Real *__restrict logSumExp, int64_t stride) {
  for (int64_t i = 0; i < block.rows; ++i) {
    Real *__restrict row = scores + i * block.seen;
    int64_t seen = seenBy(block, i);
    Real most = laneMax(seen, row);
    if (block.isMasked && most == -std::numeric_limits<Real>::infinity()) {
      std::fill(row, row + block.seen, Real(0));
      logSumExp[i * stride] = most;
      continue;
    }
    for (int64_t j = 0; j < seen; ++j)
      row[j] = exponential(row[j] - most);
    Real sum = laneSum<Real>(seen, [=](int64_t j) { return row[j]; });
    Real inverse = 1 / sum;
    for (int64_t j = 0; j < seen; ++j)
      row[j] *= inverse;
    for (int64_t j = seen; j < block.seen; ++j)
      row[j] = 0;
    logSumExp[i * stride] = most + std::log(sum);
  }
}

/// Recomputes the same probabilities from the saved logarithms.
template <typename Real>
RONDO_VECTORISE void restoreRows(const Block &block, Real *__restrict scores,
                                 const Real *__restrict logSumExp,
                                 int64_t stride) {
  for (int64_t i = 0; i < block.rows; ++i) {
    Real *__restrict row = scores + i * block.seen;
    Real shift = logSumExp[i * stride];
    int64_t seen = seenBy(block, i);
    if (block.isMasked && shift == -std::numeric_limits<Real>::infinity())
      seen = 0;
    for (int64_t j = 0; j < seen; ++j)
      row[j] = exponential(row[j] - shift);
    for (int64_t j = seen; j < block.seen; ++j)
      row[j] = 0;
  }
}

/// Turns the gradient of the probabilities into that of the scores, in place.
template <typename Real>
RONDO_VECTORISE void
scoreGrads(const Block &block, Real scale, const Real *__restrict probabilities,
           const Real *__restrict rowDots, Real *__restrict grads) {
  const int64_t stride = block.seen;
  for (int64_t i = 0; i < block.rows; ++i)
    for (int64_t j = 0; j < stride; ++j)
      grads[i * stride + j] = probabilities[i * stride + j] *
                              (grads[i * stride + j] - rowDots[i]) * scale;
}

/// dots[i] = sum of products of row i of a and b.
template <typename Real>
RONDO_VECTORISE void dotRows(int64_t rows, int64_t columns,
                             HeadRows<const Real> a, HeadRows<const Real> b,
                             Real *__restrict dots) {
  for (int64_t i = 0; i < rows; ++i) {
    const Real *rowA = a.data + i * a.stride, *rowB = b.data + i * b.stride;
    dots[i] =
        laneSum<Real>(columns, [=](int64_t j) { return rowA[j] * rowB[j]; });
  }
}

template <typename Real>
Matrix<Real> matrixOf(HeadRows<const Real> rows, bool transposed = false) {
  return {rows.data, rows.stride, transposed};
}

template <typename Real, typename Each>
void forBlocks(const AttentionHead<Real> &head, const Each &each) {
  for (int64_t first = 0; first < head.queries; first += head.block) {
    const int64_t rows = std::min(head.block, head.queries - first);
    const int64_t seen =
        head.isCausal ? std::min(head.keys, first + rows) : head.keys;
    each(Block{first, rows, seen, head.isCausal, head.mask != nullptr});
  }
}

/// scores = scale q k^T + mask.
template <typename Real>
void score(const AttentionHead<Real> &head, const AttentionInputs<Real> &in,
           const Block &block, Real *scores) {
  multiply(block.rows, block.seen, head.width, head.scale,
           matrixOf(in.q.from(block.first)), matrixOf(in.k, true), Real(0),
           scores, block.seen);
  if (head.mask)
    addMask(head, block, scores);
}

} // namespace

template <typename Real>
void attendForward(const AttentionHead<Real> &head,
                   const AttentionInputs<Real> &in,
                   const AttentionOutputs<Real> &out, Real *scores) {
  forBlocks(head, [&](const Block &block) {
    score(head, in, block, scores);
    const HeadRows<Real> sums = out.logSumExp.from(block.first);
    softmaxRows(block, scores, sums.data, sums.stride);
    const HeadRows<Real> output = out.output.from(block.first);
    multiply(block.rows, head.width, block.seen, Real(1), {scores, block.seen},
             matrixOf(in.v), Real(0), output.data, output.stride);
  });
}

template <typename Real>
void attendBackward(const AttentionHead<Real> &head,
                    const AttentionInputs<Real> &in,
                    const AttentionOutputs<const Real> &out,
                    const AttentionGrads<Real> &grads,
                    const AttentionMemory<Real> &memory) {
  const int64_t width = head.width;
  forBlocks(head, [&](const Block &block) {
    const int64_t rows = block.rows, seen = block.seen;
    const HeadRows<const Real> outGrad = grads.output.from(block.first);
    const HeadRows<const Real> sums = out.logSumExp.from(block.first);
    score(head, in, block, memory.probabilities);
    restoreRows(block, memory.probabilities, sums.data, sums.stride);
    multiply(seen, width, rows, Real(1), {memory.probabilities, seen, true},
             matrixOf(outGrad), Real(1), grads.v.data, grads.v.stride);
    multiply(rows, seen, width, Real(1), matrixOf(outGrad),
             matrixOf(in.v, true), Real(0), memory.grads, seen);
    dotRows(rows, width, outGrad, out.output.from(block.first), memory.rowDots);
    scoreGrads(block, head.scale,
               static_cast<const Real *>(memory.probabilities),
               static_cast<const Real *>(memory.rowDots), memory.grads);
    multiply(seen, width, rows, Real(1), {memory.grads, seen, true},
             matrixOf(in.q.from(block.first)), Real(1), grads.k.data,
             grads.k.stride);
    // No later block reads these queries.
    const HeadRows<Real> qGrad = grads.q.from(block.first);
    multiply(rows, width, seen, Real(1), {memory.grads, seen}, matrixOf(in.k),
             Real(0), qGrad.data, qGrad.stride);
  });
}

#define RONDO_INSTANTIATE(Real)                                                \
  template void attendForward(const AttentionHead<Real> &,                     \
                              const AttentionInputs<Real> &,                   \
                              const AttentionOutputs<Real> &, Real *);         \
  template void attendBackward(                                                \
      const AttentionHead<Real> &, const AttentionInputs<Real> &,              \
      const AttentionOutputs<const Real> &, const AttentionGrads<Real> &,      \
      const AttentionMemory<Real> &);
RONDO_INSTANTIATE(float)
RONDO_INSTANTIATE(double)

} // namespace rondo::runtime
