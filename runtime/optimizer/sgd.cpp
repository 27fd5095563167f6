//===- sgd.cpp - Gradient descent with momentum ---------------------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "runtime/optimizer/sgd.h"

#include "runtime/base/vectorise.h"

namespace rondo::runtime {

namespace {

RONDO_VECTORISE void descend(float momentum, float clip, float rate,
                             float shrink, int64_t count,
                             float *__restrict weights,
                             const float *__restrict gradients,
                             float *__restrict moment) {
  for (int64_t i = 0; i < count; ++i) {
    const float next = momentum * moment[i] + gradients[i] * clip;
    moment[i] = next;
    weights[i] = weights[i] * shrink - rate * next;
  }
}

/// The same without a moment.
RONDO_VECTORISE void descendPlainly(float clip, float rate, float shrink,
                                    int64_t count, float *__restrict weights,
                                    const float *__restrict gradients) {
  for (int64_t i = 0; i < count; ++i)
    weights[i] = weights[i] * shrink - rate * (gradients[i] * clip);
}

} // namespace

void sgd(const SgdConfig &config, const StepControl *control, bool decay,
         int64_t count, float *weights, const float *gradients, float *moment) {
  const float rate = control->learningRate;
  const float shrink =
      decay ? static_cast<float>(1 - double(rate) * config.weightDecay) : 1.0f;
  if (!moment)
    return descendPlainly(control->clipFactor, rate, shrink, count, weights,
                          gradients);
  descend(config.momentum, control->clipFactor, rate, shrink, count, weights,
          gradients, moment);
}

} // namespace rondo::runtime
