//===- custom.h - Bodies of custom layers -----------------------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#ifndef RONDO_RUNTIME_BODIES_CUSTOM_H
#define RONDO_RUNTIME_BODIES_CUSTOM_H

#include "runtime/bodies/body.h"
#include "runtime/bodies/rondo_body.h"

namespace rondo::runtime {

/// Throws Error if the body of a custom layer is written for another version of
/// rondo_body.h, lacks a function, does not run on the layer's target, does not
/// take its inputs, needs sizes other than the layer states, or describes
/// tensors that do not cover the weights one by one. Call this before anything
/// else is done with the layer.
void checkCustomLayer(const LayerDesc &layer);

/// Calls a task of the body, with `stream` instead of the one in the arguments.
void runCustom(const LayerDesc &layer, const LayerArgs &args,
               rondo_function task, void *stream);

} // namespace rondo::runtime

#endif // RONDO_RUNTIME_BODIES_CUSTOM_H
