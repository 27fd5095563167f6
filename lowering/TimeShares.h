//===- TimeShares.h - Shares of an iteration's time -------------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#ifndef RONDO_LOWERING_TIMESHARES_H
#define RONDO_LOWERING_TIMESHARES_H

#include "lowering/Lowering.h"

#include <array>

namespace rondo {

/// A share of the time of an iteration.
enum class TimeShare : uint8_t {
  /// Mean work of the ranks that have any.
  Compute,
  /// The busiest rank's work minus the mean.
  Imbalance,
  /// Iteration time without messages and sums, minus the busiest rank's work:
  /// fill and drain of the pipeline, and waits inside the order.
  Bubble,
  /// Time that messages add.
  Messages,
  /// Time that sums of gradients over replicas add.
  Sums,
};
inline constexpr int numTimeUses = 5;
/// `compute`, `imbalance`, `bubble`, `messages`, `all-reduce`.
const char *nameOf(TimeShare use);

/// In ns, indexed by TimeShare. Their sum is the program's time.
using TimeShares = std::array<int64_t, numTimeUses>;

/// Simulates the pipeline of a schedule with and without its sums and messages.
/// All programs of the schedule must keep all rules. O(actions).
TimeShares timeShares(const PlanFigures &plan, const Problem &problem,
                      const Schedule &schedule);

/// The largest share other than Compute; Compute if that is below a tenth of
/// the time.
TimeShare bindingShare(const TimeShares &shares);

} // namespace rondo

#endif // RONDO_LOWERING_TIMESHARES_H
