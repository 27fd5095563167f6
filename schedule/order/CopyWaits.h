//===- CopyWaits.h - Waits between the lanes of a rank ----------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// A rank's order is one list; each of its lanes keeps it. What actions on other
// lanes have to wait for follows from the list, so the memory of a rank follows
// from its own order alone, whatever the times are.
//
// Memory is counted along the list. An action that takes bytes counts as ended,
// of the releases listed before it: those of its own lane, those that it needs,
// and those that its lane has awaited already. If the sum exceeds the cap, it
// also awaits further releases listed before it, in list order, until it fits.
// Host memory is counted in the same way: SAVE takes at its start, LOAD
// releases at its end. A rank without a cap awaits nothing.
//
//===----------------------------------------------------------------------===//

#ifndef RONDO_SCHEDULE_ORDER_COPYWAITS_H
#define RONDO_SCHEDULE_ORDER_COPYWAITS_H

#include "schedule/model/Problem.h"
#include "schedule/model/Schedule.h"

#include <cstdint>
#include <optional>
#include <vector>

namespace rondo {

/// The waits of a schedule whose stages copy.
struct CopyWaits {
  /// Positions are those of the schedule's array of all actions. `awaited` from
  /// `begin[position]` to `begin[position + 1]`: the actions on other lanes of
  /// the same rank that must have ended before the one at `position` starts:
  /// first what it needs itself, then releases. Each once per lane that waits,
  /// which awaits it for all its later actions.
  std::vector<int64_t> begin, awaited;

  /// [rank]: the peak of the count along the list. For a rank without a cap, of
  /// which nothing is known without times, as if all releases listed before an
  /// action had ended.
  std::vector<int64_t> peakBytes, peakHostBytes;

  /// The first action of a rank's list at which all releases listed before it
  /// do not suffice; of the lowest rank that has one.
  struct Excess {
    int32_t rank = 0;
    int64_t position = 0; // in the rank's list
    int64_t heldBytes = 0;
  };
  std::optional<Excess> excess, hostExcess;
};

/// Preconditions: the rules S1 to S3 and S10. O(actions).
CopyWaits deriveCopyWaits(const Problem &problem, const Schedule &schedule);

/// Problem::nothingDoneYet(), but the copies of the schedule are not done.
/// O(actions) if it has copies. Precondition: S10.
std::vector<Done> progressAtStart(const Problem &problem,
                                  const Schedule &schedule);

} // namespace rondo

#endif // RONDO_SCHEDULE_ORDER_COPYWAITS_H
