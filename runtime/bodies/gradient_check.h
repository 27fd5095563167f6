//===- gradient_check.h - Whether a body keeps its promises -----*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#ifndef RONDO_RUNTIME_BODIES_GRADIENT_CHECK_H
#define RONDO_RUNTIME_BODIES_GRADIENT_CHECK_H

#include "runtime/bodies/body.h"

#include <string>

namespace rondo::runtime {

struct GradientCheck {
  /// What is wrong, the first thing; empty: nothing.
  std::string fault;
  /// How many gradients were compared.
  int32_t tensors = 0, inputs = 0;
};

/// Runs a layer's tasks on the CPU in fp32 with weights, inputs and an output
/// gradient made from `seed`. Compares what I and W give with finite
/// differences of F along random directions, and fills each buffer with NaNs
/// where its content may be gone, so that a read of it shows. Also looks for
/// writes behind buffers, for gradients that W does not add to, and for results
/// that differ from one run to the next. The layer runs on the CPU.
GradientCheck checkGradients(const LayerDesc &layer, const LayerBody &body,
                             uint64_t seed);

} // namespace rondo::runtime

#endif // RONDO_RUNTIME_BODIES_GRADIENT_CHECK_H
