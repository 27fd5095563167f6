//===- gradient_check.h - Checks a body against its contract ----*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#ifndef RONDO_RUNTIME_BODIES_GRADIENT_CHECK_H
#define RONDO_RUNTIME_BODIES_GRADIENT_CHECK_H

#include "runtime/bodies/body.h"

#include <string>

namespace rondo::runtime {

struct GradientCheck {
  /// The first fault found; empty: none.
  std::string fault;
  /// The number of gradients compared.
  int32_t tensors = 0, inputs = 0;
};

/// Runs a layer's tasks on the CPU in fp32 with weights, inputs and an output
/// gradient made from `seed`. Compares the results of I and W with finite
/// differences of F along random directions, and fills each buffer with NaNs
/// when its content may be gone, so that reading it shows. Also detects writes
/// past the ends of buffers, gradients that W does not add to, results that
/// differ from run to run, and a B with other bits than I and W. A custom layer
/// that takes documents is also checked with a row of two, after
/// checkTakesDocuments(). `state` is
/// LayerArgs::state.
GradientCheck checkGradients(const LayerDesc &layer, const LayerBody &body,
                             uint64_t seed, void *state = nullptr);

} // namespace rondo::runtime

#endif // RONDO_RUNTIME_BODIES_GRADIENT_CHECK_H
