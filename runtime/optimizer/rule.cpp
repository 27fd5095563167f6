//===- rule.cpp - How a step changes weights: AdamW, SGD ------------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "runtime/optimizer/rule.h"

#include "runtime/base/thread_pool.h"
#include "runtime/base/vectorise.h"

#include <algorithm>
#include <cmath>

namespace rondo::runtime {

namespace {

/// The factors of one step, the same for every element.
struct Factors {
  float beta1, beta2, rest1, rest2, epsilon, clip;
  /// Learning rate with the first moment's correction.
  float rate;
  /// 1 / sqrt of the second moment's correction.
  float inverseRoot;
  /// 1 - learning rate * weight decay.
  float shrink;
};

RONDO_VECTORISE void update(const Factors &factors, int64_t count,
                            float *__restrict weights,
                            const float *__restrict gradients,
                            float *__restrict moment1,
                            float *__restrict moment2) {
  const Factors f = factors;
  for (int64_t i = 0; i < count; ++i) {
    float gradient = gradients[i] * f.clip;
    float first = f.beta1 * moment1[i] + f.rest1 * gradient;
    float second = f.beta2 * moment2[i] + f.rest2 * gradient * gradient;
    moment1[i] = first;
    moment2[i] = second;
    float root = std::sqrt(second) * f.inverseRoot + f.epsilon;
    weights[i] = weights[i] * f.shrink - f.rate * (first / root);
  }
}

} // namespace

void adamw(const AdamWConfig &config, const StepControl *control, bool decay,
           int64_t count, float *weights, const float *gradients,
           float *moment1, float *moment2) {
  const double step = static_cast<double>(control->step);
  const double rate = control->learningRate;
  Factors factors;
  factors.beta1 = config.beta1;
  factors.beta2 = config.beta2;
  factors.rest1 = 1 - config.beta1;
  factors.rest2 = 1 - config.beta2;
  factors.epsilon = config.epsilon;
  factors.clip = control->clipFactor;
  factors.rate =
      static_cast<float>(rate / (1 - std::pow(double(config.beta1), step)));
  factors.inverseRoot = static_cast<float>(
      1 / std::sqrt(1 - std::pow(double(config.beta2), step)));
  factors.shrink =
      decay ? static_cast<float>(1 - rate * config.weightDecay) : 1.0f;
  update(factors, count, weights, gradients, moment1, moment2);
}

RONDO_VECTORISE double sumOfSquares(const float *values, int64_t count) {
  return laneSum<double>(count, [=](int64_t i) {
    return static_cast<double>(values[i]) * static_cast<double>(values[i]);
  });
}

float clipFactor(double norm, double maxNorm) {
  if (!std::isfinite(norm))
    return static_cast<float>(norm);
  return maxNorm > 0 && norm > maxNorm ? static_cast<float>(maxNorm / norm) : 1;
}

double learningRate(const LearningRateSchedule &schedule, int64_t step) {
  if (step < schedule.warmupSteps)
    return schedule.peak * static_cast<double>(step) /
           static_cast<double>(schedule.warmupSteps);
  if (schedule.decaySteps <= 0)
    return schedule.peak;
  if (step >= schedule.decaySteps)
    return schedule.floor;
  const double pi = 3.14159265358979323846;
  double done = static_cast<double>(step - schedule.warmupSteps) /
                static_cast<double>(schedule.decaySteps - schedule.warmupSteps);
  return schedule.floor +
         0.5 * (schedule.peak - schedule.floor) * (1 + std::cos(pi * done));
}

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

namespace {

/// Elements [begin, begin + count).
void updatePart(const UpdateRule &rule, const StepControl *control,
                const UpdatedTensor &t, int64_t begin, int64_t count) {
  switch (rule.kind) {
  case OptimizerKind::AdamW:
    return adamw(rule.adamw, control, t.decay, count, t.weights + begin,
                 t.gradients + begin, t.moment1 + begin, t.moment2 + begin);
  case OptimizerKind::Sgd:
    return sgd(rule.sgd, control, t.decay, count, t.weights + begin,
               t.gradients + begin, t.moment1 ? t.moment1 + begin : nullptr);
  }
}

} // namespace

void update(const UpdateRule &rule, const StepControl *control,
            const UpdatedTensor &tensor) {
  if (!tensor.changes)
    return forRanges(tensor.count, 1, [&](int64_t first, int64_t some) {
      updatePart(rule, control, tensor, first, some);
    });
  // Few enough to stay in the first cache until they are compared.
  constexpr int64_t most = 2048;
  float before[most];
  for (int64_t begin = 0; begin < tensor.count; begin += most) {
    const int64_t count = std::min(most, tensor.count - begin);
    float *weights = tensor.weights + begin;
    std::copy(weights, weights + count, before);
    updatePart(rule, control, tensor, begin, count);
    keepChange(count, tensor.changeDecay, before, weights,
               tensor.changes + begin);
  }
}

void skipUpdate(const UpdatedTensor &tensor) {
  for (int64_t i = 0; tensor.changes && i < tensor.count; ++i)
    tensor.changes[i] *= tensor.changeDecay;
}

double changeDecay(double decay, double stepsApart) {
  return stepsApart > 0 ? std::pow(decay, 1 / stepsApart) : 0;
}

double delayFactor(double delay, int64_t step, int64_t annealSteps) {
  if (step >= annealSteps)
    return 1;
  const double power =
      1 - static_cast<double>(step) / static_cast<double>(annealSteps);
  return std::pow(std::max(delay, 1.0), -power);
}

RONDO_VECTORISE void keepChange(int64_t count, float decay,
                                const float *__restrict before,
                                const float *__restrict after,
                                float *__restrict changes) {
  const float rest = 1 - decay;
  for (int64_t i = 0; i < count; ++i)
    changes[i] = decay * changes[i] + rest * (after[i] - before[i]);
}

RONDO_VECTORISE void moveBack(int64_t count, float steps,
                              const float *__restrict weights,
                              const float *__restrict changes,
                              float *__restrict moved) {
  for (int64_t i = 0; i < count; ++i)
    moved[i] = weights[i] - steps * changes[i];
}

} // namespace rondo::runtime
