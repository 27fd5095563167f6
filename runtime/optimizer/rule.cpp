//===- rule.cpp - How a step changes weights ------------------------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "runtime/optimizer/rule.h"

#include "runtime/base/thread_pool.h"
#include "runtime/base/vectorise.h"

#include <algorithm>
#include <cmath>

namespace rondo::runtime {

namespace {

RONDO_VECTORISE void keepChange(float decay, int64_t count,
                                const float *__restrict before,
                                const float *__restrict after,
                                float *__restrict changes) {
  const float rest = 1 - decay;
  for (int64_t i = 0; i < count; ++i)
    changes[i] = decay * changes[i] + rest * (after[i] - before[i]);
}

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
    keepChange(tensor.changeDecay, count, before, weights,
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

RONDO_VECTORISE void moveBack(int64_t count, float steps,
                              const float *__restrict weights,
                              const float *__restrict changes,
                              float *__restrict moved) {
  for (int64_t i = 0; i < count; ++i)
    moved[i] = weights[i] - steps * changes[i];
}

} // namespace rondo::runtime
