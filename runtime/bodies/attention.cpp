//===- attention.cpp - Causal self-attention, rotary positions ------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "runtime/bodies/attention.h"

#include "runtime/base/thread_pool.h"
#include "runtime/base/vectorise.h"
#include "runtime/bodies/attention_head.h"
#include "runtime/model/layouts.h"

#include <algorithm>
#include <vector>

namespace rondo::runtime {

namespace {

template <typename Real>
void copyRows(int64_t rows, int64_t columns, const Real *from, Real *to,
              int64_t stride) {
  for (int64_t i = 0; i < rows; ++i)
    std::copy(from + i * columns, from + (i + 1) * columns, to + i * stride);
}

/// Calls each(document, first head, workspace) for every document and group of
/// `group` heads, on the threads of the rank. Each thread but one has a
/// workspace of its own, which it keeps: allocated for each call, all its pages
/// would be new.
template <typename Real, typename Each>
void forHeads(const TaskDocuments &documents, int64_t group, Real *workspace,
              const Each &each) {
  const int64_t size = documents.size;
  const LayerDesc &layer = documents.layer;
  // Each score takes some products and an exponential.
  const int64_t tokens = numTokens(layer) / std::max<int64_t>(1, size);
  // A thread has some heads of all documents, which may differ in length.
  const int64_t units = size * (layer.heads / group);
  forRanges(units, tokens * tokens * group / 2,
            [&](int64_t first, int64_t count) {
              Real *here = workspace;
              if (first > 0) {
                static thread_local std::vector<Real> own;
                const auto needed =
                    static_cast<size_t>(AttentionWorkspace(layer).all.size());
                if (own.size() < needed)
                  own.resize(needed);
                here = own.data();
              }
              for (int64_t u = first; u < first + count; ++u)
                each(u % size, u / size * group, here);
            });
}

/// Addresses of one head of a document in rows of q, k and v, and of outputs.
template <typename Real> struct HeadPlaces {
  HeadPlaces(const TaskDocuments &documents, int64_t document, int64_t head)
      : stride(qkvWidth(documents.layer)),
        outStride(attentionWidth(documents.layer)),
        width(headWidth(documents.layer)) {
    const LayerDesc &layer = documents.layer;
    const int64_t group = layer.heads / kvHeads(layer);
    const int64_t token = documents.first(document);
    q = token * stride + head * width;
    k = token * stride + outStride + head / group * width;
    v = k + kvHeads(layer) * width;
    output = token * outStride + head * width;
    sums = token * layer.heads + head * documents.tokens(document);
  }

  AttentionInputs<Real> inputs(const Real *qkv) const {
    return {{qkv + q, stride}, {qkv + k, stride}, {qkv + v, stride}};
  }

  /// `Number` is Real, or constant.
  template <typename Number>
  AttentionOutputs<Number> outputs(Number *all, Number *logSumExp) const {
    return {{all + output, outStride}, {logSumExp + sums, 1}};
  }

  int64_t stride, outStride, width;
  int64_t q, k, v, output, sums;
};

template <typename Real>
AttentionHead<Real> headOf(const TaskDocuments &documents, int64_t document) {
  const int64_t tokens = documents.tokens(document);
  const int64_t width = headWidth(documents.layer);
  return {tokens,
          tokens,
          width,
          attentionRows(documents.layer),
          1 / std::sqrt(Real(width)),
          true};
}

} // namespace

template <typename Real>
void attentionForward(const TaskDocuments &documents, const Real *qkv,
                      Real *output, Real *logSumExp, Real *workspace) {
  const AttentionWorkspace at(documents.layer);
  forHeads(
      documents, 1, workspace, [&](int64_t document, int64_t head, Real *own) {
        const HeadPlaces<Real> places(documents, document, head);
        attendForward(headOf<Real>(documents, document), places.inputs(qkv),
                      places.outputs(output, logSumExp),
                      own + at.probabilities);
      });
}

template <typename Real>
void attentionInputGrad(const TaskDocuments &documents, Real *qkv,
                        const Real *output, const Real *outputGrad,
                        const Real *logSumExp, Real *workspace) {
  const AttentionWorkspace at(documents.layer);
  const int64_t group = documents.layer.heads / kvHeads(documents.layer);
  forHeads(documents, group, workspace,
           [&](int64_t document, int64_t firstHead, Real *own) {
             const int64_t tokens = documents.tokens(document);
             const AttentionHead<Real> of = headOf<Real>(documents, document);
             Real *keyGrad = own + at.keyGrad, *valueGrad = own + at.valueGrad;
             std::fill(keyGrad, keyGrad + tokens * of.width, Real(0));
             std::fill(valueGrad, valueGrad + tokens * of.width, Real(0));
             const AttentionMemory<Real> memory{
                 own + at.probabilities, own + at.grads, own + at.rowDots};
             for (int64_t head = firstHead; head < firstHead + group; ++head) {
               const HeadPlaces<Real> places(documents, document, head);
               attendBackward(of, places.inputs(qkv),
                              places.outputs(output, logSumExp),
                              {{outputGrad + places.output, places.outStride},
                               {qkv + places.q, places.stride},
                               {keyGrad, of.width},
                               {valueGrad, of.width}},
                              memory);
             }
             // No later head reads these keys and values.
             const HeadPlaces<Real> places(documents, document, firstHead);
             copyRows(tokens, of.width, keyGrad, qkv + places.k, places.stride);
             copyRows(tokens, of.width, valueGrad, qkv + places.v,
                      places.stride);
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
    for (int64_t t = 0; t < maxDocumentTokens(layer); ++t) {
      const double angle = static_cast<double>(t) * frequency;
      cosines[t * pairs + j] = static_cast<Real>(std::cos(angle));
      sines[t * pairs + j] = static_cast<Real>(std::sin(angle));
    }
  }
}

template <typename Real>
RONDO_VECTORISE void
rotate(const TaskDocuments &documents, int64_t heads, int64_t stride,
       Real direction, const Real *__restrict cosines,
       const Real *__restrict sines, Real *__restrict rows) {
  const int64_t pairs = headWidth(documents.layer) / 2;
  for (int64_t t = 0; t < numTokens(documents.layer); ++t) {
    const int64_t place = documents.placeOf(t) * pairs;
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
  template void attentionForward(const TaskDocuments &, const Real *, Real *,  \
                                 Real *, Real *);                              \
  template void attentionInputGrad(const TaskDocuments &, Real *,              \
                                   const Real *, const Real *, const Real *,   \
                                   Real *);                                    \
  template void rotaryTable(const LayerDesc &, Real *, Real *);                \
  template void rotate(const TaskDocuments &, int64_t, int64_t, Real,          \
                       const Real *, const Real *, Real *);
RONDO_INSTANTIATE(float)
RONDO_INSTANTIATE(double)

} // namespace rondo::runtime
