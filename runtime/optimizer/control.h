//===- control.h - What a stage's control buffer holds ----------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The control buffer holds everything but weights that changes between
// iterations, so that an iteration reads nothing from the host.
//
//===----------------------------------------------------------------------===//

#ifndef RONDO_RUNTIME_OPTIMIZER_CONTROL_H
#define RONDO_RUNTIME_OPTIMIZER_CONTROL_H

#include "runtime/model/stage_sizes.h"
#include "runtime/optimizer/rule.h"

#include <cstdint>

namespace rondo::runtime {

/// The start of each stage's control buffer.
struct ControlHeader {
  /// Step number and learning rate are written before an iteration, the clip
  /// factor by the norm's collective.
  StepControl step;
  /// Global norm of the gradients, before clipping; not a number if the program
  /// computes none.
  double norm;
  /// 0: a gradient was not finite, and the optimizer step is skipped.
  int32_t isFinite;
  /// Iterations of the training before this one; -1: it is none.
  int64_t before;
};
static_assert(sizeof(ControlHeader) <= controlHeaderBytes);

/// The parts of one stage's control buffer.
struct ControlView {
  ControlHeader *header = nullptr;
  /// Sums of squares of tensors, partialsOf() places for each layer.
  double *partials = nullptr;
  /// One entry per micro-batch; only in the stage that has the head.
  float *losses = nullptr;
  /// The starts of the documents of all micro-batches; null if tasks read them
  /// in the host's memory, or take samples.
  int32_t *starts = nullptr;
};

/// `numLosses`: 0 in a stage without a head.
inline ControlView controlView(char *buffer, int64_t numPartials,
                               int64_t numLosses, bool hasStarts) {
  char *partials = buffer + controlHeaderBytes;
  ControlView view;
  view.header = reinterpret_cast<ControlHeader *>(buffer);
  view.partials = reinterpret_cast<double *>(partials);
  view.losses =
      reinterpret_cast<float *>(partials + alignedBytes(8 * numPartials));
  if (hasStarts)
    view.starts = reinterpret_cast<int32_t *>(
        reinterpret_cast<char *>(view.losses) + alignedBytes(4 * numLosses));
  return view;
}

} // namespace rondo::runtime

#endif // RONDO_RUNTIME_OPTIMIZER_CONTROL_H
