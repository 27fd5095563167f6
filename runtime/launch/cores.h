//===- cores.h - The cores of a process -------------------------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#ifndef RONDO_RUNTIME_LAUNCH_CORES_H
#define RONDO_RUNTIME_LAUNCH_CORES_H

#include "runtime/launch/world.h"

#include <cstdint>
#include <string>
#include <vector>

namespace rondo::runtime {

/// The cores that a process may use.
struct AllowedCores {
  /// Equal in processes of one machine; empty if unknown.
  std::string machine;
  /// Their numbers there.
  std::vector<int> cores;
  /// Slurm's number for each task; 0: none.
  int limit = 0;
  /// The processor time that a control group allows, in cores, and the group's
  /// number on the machine. Its processes share the time; 0: no limit.
  double quota = 0;
  uint64_t quotaGroup = 0;

  /// Number of cores that are in use at the same time, at least 1.
  int count() const;
};

/// The cores of this process.
AllowedCores allowedCores();

/// Sets the quota and its group to the smallest of this process's control group
/// and those around it. `groups` is what /proc/self/cgroup contains, `root` the
/// folder of control groups. Handles versions 1 and 2 (`cpu.cfs_quota_us` and
/// `cpu.max`).
void readQuota(const std::string &groups, const std::string &root,
               AllowedCores &allowed);

/// Number of cores that process `process` has for itself, at least 1: of each
/// core, an equal share for all processes that may use it, no more than an
/// equal share of its group's quota, and no more than its limit.
int ownCores(const std::vector<AllowedCores> &processes, size_t process);

/// ownCores() of this process. All processes call it.
int exchangeOwnCores(const World &world);

} // namespace rondo::runtime

#endif // RONDO_RUNTIME_LAUNCH_CORES_H
