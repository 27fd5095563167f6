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

/// Addresses of one head in rows of q, k and v, and of outputs.
template <typename Real> struct HeadPlaces {
  HeadPlaces(const LayerDesc &layer, int64_t sample, int64_t head)
      : stride(qkvWidth(layer)), outStride(attentionWidth(layer)),
        width(headWidth(layer)) {
    const int64_t group = layer.heads / kvHeads(layer);
    const int64_t token = sample * layer.sequence;
    q = token * stride + head * width;
    k = token * stride + outStride + head / group * width;
    v = k + kvHeads(layer) * width;
    output = token * outStride + head * width;
    sums = (sample * layer.heads + head) * layer.sequence;
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

template <typename Real> AttentionHead<Real> headOf(const LayerDesc &layer) {
  const int64_t width = headWidth(layer);
  return {layer.sequence,
          layer.sequence,
          width,
          attentionRows(layer),
          1 / std::sqrt(Real(width)),
          true};
}

} // namespace

template <typename Real>
void attentionForward(const LayerDesc &layer, const Real *qkv, Real *output,
                      Real *logSumExp, Real *workspace) {
  const AttentionWorkspace at(layer);
  const AttentionHead<Real> of = headOf<Real>(layer);
  forHeads(layer, 1, workspace, [&](int64_t sample, int64_t head, Real *own) {
    const HeadPlaces<Real> places(layer, sample, head);
    attendForward(of, places.inputs(qkv), places.outputs(output, logSumExp),
                  own + at.probabilities);
  });
}

template <typename Real>
void attentionInputGrad(const LayerDesc &layer, Real *qkv, const Real *output,
                        const Real *outputGrad, const Real *logSumExp,
                        Real *workspace) {
  const AttentionWorkspace at(layer);
  const AttentionHead<Real> of = headOf<Real>(layer);
  const int64_t group = layer.heads / kvHeads(layer);
  const int64_t elements = layer.sequence * of.width;
  forHeads(layer, group, workspace,
           [&](int64_t sample, int64_t firstHead, Real *own) {
             Real *keyGrad = own + at.keyGrad, *valueGrad = own + at.valueGrad;
             std::fill(keyGrad, keyGrad + elements, Real(0));
             std::fill(valueGrad, valueGrad + elements, Real(0));
             const AttentionMemory<Real> memory{
                 own + at.probabilities, own + at.grads, own + at.rowDots};
             for (int64_t head = firstHead; head < firstHead + group; ++head) {
               const HeadPlaces<Real> places(layer, sample, head);
               attendBackward(of, places.inputs(qkv),
                              places.outputs(output, logSumExp),
                              {{outputGrad + places.output, places.outStride},
                               {qkv + places.q, places.stride},
                               {keyGrad, of.width},
                               {valueGrad, of.width}},
                              memory);
             }
             // No later head reads these keys and values.
             const HeadPlaces<Real> places(layer, sample, firstHead);
             copyRows(layer.sequence, of.width, keyGrad, qkv + places.k,
                      places.stride);
             copyRows(layer.sequence, of.width, valueGrad, qkv + places.v,
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
