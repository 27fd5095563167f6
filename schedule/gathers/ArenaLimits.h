//===- ArenaLimits.h - What programs may allocate ---------------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#ifndef RONDO_SCHEDULE_GATHERS_ARENALIMITS_H
#define RONDO_SCHEDULE_GATHERS_ARENALIMITS_H

#include "schedule/model/Schedule.h"

#include <cstdint>
#include <functional>
#include <optional>
#include <vector>

namespace rondo {

/// Whether a schedule fits, beyond a problem's caps: programs also allocate
/// messages, and lay buffers into slots. Whoever can lower schedules passes
/// this to those that cannot.
struct ArenaLimits {
  /// What the programs of a legal schedule allocate, in bytes by rank; nothing
  /// where that is not known.
  std::function<std::optional<std::vector<int64_t>>(const Schedule &)> arenaOf;
  /// The same of a single schedule, which may be larger; it may take seconds.
  std::function<std::optional<std::vector<int64_t>>(const Schedule &)>
      arenaOfOne;
  /// Whether the programs of a legal schedule run to their end, however few
  /// launches of a rank may be in flight (L2, L6); empty: all do.
  std::function<bool(const Schedule &)> runs;
  /// What they may allocate, by rank; noMemoryCap where there is no limit.
  std::vector<int64_t> devices;
};

} // namespace rondo

#endif // RONDO_SCHEDULE_GATHERS_ARENALIMITS_H
