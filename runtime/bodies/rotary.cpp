//===- rotary.cpp - Rotary positions --------------------------------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "runtime/bodies/rotary.h"

#include "runtime/base/vectorise.h"
#include "runtime/model/layouts.h"

namespace rondo::runtime {

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
  template void rotaryTable(const LayerDesc &, Real *, Real *);                \
  template void rotate(const LayerDesc &, int64_t, int64_t, Real,              \
                       const Real *, const Real *, Real *);
RONDO_INSTANTIATE(float)
RONDO_INSTANTIATE(double)

} // namespace rondo::runtime
