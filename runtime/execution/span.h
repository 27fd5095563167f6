//===- span.h - Iterations that a program runs at once ----------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#ifndef RONDO_RUNTIME_EXECUTION_SPAN_H
#define RONDO_RUNTIME_EXECUTION_SPAN_H

#include "runtime/model/executable.h"
#include "runtime/optimizer/rule.h"

#include <cstdint>
#include <functional>

namespace rondo::runtime {

class WeightHistory;

/// For a reference of a pipeline whose iterations overlap: it reads the
/// versions of weights that the pipeline's tables name, and steps as the
/// pipeline steps.
struct Emulation {
  const ProgramDesc *pipeline = nullptr;
  /// Tables of the pipeline's overlapping iterations.
  const OverlapDesc *overlap = nullptr;
  /// The iteration that the reference runs, from 0 in the pipeline's run.
  int64_t iteration = 0;
  WeightHistory *history = nullptr;
};

/// A run of a program: what it begins with nothing under way, and ends so.
struct Span {
  /// More than 1 only where iterations overlap.
  int64_t iterations = 1;
  /// Iterations of the training before the first one. The rest is for steps of
  /// overlapping iterations; others read their rate in the control memory.
  int64_t before = 0;
  /// Seed of the training.
  uint64_t seed = 0;
  LearningRateSchedule rates;
  /// Writes a replica's samples of a micro-batch, numbered through the run, to
  /// memory of the host. Called before F and R by the thread of the replica's
  /// rank, for the slot that they read; if the device enqueues its work, called
  /// before the run. Null: they are there.
  std::function<void(int32_t replica, int64_t microbatch, char *to)> writeData;
  /// Iterations whose actions a trace keeps.
  int64_t tracedIterations = INT64_MAX;
  Emulation emulation;
};

} // namespace rondo::runtime

#endif // RONDO_RUNTIME_EXECUTION_SPAN_H
