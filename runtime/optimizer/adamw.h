//===- adamw.h - AdamW, gradient norm, learning rate ------------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#ifndef RONDO_RUNTIME_OPTIMIZER_ADAMW_H
#define RONDO_RUNTIME_OPTIMIZER_ADAMW_H

#include <cstdint>

namespace rondo::runtime {

struct AdamWConfig {
  float beta1 = 0.9f;
  float beta2 = 0.95f;
  float epsilon = 1e-8f;
  /// Decoupled: weights shrink by learning rate times this. Only for matrices.
  float weightDecay = 0.1f;
};

/// Values that change between iterations. They are in control memory, so that
/// an iteration's work never depends on the host.
struct StepControl {
  /// Number of this optimizer step; the first is 1.
  int64_t step;
  float learningRate;
  /// Gradients are multiplied by this.
  float clipFactor;
};

/// One AdamW step (Loshchilov and Hutter 2019) on `count` elements, with bias
/// correction. `count` may be 0.
void adamw(const AdamWConfig &config, const StepControl *control, bool decay,
           int64_t count, float *weights, const float *gradients,
           float *moment1, float *moment2);

/// Sum of squares in fp64, always added in the same order.
double sumOfSquares(const float *values, int64_t count);

/// The factor that brings gradients of this norm to at most `maxNorm`: 1 if the
/// norm is small enough, or if maxNorm is 0 or less (no limit). Not finite if
/// the norm is not.
float clipFactor(double norm, double maxNorm);

/// Linear warm-up, then half a cosine down to a floor, where it stays.
struct LearningRateSchedule {
  double peak = 1e-3;
  double floor = 1e-4;
  int64_t warmupSteps = 0;
  /// Step that reaches the floor; 0: stay at the peak.
  int64_t decaySteps = 0;
};

/// The rate of a step; the first is 1. Depends on nothing else.
double learningRate(const LearningRateSchedule &schedule, int64_t step);

} // namespace rondo::runtime

#endif // RONDO_RUNTIME_OPTIMIZER_ADAMW_H
