//===- cores.h - The cores of a process -------------------------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#ifndef RONDO_RUNTIME_LAUNCH_CORES_H
#define RONDO_RUNTIME_LAUNCH_CORES_H

#include "runtime/launch/world.h"

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
};

/// The cores of this process.
AllowedCores allowedCores();

/// Number of cores that process `process` has for itself, at least 1: of each
/// core, an equal share for all processes that may use it, and no more than its
/// limit.
int ownCores(const std::vector<AllowedCores> &processes, size_t process);

/// ownCores() of this process. All processes call it.
int exchangeOwnCores(const World &world);

} // namespace rondo::runtime

#endif // RONDO_RUNTIME_LAUNCH_CORES_H
