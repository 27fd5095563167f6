//===- ModelPlans.h - Stages and replicas of a model ------------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#ifndef RONDO_PLANNING_MODEL_MODELPLANS_H
#define RONDO_PLANNING_MODEL_MODELPLANS_H

#include "planning/model/ModelSpace.h"

#include <cstdint>
#include <optional>
#include <vector>

namespace rondo {

/// The plan of a chain planner for micro-batches of `microbatchSamples`. A
/// stage has at most `maxReplicas` ranks, 1 to `microbatchSamples`; further
/// ranks stay idle.
ModelPlan modelPlanOf(const ChainPlan &chain, int64_t microbatchSamples,
                      int64_t maxReplicas, KeptLayers layers);

/// Stages that are given, for micro-batches of `samples`.
struct CutStages {
  int64_t samples = 1;
  /// The first layer of each stage.
  const std::vector<int32_t> &begins;
  int32_t chunks = 1;
  const KeptLayers &layers;
};
/// The stages, each on the number of ranks that the cluster has for it.
ModelPlan planOfCut(const ChainProblem &chain, const CutStages &cut);

/// Groups of all ranks, with as many each as most groups of the plan have, and
/// equal numbers of layers.
ModelPlan evenGroups(const ModelPlan &plan, const ChainProblem &chain);

/// The placement of the stages of each group of ranks.
struct ChunkPlacing {
  int32_t chunks = 2;
  /// In a V instead of a loop; only two.
  bool isV = false;
};
struct ChunkedPlan {
  ModelPlan plan;
  /// Work of one micro-batch on the busiest rank.
  int64_t busiestNs = 0;
};
/// The same groups with several stages each, cut so that the busiest rank has
/// the least work; nothing if there are too few layers or the layers do not
/// fit. `inFlight`, by layer: the number of micro-batches whose activations a
/// rank must have memory for; empty: one each.
std::optional<ChunkedPlan> inChunks(const ModelPlan &plan,
                                    const ChainProblem &chain,
                                    ChunkPlacing placing,
                                    const std::vector<double> &inFlight = {});

} // namespace rondo

#endif // RONDO_PLANNING_MODEL_MODELPLANS_H
