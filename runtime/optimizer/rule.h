//===- rule.h - How a step changes weights: AdamW, SGD ----------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#ifndef RONDO_RUNTIME_OPTIMIZER_RULE_H
#define RONDO_RUNTIME_OPTIMIZER_RULE_H

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

struct SgdConfig {
  /// 0: the step follows the gradient alone.
  float momentum = 0.9f;
  /// As in AdamW.
  float weightDecay = 0.1f;
};

/// One step on `count` elements, which may be 0: the moment is momentum times
/// itself plus the gradient, and weights go down along it. Without a moment,
/// they go down along the gradient.
void sgd(const SgdConfig &config, const StepControl *control, bool decay,
         int64_t count, float *weights, const float *gradients, float *moment);

enum class OptimizerKind : uint8_t { AdamW, Sgd };

/// The optimizer of a run.
struct UpdateRule {
  OptimizerKind kind = OptimizerKind::AdamW;
  AdamWConfig adamw;
  SgdConfig sgd;
};

/// `adamw`, `sgd`: the word of --optimizer and of checkpoints.
constexpr const char *nameOf(OptimizerKind kind) {
  return kind == OptimizerKind::Sgd ? "sgd" : "adamw";
}

/// A tensor of a step.
struct UpdatedTensor {
  int64_t count;
  bool decay;
  float *weights;
  const float *gradients;
  /// SGD does not use the second, and without momentum needs none.
  float *moment1, *moment2;
  /// The running mean of the weights' changes; null: it is not kept.
  float *changes = nullptr;
  /// Decay of the mean change: the part of it that a step keeps.
  float changeDecay = 0;
};

/// One step on a tensor, on a CPU.
void update(const UpdateRule &rule, const StepControl *control,
            const UpdatedTensor &tensor);
/// A step that is skipped: the weights have not changed.
void skipUpdate(const UpdatedTensor &tensor);

/// Part of the mean change of weights that a step keeps. The mean then covers
/// about the number of steps between forward and backward: decay^(1 / steps).
/// 0, the last change alone, if they are not apart.
double changeDecay(double decay, double stepsApart);

/// The factor of a stage's learning rate at optimizer step `step`, the first of
/// which is 0: small while weights that `delay` steps old make large errors,
/// and 1 after `annealSteps`. Delays below 1 change nothing.
double delayFactor(double delay, int64_t step, int64_t annealSteps);

/// The mean of changes after a step of weights from `before` to `after`.
void keepChange(int64_t count, float decay, const float *before,
                const float *after, float *changes);

/// moved[i] = weights[i] - steps * changes[i].
void moveBack(int64_t count, float steps, const float *weights,
              const float *changes, float *moved);

} // namespace rondo::runtime

#endif // RONDO_RUNTIME_OPTIMIZER_RULE_H
