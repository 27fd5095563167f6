//===- attention.cpp - Causal self-attention, rotary positions ------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "runtime/bodies/attention.h"

#include "runtime/base/thread_pool.h"
#include "runtime/base/vectorise.h"
#include "runtime/bodies/linear.h"
#include "runtime/model/layouts.h"

#include <algorithm>
#include <vector>

namespace rondo::runtime {

namespace {

/// Rows of scores become probabilities. Row i is query first + i and has
/// `stride` columns; columns after the query become 0.
template <typename Real>
RONDO_VECTORISE void softmaxRows(int64_t first, int64_t rows, int64_t stride,
                                 Real *__restrict scores,
                                 Real *__restrict logSumExp) {
  for (int64_t i = 0; i < rows; ++i) {
    Real *__restrict row = scores + i * stride;
    int64_t seen = first + i + 1;
    Real most = laneMax(seen, row);
    for (int64_t j = 0; j < seen; ++j)
      row[j] = exponential(row[j] - most);
    Real sum = laneSum<Real>(seen, [=](int64_t j) { return row[j]; });
    Real inverse = 1 / sum;
    for (int64_t j = 0; j < seen; ++j)
      row[j] *= inverse;
    for (int64_t j = seen; j < stride; ++j)
      row[j] = 0;
    logSumExp[i] = most + std::log(sum);
  }
}

/// Recomputes the same probabilities from the saved logarithms.
template <typename Real>
RONDO_VECTORISE void restoreRows(int64_t first, int64_t rows, int64_t stride,
                                 Real *__restrict scores,
                                 const Real *__restrict logSumExp) {
  for (int64_t i = 0; i < rows; ++i) {
    Real *__restrict row = scores + i * stride;
    int64_t seen = first + i + 1;
    Real shift = logSumExp[i];
    for (int64_t j = 0; j < seen; ++j)
      row[j] = exponential(row[j] - shift);
    for (int64_t j = seen; j < stride; ++j)
      row[j] = 0;
  }
}

/// Turns the gradient of the probabilities into that of the scores, in place.
template <typename Real>
RONDO_VECTORISE void scoreGrads(int64_t rows, int64_t stride, Real scale,
                                const Real *__restrict probabilities,
                                const Real *__restrict rowDots,
                                Real *__restrict grads) {
  for (int64_t i = 0; i < rows; ++i)
    for (int64_t j = 0; j < stride; ++j)
      grads[i * stride + j] = probabilities[i * stride + j] *
                              (grads[i * stride + j] - rowDots[i]) * scale;
}

/// dots[i] = sum of products of row i of a and b.
template <typename Real>
RONDO_VECTORISE void dotRows(int64_t rows, int64_t columns, int64_t stride,
                             const Real *a, const Real *b,
                             Real *__restrict dots) {
  for (int64_t i = 0; i < rows; ++i) {
    const Real *rowA = a + i * stride, *rowB = b + i * stride;
    dots[i] =
        laneSum<Real>(columns, [=](int64_t j) { return rowA[j] * rowB[j]; });
  }
}

template <typename Real>
void copyRows(int64_t rows, int64_t columns, const Real *from, Real *to,
              int64_t stride) {
  for (int64_t i = 0; i < rows; ++i)
    std::copy(from + i * columns, from + (i + 1) * columns, to + i * stride);
}

/// Calls each(sample, first head, workspace) for every sample and group of
/// `group` heads, on the threads of the rank. Each thread but one has a
/// workspace of its own, which it keeps: allocated for each call, all its pages
/// would be new.
template <typename Real, typename Each>
void forHeads(const LayerDesc &layer, int64_t group, Real *workspace,
              const Each &each) {
  const int64_t groups = layer.heads / group;
  // Each score takes some products and an exponential.
  const int64_t scores = layer.sequence * layer.sequence * group / 2;
  forRanges(layer.batch * groups, scores, [&](int64_t first, int64_t count) {
    Real *here = workspace;
    if (first > 0) {
      static thread_local std::vector<Real> own;
      const auto needed =
          static_cast<size_t>(AttentionWorkspace(layer).all.size());
      if (own.size() < needed)
        own.resize(needed);
      here = own.data();
    }
    for (int64_t g = first; g < first + count; ++g)
      each(g / groups, g % groups * group, here);
  });
}

} // namespace

template <typename Real>
void attentionForward(const LayerDesc &layer, const Real *qkv, Real *output,
                      Real *logSumExp, Real *workspace) {
  const AttentionWorkspace at(layer);
  const int64_t sequence = layer.sequence, width = headWidth(layer);
  const int64_t outStride = attentionWidth(layer), stride = qkvWidth(layer);
  const int64_t kvWidth = kvHeads(layer) * width;
  const int64_t group = layer.heads / kvHeads(layer);
  const int64_t block = attentionRows(layer);
  const Real scale = 1 / std::sqrt(Real(width));

  forHeads(layer, 1, workspace, [&](int64_t sample, int64_t head, Real *own) {
    Real *scores = own + at.probabilities;
    const Real *token = qkv + sample * sequence * stride;
    const Real *q = token + head * width;
    const Real *k = token + outStride + head / group * width;
    const Real *v = k + kvWidth;
    Real *out = output + sample * sequence * outStride + head * width;
    Real *sums = logSumExp + (sample * layer.heads + head) * sequence;
    for (int64_t first = 0; first < sequence; first += block) {
      int64_t rows = std::min(block, sequence - first), seen = first + rows;
      multiply(rows, seen, width, scale, {q + first * stride, stride},
               {k, stride, true}, Real(0), scores, seen);
      softmaxRows(first, rows, seen, scores, sums + first);
      multiply(rows, width, seen, Real(1), {scores, seen}, {v, stride}, Real(0),
               out + first * outStride, outStride);
    }
  });
}

template <typename Real>
void attentionInputGrad(const LayerDesc &layer, Real *qkv, const Real *output,
                        const Real *outputGrad, const Real *logSumExp,
                        Real *workspace) {
  const AttentionWorkspace at(layer);
  const int64_t sequence = layer.sequence, width = headWidth(layer);
  const int64_t outStride = attentionWidth(layer), stride = qkvWidth(layer);
  const int64_t kvWidth = kvHeads(layer) * width;
  const int64_t group = layer.heads / kvHeads(layer);
  const int64_t block = attentionRows(layer);
  const Real scale = 1 / std::sqrt(Real(width));

  forHeads(
      layer, group, workspace,
      [&](int64_t sample, int64_t firstHead, Real *own) {
        Real *probabilities = own + at.probabilities;
        Real *grads = own + at.grads;
        Real *keyGrad = own + at.keyGrad;
        Real *valueGrad = own + at.valueGrad;
        Real *rowDots = own + at.rowDots;
        for (int64_t head = firstHead; head < firstHead + group; ++head) {
          Real *token = qkv + sample * sequence * stride;
          Real *q = token + head * width;
          Real *k = token + outStride + head / group * width, *v = k + kvWidth;
          const int64_t place = sample * sequence * outStride + head * width;
          const Real *out = output + place, *outGrad = outputGrad + place;
          const Real *sums =
              logSumExp + (sample * layer.heads + head) * sequence;
          if (head % group == 0) {
            std::fill(keyGrad, keyGrad + sequence * width, Real(0));
            std::fill(valueGrad, valueGrad + sequence * width, Real(0));
          }
          for (int64_t first = 0; first < sequence; first += block) {
            int64_t rows = std::min(block, sequence - first),
                    seen = first + rows;
            Real *blockQ = q + first * stride;
            const Real *blockGrad = outGrad + first * outStride;
            multiply(rows, seen, width, scale, {blockQ, stride},
                     {k, stride, true}, Real(0), probabilities, seen);
            restoreRows(first, rows, seen, probabilities, sums + first);
            multiply(seen, width, rows, Real(1), {probabilities, seen, true},
                     {blockGrad, outStride}, Real(1), valueGrad, width);
            multiply(rows, seen, width, Real(1), {blockGrad, outStride},
                     {v, stride, true}, Real(0), grads, seen);
            dotRows(rows, width, outStride, blockGrad, out + first * outStride,
                    rowDots);
            scoreGrads(rows, seen, scale, probabilities, rowDots, grads);
            multiply(seen, width, rows, Real(1), {grads, seen, true},
                     {blockQ, stride}, Real(1), keyGrad, width);
            // No later block reads these queries.
            multiply(rows, width, seen, Real(1), {grads, seen}, {k, stride},
                     Real(0), blockQ, stride);
          }
          // No later head reads these keys and values.
          if (head % group == group - 1) {
            copyRows(sequence, width, keyGrad, k, stride);
            copyRows(sequence, width, valueGrad, v, stride);
          }
        }
      });
}

double rotaryFrequency(const LayerDesc &layer, int64_t j) {
  const LlamaDesc &llama = layer.llama;
  const double plain =
      std::pow(llama.ropeTheta, -static_cast<double>(2 * j) /
                                    static_cast<double>(headWidth(layer)));
  const RopeScaling &scaling = llama.ropeScaling;
  if (scaling.factor == 0)
    return plain;
  const double turn = 6.283185307179586;
  // Turns within the original positions.
  const double turns =
      static_cast<double>(scaling.originalPositions) * plain / turn;
  if (turns > scaling.highFrequencyFactor)
    return plain;
  if (turns < scaling.lowFrequencyFactor)
    return plain / scaling.factor;
  const double share =
      (turns - scaling.lowFrequencyFactor) /
      (scaling.highFrequencyFactor - scaling.lowFrequencyFactor);
  return (1 - share) * plain / scaling.factor + share * plain;
}

template <typename Real>
void rotaryTable(const LayerDesc &layer, Real *cosines, Real *sines) {
  const int64_t pairs = headWidth(layer) / 2;
  for (int64_t j = 0; j < pairs; ++j) {
    const double frequency = rotaryFrequency(layer, j);
    for (int64_t t = 0; t < layer.sequence; ++t) {
      const double angle = static_cast<double>(t) * frequency;
      cosines[t * pairs + j] = static_cast<Real>(std::cos(angle));
      sines[t * pairs + j] = static_cast<Real>(std::sin(angle));
    }
  }
}

template <typename Real>
RONDO_VECTORISE void
rotate(const LayerDesc &layer, int64_t heads, int64_t stride, Real direction,
       const Real *__restrict cosines, const Real *__restrict sines,
       Real *__restrict rows) {
  const int64_t pairs = headWidth(layer) / 2;
  for (int64_t t = 0; t < numTokens(layer); ++t) {
    const int64_t place = t % layer.sequence * pairs;
    for (int64_t head = 0; head < heads; ++head) {
      Real *first = rows + t * stride + head * 2 * pairs;
      for (int64_t j = 0; j < pairs; ++j) {
        const Real cosine = cosines[place + j];
        const Real sine = direction * sines[place + j];
        const Real a = first[j], b = first[pairs + j];
        first[j] = a * cosine - b * sine;
        first[pairs + j] = b * cosine + a * sine;
      }
    }
  }
}

#define RONDO_INSTANTIATE(Real)                                                \
  template void attentionForward(const LayerDesc &, const Real *, Real *,      \
                                 Real *, Real *);                              \
  template void attentionInputGrad(const LayerDesc &, Real *, const Real *,    \
                                   const Real *, const Real *, Real *);        \
  template void rotaryTable(const LayerDesc &, Real *, Real *);                \
  template void rotate(const LayerDesc &, int64_t, int64_t, Real,              \
                       const Real *, const Real *, Real *);
RONDO_INSTANTIATE(float)
RONDO_INSTANTIATE(double)

} // namespace rondo::runtime
