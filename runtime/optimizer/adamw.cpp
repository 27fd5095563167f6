//===- adamw.cpp - AdamW, gradient norm, learning rate --------------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "runtime/optimizer/adamw.h"

#include "runtime/base/vectorise.h"

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

} // namespace rondo::runtime
