//===- custom.h - Bodies of custom layers -----------------------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#ifndef RONDO_RUNTIME_BODIES_CUSTOM_H
#define RONDO_RUNTIME_BODIES_CUSTOM_H

#include "runtime/bodies/body.h"
#include "runtime/bodies/rondo_body.h"

#include <string>

namespace rondo::runtime {

/// Throws Error if the body of a custom layer is written for another version of
/// rondo_body.h, lacks a function, does not run on the layer's target, does not
/// take its inputs, needs sizes other than the layer states, or describes
/// tensors that do not cover the weights one by one. Call this before anything
/// else is done with the layer.
void checkCustomLayer(const LayerDesc &layer);

struct Executable;
struct Options;

/// The checks of custom layers, which other programs do not link.
struct BodyCheck {
  /// --check-bodies; returns the exit code. Needs no state.
  int (*run)(const Executable &executable, const Options &options);
  /// checkCustomLayer().
  void (*checkLayer)(const LayerDesc &layer);
};

/// The sizes of a custom layer that are not those that its body needs, and
/// these; empty: they are.
std::string wrongSizes(const LayerDesc &layer);

/// Throws Error if a custom layer with documents = true has a body that does
/// not take rows of documents, or whose sizes are not in proportion to tokens.
/// Only programs with rows of documents link it.
void checkTakesDocuments(const LayerDesc &layer);

/// A task of a body.
using CustomTask = rondo_function rondo_functions::*;

/// Calls a task of the body, with `stream` instead of the one in the arguments.
/// Throws Error with the layer, the task and the micro-batch if it fails.
void runCustom(const LayerDesc &layer, const LayerArgs &args, CustomTask task,
               void *stream);

/// The function of a task on the layer's target; null: the body has none.
rondo_function customFunction(const LayerDesc &layer, CustomTask task);

/// `all` without the tasks that the layer's body may lack and does.
LayerBody tasksOf(const LayerDesc &layer, const LayerBody &all);

/// The state that load() of a custom layer's body has made for a rank. The
/// destructor calls unload().
class LoadedBody {
public:
  /// `layer` must outlive it. Throws Error if load() fails.
  LoadedBody(const LayerDesc &layer, int32_t rank, int32_t device);
  LoadedBody(const LoadedBody &) = delete;
  LoadedBody &operator=(const LoadedBody &) = delete;
  ~LoadedBody();

  void *get() const { return state; }

private:
  const LayerDesc &layer;
  void *state = nullptr;
};

} // namespace rondo::runtime

#endif // RONDO_RUNTIME_BODIES_CUSTOM_H
