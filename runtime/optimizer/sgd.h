//===- sgd.h - Gradient descent with momentum -------------------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#ifndef RONDO_RUNTIME_OPTIMIZER_SGD_H
#define RONDO_RUNTIME_OPTIMIZER_SGD_H

#include "runtime/optimizer/adamw.h"

#include <cstdint>

namespace rondo::runtime {

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

} // namespace rondo::runtime

#endif // RONDO_RUNTIME_OPTIMIZER_SGD_H
