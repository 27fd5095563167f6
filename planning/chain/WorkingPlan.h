//===- WorkingPlan.h - A plan that changes in small steps -------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#ifndef RONDO_PLANNING_CHAIN_WORKINGPLAN_H
#define RONDO_PLANNING_CHAIN_WORKINGPLAN_H

#include "planning/chain/ChainCosts.h"

namespace rondo {

/// A plan in flat arrays that caches the links of its groups, so that times
/// after a small change are cheap. Assigning one to another of the same problem
/// does not allocate.
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
  /// Groups are numbered like stages; the group after the last stage holds the
  /// idle devices.
  int32_t numDevices(int32_t group) const {
    return devicesEnd(group) - devicesBegin(group);
  }
  const int32_t *devices(int32_t group) const {
    return row.data() + devicesBegin(group);
  }

  /// Moves the boundary after a stage; a layer must be left on both sides.
  void moveBoundary(int32_t stage, int32_t layers) {
    stages[stage].end += layers;
  }
  /// Moves a device, by its place in its group, to another group.
  void moveDevice(int32_t from, int32_t place, int32_t to);
  void swapDevices(int32_t group, int32_t place, int32_t other,
                   int32_t otherPlace);
  /// Two stages exchange all devices.
  void swapGroups(int32_t stage, int32_t other);
  /// Splits a stage: its first `layers` layers get its first `count` devices,
  /// or its last ones if `toLast`.
  void split(int32_t stage, int32_t layers, int32_t count, bool toLast);
  /// Merges a stage with the next one.
  void merge(int32_t stage);
  /// Sorts the devices of each group by `place[device]`.
  void sortDevices(const std::vector<int32_t> &place);

  /// Writes the times of all stages.
  void times(const ChainProblem &problem, const ChainCosts &costs,
             std::vector<StageNs> &result);
  /// Memory of the fullest device.
  int64_t memoryBytes(const ChainCosts &costs) const;
  /// The memory that the largest device must have so that all devices have
  /// enough, since each has ChainProblem::memoryLess less. At least
  /// memoryBytes().
  int64_t neededBytes(const ChainProblem &problem,
                      const ChainCosts &costs) const;

  /// Whether both have the same stages, and the same devices in the same order.
  bool operator==(const WorkingPlan &other) const;

private:
  struct Stage {
    /// Ends of its layers, and of its devices in `row`.
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
  /// Invalidates the links of a group that has changed.
  void forget(int32_t group);

  std::vector<Stage> stages;
  /// All devices: those of each stage, then the idle ones.
  std::vector<int32_t> row;
};

} // namespace rondo

#endif // RONDO_PLANNING_CHAIN_WORKINGPLAN_H
