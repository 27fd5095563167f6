//===- ExposedCommunication.h - Delays from messages ------------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#ifndef RONDO_LOWERING_EXPOSEDCOMMUNICATION_H
#define RONDO_LOWERING_EXPOSEDCOMMUNICATION_H

#include "schedule/model/Schedule.h"
#include "schedule/simulate/Simulator.h"

#include <optional>

namespace rondo {

/// Makespans of one order of tasks, in ns. The exposed communication is how
/// much longer a program takes than the same order would if every message
/// arrived at once.
struct ExposedCommunication {
  /// Makespan if links have no latency and no occupancy, and nothing waits in a
  /// queue.
  int64_t freeNs = 0;
  /// Makespan of the program that insertCommunication() writes, under the
  /// problem's channels; empty if it cannot run to its end.
  std::optional<int64_t> perPairNs;
  /// The same program with one in-order queue per rank, whose sends end when
  /// they are received; empty if it cannot run to its end.
  std::optional<int64_t> ownPerRankNs;
  /// Makespan with messages placed as PyTorch does and one in-order queue per
  /// rank; empty if it cannot run to its end.
  std::optional<int64_t> perRankNs;
};

/// Lowers the schedule both ways and simulates the programs. Memory slots are
/// not planned, so no action waits for one. `simulation` is that of the
/// schedule, complete and with times. O(actions).
ExposedCommunication measureCommunication(const Problem &problem,
                                          const Schedule &schedule,
                                          const Simulation &simulation);

} // namespace rondo

#endif // RONDO_LOWERING_EXPOSEDCOMMUNICATION_H
