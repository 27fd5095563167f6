//===- StageCut.h - Layers of a run's stages --------------------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#ifndef RONDO_FORMATS_LAUNCH_STAGECUT_H
#define RONDO_FORMATS_LAUNCH_STAGECUT_H

#include "planning/groups/Run.h"

namespace rondo::launch {

enum class CutKind : uint8_t {
  /// All stages have the same number of layers.
  Even,
  /// So they have if the embedding and the head count as a layer each.
  EvenWithEnds,
  /// Any other numbers.
  Listed,
  /// The run lists no layers, and no even cut exists.
  Unknown,
};

struct StageCut {
  CutKind kind = CutKind::Unknown;
  /// Layers of each stage in the model's order; empty if unknown.
  std::vector<int64_t> layers;
};

/// The cut of `run.stageLayers`, or the even cut if it is empty.
StageCut cutOf(const groups::Run &run);

/// Sets `run.stageLayers`, empty if the run has this cut without a list.
void setStageLayers(groups::Run &run, std::vector<int64_t> layers);

/// Why the listed stages do not fit the model, one sentence; empty if they do.
std::string stageFault(const groups::Run &run);

} // namespace rondo::launch

#endif // RONDO_FORMATS_LAUNCH_STAGECUT_H
