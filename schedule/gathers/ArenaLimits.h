//===- ArenaLimits.h - Limits of what programs allocate ---------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#ifndef RONDO_SCHEDULE_GATHERS_ARENALIMITS_H
#define RONDO_SCHEDULE_GATHERS_ARENALIMITS_H

#include "schedule/model/Schedule.h"

#include <cstdint>
#include <functional>
#include <optional>
#include <vector>

namespace rondo {

/// Memory limits beyond a problem's caps: programs also allocate messages, and
/// place buffers in slots. Code that can lower schedules passes these functions
/// to code that cannot.
struct ArenaLimits {
  /// Bytes by rank that the programs of a legal schedule allocate; nullopt if
  /// unknown.
  std::function<std::optional<std::vector<int64_t>>(const Schedule &)> arenaOf;
  /// The same for a single schedule, which may be larger; may take seconds.
  std::function<std::optional<std::vector<int64_t>>(const Schedule &)>
      arenaOfOne;
  /// Whether the programs of a legal schedule run to their end with the
  /// launches in flight that a rank may have (L2, L6); empty: all do.
  std::function<bool(const Schedule &)> runs;
  /// [rank]: bytes that programs may allocate; noMemoryCap if there is no
  /// limit.
  std::vector<int64_t> devices;
};

} // namespace rondo

#endif // RONDO_SCHEDULE_GATHERS_ARENALIMITS_H
