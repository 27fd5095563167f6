//===- WhatIf.h - Makespans after changes of a problem ----------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#ifndef RONDO_SCHEDULE_SEARCH_WHATIF_H
#define RONDO_SCHEDULE_SEARCH_WHATIF_H

#include "schedule/model/Schedule.h"
#include "schedule/search/Search.h"

#include <cstdint>
#include <vector>

namespace rondo {

/// A change of the problem, and the resulting makespan.
struct WhatIf {
  enum class Change : uint8_t {
    /// All tasks of a stage take a tenth less.
    FasterStage,
    /// The link between two ranks has half its latency and twice its bandwidth.
    FasterLink,
    /// No change: another order of the same problem, found by a search.
    Search,
    /// All caps are a tenth larger: a search under these caps, compared with a
    /// search under the original ones.
    LargerCaps,
  };
  Change change;
  int32_t stage = -1, from = -1, to = -1;
  int64_t makespanNs = 0;
  /// The makespan to compare with: that of the schedule, except for LargerCaps.
  int64_t comparedNs = 0;

  int64_t gainNs() const { return comparedNs - makespanNs; }
};

/// Largest gain first; of equals, stages before links before searches. Orders
/// stay as they are, except in searches, which run if there are caps, one
/// iteration and no sharded stage. Deterministic. O(stages + links) simulations
/// and two searches of `effort`.
std::vector<WhatIf> whatIfs(const Problem &problem, const Schedule &schedule,
                            int64_t makespanNs, int64_t effort,
                            const std::atomic<bool> *interrupt = nullptr);

} // namespace rondo

#endif // RONDO_SCHEDULE_SEARCH_WHATIF_H
