//===- TimeShares.h - What an iteration's time goes to ----------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#ifndef RONDO_LOWERING_TIMESHARES_H
#define RONDO_LOWERING_TIMESHARES_H

#include "lowering/Lowering.h"

#include <array>

namespace rondo {

/// What the time of an iteration goes to.
enum class TimeShare : uint8_t {
  /// Work of a rank, on average over those that have any.
  Compute,
  /// What the busiest rank works beyond that.
  Imbalance,
  /// What the iteration takes beyond the busiest rank's work if messages and
  /// sums took no time: the pipeline fills and drains, or orders fit badly.
  Bubble,
  /// What messages add to that.
  Messages,
  /// What sums of gradients over the replicas of stages add to that.
  Sums,
};
inline constexpr int numTimeUses = 5;
/// `compute`, `imbalance`, `bubble`, `messages`, `all-reduce`.
const char *nameOf(TimeShare use);

/// In ns, by TimeShare; they sum to the program's time.
using TimeShares = std::array<int64_t, numTimeUses>;

/// Runs the pipeline of a schedule whose programs keep all rules with and
/// without its sums and messages. O(actions).
TimeShares timeShares(const PlanFigures &plan, const Problem &problem,
                      const Schedule &schedule);

/// The largest use other than compute; Compute where that is below a tenth.
TimeShare bindingShare(const TimeShares &shares);

} // namespace rondo

#endif // RONDO_LOWERING_TIMESHARES_H
