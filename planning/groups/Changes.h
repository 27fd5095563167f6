//===- Changes.h - Changes of a run by their gain ---------------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#ifndef RONDO_PLANNING_GROUPS_CHANGES_H
#define RONDO_PLANNING_GROUPS_CHANGES_H

#include "planning/groups/GroupCosts.h"
#include "planning/groups/Run.h"

#include <string>
#include <vector>

namespace rondo::groups {

/// A run in which one decision is another.
struct Change {
  /// `pipeline stages of a rank: 5 instead of 1`.
  std::string what;
  Run run;
  IterationTime time;
  DeviceMemory memory;
};

/// The changes of one decision that keep the model, the devices and the samples
/// of an iteration, follow the rules, fit `memoryBytes`, and are faster than
/// the run; the fastest of each decision, fastest first, at most `count`.
std::vector<Change> bestChanges(const Run &run, const Machines &machines,
                                const Constants &constants, double memoryBytes,
                                size_t count);

} // namespace rondo::groups

#endif // RONDO_PLANNING_GROUPS_CHANGES_H
