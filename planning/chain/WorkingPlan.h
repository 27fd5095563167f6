//===- WorkingPlan.h - A plan that changes in small steps -------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#ifndef RONDO_PLANNING_CHAIN_WORKINGPLAN_H
#define RONDO_PLANNING_CHAIN_WORKINGPLAN_H

#include "planning/chain/ChainCosts.h"

namespace rondo {

/// A plan in flat arrays, which remembers the links of its groups: after a
/// small change its times cost little. Assigning one to another of the same
/// problem does not allocate.
class WorkingPlan {
public:
  WorkingPlan() = default;
  WorkingPlan(const ChainProblem &problem, const ChainPlan &plan);

  ChainPlan plan() const;
  int32_t numStages() const { return static_cast<int32_t>(stages.size()); }
  int32_t first(int32_t stage) const {
    return stage == 0 ? 0 : stages[stage - 1].end;
  }
  int32_t end(int32_t stage) const { return stages[stage].end; }
  /// The group behind the last stage is the idle devices.
  int32_t numDevices(int32_t group) const {
    return devicesEnd(group) - devicesBegin(group);
  }
  const int32_t *devices(int32_t group) const {
    return row.data() + devicesBegin(group);
  }

  /// Moves the boundary behind a stage, which must leave a layer on both sides.
  void moveBoundary(int32_t stage, int32_t layers) {
    stages[stage].end += layers;
  }
  /// Moves a device, by its place in its group, to another group.
  void moveDevice(int32_t from, int32_t place, int32_t to);
  void swapDevices(int32_t group, int32_t place, int32_t other,
                   int32_t otherPlace);
  /// Two stages exchange all devices.
  void swapGroups(int32_t stage, int32_t other);
  /// Divides a stage: its first `layers` layers go to its first `count`
  /// devices, or to its last ones.
  void split(int32_t stage, int32_t layers, int32_t count, bool toLast);
  /// A stage takes in the next one.
  void merge(int32_t stage);
  /// Orders the devices of each group by `place`, by device.
  void sortDevices(const std::vector<int32_t> &place);

  /// Writes the times of all stages.
  void times(const ChainProblem &problem, const ChainCosts &costs,
             std::vector<StageNs> &result);
  /// Of the fullest device.
  int64_t memoryBytes(const ChainCosts &costs) const;
  /// What the largest device must have so that every device has enough: each
  /// has ChainProblem::memoryLess less. At least memoryBytes().
  int64_t neededBytes(const ChainProblem &problem,
                      const ChainCosts &costs) const;

  /// Whether both have the same stages and groups; devices in the same order.
  bool operator==(const WorkingPlan &other) const;

private:
  struct Stage {
    /// Layers and places in `row`.
    int32_t end = 0, devicesEnd = 0;
    GroupLink within, toNext;
    GroupDevice weakest;
    bool knowsWithin = false, knowsNext = false;
  };
  int32_t devicesBegin(int32_t group) const {
    return group == 0 ? 0 : stages[group - 1].devicesEnd;
  }
  int32_t devicesEnd(int32_t group) const {
    return group == numStages() ? static_cast<int32_t>(row.size())
                                : stages[group].devicesEnd;
  }
  /// Forgets the links of a group that has changed.
  void forget(int32_t group);

  std::vector<Stage> stages;
  /// All devices: those of each stage, then the idle ones.
  std::vector<int32_t> row;
};

} // namespace rondo

#endif // RONDO_PLANNING_CHAIN_WORKINGPLAN_H
