//===- phase.h - What a process of a run is doing ---------------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#ifndef RONDO_RUNTIME_LAUNCH_PHASE_H
#define RONDO_RUNTIME_LAUNCH_PHASE_H

#include "runtime/launch/world.h"

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

namespace rondo::runtime {

/// The parts of a run in which processes wait for each other.
enum class Phase : uint8_t {
  /// Finds process 0.
  Join,
  /// Opens the data.
  Data,
  /// Makes the connections that carry messages.
  Connect,
  /// Compares clocks with its peers.
  Meet,
  Iterate,
  /// Brings together what channels have measured.
  TakeTransfers,
  /// Changes the schedule.
  Switch,
  Save,
  /// Brings tensors to process 0.
  Gather,
  Leave,
};

/// As errors and --inject-fault write it: `take transfers`.
const char *nameOf(Phase phase);
std::optional<Phase> phaseNamed(const std::string &name);

/// Reports to the store, if there is one, that this process enters a phase.
void enter(const World &world, Phase phase);

/// `rank 3`, or `ranks 1, 2, 4 and 5 more`.
std::string ranksText(const std::vector<int32_t> &ranks);

} // namespace rondo::runtime

#endif // RONDO_RUNTIME_LAUNCH_PHASE_H
