//===- Run.h - A model, its layout, and what runs it ------------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#ifndef RONDO_PLANNING_GROUPS_RUN_H
#define RONDO_PLANNING_GROUPS_RUN_H

#include "planning/groups/Layout.h"

namespace rondo::groups {

/// All that the command line of a training run says, but for data and rates.
struct Run {
  std::string name;
  Transformer model;
  Layout layout;
  Execution execution;
  /// Layers of each stage, in the order of the model; empty: an even cut. There
  /// are `layout.pipeline * layout.chunks` stages, and stage s is on rank
  /// s % layout.pipeline.
  std::vector<int64_t> stageLayers;
};

} // namespace rondo::groups

#endif // RONDO_PLANNING_GROUPS_RUN_H
