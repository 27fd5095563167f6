//===- TorchtitanModels.h - Configurations of torchtitan --------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// torchtitan's flags have no sizes of a model: --module and --config name a
// function that makes it. test/clients/command_lines.py compares this table
// with torchtitan's own.
//
//===----------------------------------------------------------------------===//

#ifndef RONDO_FORMATS_LAUNCH_TORCHTITANMODELS_H
#define RONDO_FORMATS_LAUNCH_TORCHTITANMODELS_H

#include "planning/groups/Run.h"

#include "llvm/ADT/ArrayRef.h"

namespace rondo::launch {

/// A configuration and what it sets, which flags override.
struct TorchtitanModel {
  const char *module = "";
  const char *config = "";
  groups::Transformer sizes;
  groups::Precision precision = groups::Precision::Bf16;
  /// Samples of a replica's step.
  int64_t localBatch = 8;
  int64_t tensor = 1;
  int64_t expert = 1;
  bool isInterleaved = false;
  groups::Recompute recompute = groups::Recompute::PerOperation;
  bool isCompiled = false;
  bool overlapsTensor = false;
  bool disablesGraphs = false;
  /// The longest sequence of its rotary positions.
  int64_t maxSequence = 131072;
};

/// `sizes.sequence` is the configuration's.
llvm::ArrayRef<TorchtitanModel> torchtitanModels();

/// Whether two models have the same layers and vocabulary.
bool haveSameLayers(const groups::Transformer &a, const groups::Transformer &b);

} // namespace rondo::launch

#endif // RONDO_FORMATS_LAUNCH_TORCHTITANMODELS_H
