//===- rule.h - How a step changes weights ----------------------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#ifndef RONDO_RUNTIME_OPTIMIZER_RULE_H
#define RONDO_RUNTIME_OPTIMIZER_RULE_H

#include "runtime/optimizer/adamw.h"
#include "runtime/optimizer/sgd.h"

#include <cstdint>

namespace rondo::runtime {

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

/// moved[i] = weights[i] - steps * changes[i].
void moveBack(int64_t count, float steps, const float *weights,
              const float *changes, float *moved);

} // namespace rondo::runtime

#endif // RONDO_RUNTIME_OPTIMIZER_RULE_H
