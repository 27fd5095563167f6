//===- PlanShape.h - Ways to lay a model on a cluster -----------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#ifndef RONDO_PLANNING_PLANSHAPE_H
#define RONDO_PLANNING_PLANSHAPE_H

#include <cstdint>
#include <string>
#include <vector>

namespace rondo {

/// Where the chunks of each rank lie; see schedule/families/Placement.h.
enum class Placing : uint8_t { AsWritten, Linear, Interleaved, V, Wave };

/// How a model lies on its cluster, and into how many micro-batches the samples
/// of an iteration are cut.
struct PlanShape {
  Placing placing = Placing::AsWritten;
  /// Stages of each rank.
  int32_t chunks = 1;
  int64_t microbatches = 1;
  /// So many must find room on every rank, with their activations; not part of
  /// the name.
  int64_t held = 1;
  /// For partitionLayers(): how many cuts of the first layers are kept.
  int64_t maxLabels = 2000;

  /// `interleaved v=2 m=16`.
  std::string text() const;
};

/// Which shapes are wanted.
struct ShapeChoice {
  /// Empty: every placing, and the plan as it is written.
  std::vector<Placing> placings;
  /// Stages of each rank; empty: 1, 2 and 4.
  std::vector<int32_t> chunks;
  /// Empty: as many as the plan has.
  std::vector<int64_t> microbatches;
  /// The stages stay as they are written; only micro-batches change.
  bool onlyAsWritten = false;
};

/// The shapes of a choice for `ranks` ranks that make sense: a linear placing
/// has one chunk, a V two, a wave an even number. The plan as it is written
/// comes first. Empty where none of them does.
std::vector<PlanShape> shapesOf(const ShapeChoice &choice, int64_t ranks,
                                int64_t microbatches);

} // namespace rondo

#endif // RONDO_PLANNING_PLANSHAPE_H
