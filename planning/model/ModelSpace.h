//===- ModelSpace.h - Plans of a model on a cluster -------------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#ifndef RONDO_PLANNING_MODEL_MODELSPACE_H
#define RONDO_PLANNING_MODEL_MODELSPACE_H

#include "lowering/Lowering.h"
#include "planning/chain/ChainProblem.h"
#include "planning/model/LeastTimes.h"

#include <cmath>
#include <functional>
#include <limits>
#include <string>
#include <vector>

namespace rondo {

/// A plan of a model on a cluster. A group of ranks may have several stages,
/// its chunks; no rank is in two groups.
struct ModelPlan {
  /// Samples of a micro-batch.
  int64_t samples = 1;
  /// In pipeline order. Devices are ranks; a stage has at most as many as a
  /// micro-batch has samples.
  std::vector<ChainStage> stages;
  /// [layer]: whether its forward runs again before its backward.
  std::vector<bool> recomputes;
  /// Whether the activations of the other layers may be copied to the host, on
  /// devices that have a link to it.
  bool offloads = false;
  /// Stages of each group; two are in a loop or, if `isV`, in a V. 0: groups
  /// have different numbers (Zigzag.h).
  int32_t chunks = 1;
  bool isV = false;

  /// [group]: its first stage. Groups are numbered in the order of their first
  /// stages.
  std::vector<int32_t> firstStages() const;
  int32_t numGroups() const {
    return static_cast<int32_t>(firstStages().size());
  }
  int32_t numRanks() const;
};

inline bool operator==(const ModelPlan &a, const ModelPlan &b) {
  return a.samples == b.samples && a.stages == b.stages &&
         a.recomputes == b.recomputes && a.offloads == b.offloads;
}

/// A plan with its costs and buffers, in the form of the simulator and of
/// lowering.
struct LaidPlan {
  /// Identifies the plan to its maker.
  size_t id = 0;
  ModelPlan plan;
  /// It has passed check(). Its caps are each device's memory less the state of
  /// its stages.
  Problem problem;
  PlanFigures figures;
};

/// The treatment of activations in the problem of a chain planner.
struct KeptLayers {
  /// [layer]
  std::vector<bool> recomputes;
  /// Layers that do not recompute hold the part of their activations that the
  /// host link is too slow to copy away and back while they work: an estimate.
  bool offloads = false;
};

/// All plans of one model on one cluster.
struct ModelSpace {
  std::string name;
  int32_t ranks = 0, layers = 0;
  /// Total compute of all ranks, in units of the slowest device.
  double slowestDevices = 1;
  int32_t fastestRank = 0;
  /// Samples of an iteration.
  int64_t samples = 0;
  /// [layer]: whether recomputation is worthwhile.
  std::vector<bool> mayRecompute;
  /// Time of a byte on the fastest link of a device to its host, in one
  /// direction; infinity: no device may copy to its host.
  double hostNsPerByte = std::numeric_limits<double>::infinity();
  bool mayOffload() const { return std::isfinite(hostNsPerByte); }
  /// The chain planner's problem for micro-batches of `microbatchSamples`
  /// samples, a divisor of `samples`. ChainProblem::samples is the maximum
  /// number of replicas of a stage.
  std::function<Result<ChainProblem>(int64_t microbatchSamples,
                                     const KeptLayers &layers)>
      chain;
  /// A lower bound of the time, in ns, that the layers take for such a
  /// micro-batch on the slowest device, however its samples are shared.
  std::function<double(int64_t microbatchSamples)> leastWorkNs;
  /// [layer]: the same of each of its tasks.
  std::function<std::vector<LeastTimes>(int64_t microbatchSamples)> leastTimes;
  std::function<Result<LaidPlan>(const ModelPlan &)> make;
};

} // namespace rondo

#endif // RONDO_PLANNING_MODEL_MODELSPACE_H
