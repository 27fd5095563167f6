//===- PlanShape.h - Placements of a model ----------------------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#ifndef RONDO_PLANNING_PLANSHAPE_H
#define RONDO_PLANNING_PLANSHAPE_H

#include <cstdint>
#include <string>
#include <vector>

namespace rondo {

/// The placement of the chunks of each rank; see schedule/families/Placement.h.
enum class Placing : uint8_t { AsWritten, Linear, Interleaved, V, Wave };

/// The placement of a model on its cluster, and the number of micro-batches of
/// an iteration.
struct PlanShape {
  Placing placing = Placing::AsWritten;
  /// Stages per rank.
  int32_t chunks = 1;
  int64_t microbatches = 1;
  /// Each rank must have memory for the activations of this many micro-batches.
  /// Not part of the name.
  int64_t held = 1;
  /// Beam width of partitionLayers(): the number of cuts of the first layers
  /// that it keeps.
  int64_t maxLabels = 2000;
  /// The first stages recompute all their layers, as many as this, in addition
  /// to those that do as written.
  int32_t recomputed = 0;

  /// `interleaved v=2 m=16`, `v m=8, first 2 recompute`.
  std::string text() const;
};

/// The requested shapes.
struct ShapeChoice {
  /// Empty: every placing, and the plan as written.
  std::vector<Placing> placings;
  /// Stages per rank; empty: 1 to 4.
  std::vector<int32_t> chunks;
  /// Empty: the plan's number.
  std::vector<int64_t> microbatches;
  /// The stages stay as written; only micro-batches change.
  bool onlyAsWritten = false;
};

/// Appends shapes whose first stages recompute: one stage to all, in at most
/// `maxRecomputed` steps. `written`: number of stages of the plan as written.
void appendRecomputed(std::vector<PlanShape> &shapes, int64_t ranks,
                      int64_t written);
inline constexpr int64_t maxRecomputed = 8;

/// The sensible shapes of a choice for `ranks` ranks: a linear placing has one
/// chunk, a V two, a wave an even number. The plan as written comes first.
/// Empty if none is sensible.
std::vector<PlanShape> shapesOf(const ShapeChoice &choice, int64_t ranks,
                                int64_t microbatches);

} // namespace rondo

#endif // RONDO_PLANNING_PLANSHAPE_H
