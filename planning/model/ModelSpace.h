//===- ModelSpace.h - Ways to lay a model on a cluster ----------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#ifndef RONDO_PLANNING_MODEL_MODELSPACE_H
#define RONDO_PLANNING_MODEL_MODELSPACE_H

#include "lowering/Lowering.h"
#include "planning/chain/ChainProblem.h"

#include <functional>
#include <string>
#include <vector>

namespace rondo {

/// One way to lay a model on a cluster. A group of ranks may have several
/// stages, its chunks; no rank is in two groups.
struct ModelPlan {
  /// Of a micro-batch.
  int64_t samples = 1;
  /// In pipeline order. A stage has no more devices, which are ranks, than a
  /// micro-batch has samples.
  std::vector<ChainStage> stages;
  /// By layer: whether its forward runs again in front of its backward.
  std::vector<bool> recomputes;
  /// Stages of each group; with two, in a loop or in a V.
  int32_t chunks = 1;
  bool isV = false;

  int32_t numGroups() const {
    return static_cast<int32_t>(stages.size()) / chunks;
  }
  int32_t numRanks() const;
};

inline bool operator==(const ModelPlan &a, const ModelPlan &b) {
  return a.samples == b.samples && a.stages == b.stages &&
         a.recomputes == b.recomputes;
}

/// A plan with its costs and buffers, as the simulator and lowering know it.
struct LaidPlan {
  /// The name that its maker knows it by.
  size_t id = 0;
  ModelPlan plan;
  /// It has passed check(). Its caps are what is left of each device beside the
  /// state of its stages.
  Problem problem;
  PlanFigures figures;
};

/// All plans of one model on one cluster.
struct ModelSpace {
  std::string name;
  int32_t ranks = 0, layers = 0;
  /// How many of the slowest rank's device all ranks are worth.
  double slowestDevices = 1;
  int32_t fastestRank = 0;
  /// Of an iteration.
  int64_t samples = 0;
  /// By layer: whether recomputation is worth a thought.
  std::vector<bool> mayRecompute;
  /// What the chain planner is given for micro-batches of so many samples.
  /// `microbatchSamples` divides `samples`. ChainProblem::samples is the
  /// maximum number of replicas of a stage.
  std::function<Result<ChainProblem>(int64_t microbatchSamples,
                                     const std::vector<bool> &recomputes)>
      chain;
  /// What the layers of such a micro-batch take on the slowest device at least,
  /// in whatever shares its samples are run.
  std::function<double(int64_t microbatchSamples)> leastWorkNs;
  std::function<Result<LaidPlan>(const ModelPlan &)> make;
};

} // namespace rondo

#endif // RONDO_PLANNING_MODEL_MODELSPACE_H
