//===- Bounds.h - What no schedule can beat ---------------------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Lower bounds of a problem's objective, one file an argument under bounds/.
// Each holds for any graph of stages under memory caps, links with latency and
// serial bandwidth, any placement and stages of different cost. They are
// relaxations of the rules of the simulator, so none needs a schedule.
//
//===----------------------------------------------------------------------===//

#ifndef RONDO_SCHEDULE_BOUNDS_H
#define RONDO_SCHEDULE_BOUNDS_H

#include "schedule/Problem.h"

#include <vector>

namespace rondo {

/// No schedule has an objective below `ns`. `name` is the argument's: "L1".
struct Bound {
  int64_t ns = 0;
  const char *name = "L1";
};

/// One argument. It speaks of the problem's own objective and returns 0 where
/// it says nothing. `ceiling` is the objective of a schedule that is known
/// (int64_t's maximum where none is); an argument that searches may stop there
/// and return it. `effort` limits the work of such an argument, in labels.
struct BoundArgument {
  const char *name;
  const char *summary;
  int64_t (*compute)(const Problem &, int64_t ceiling, int64_t effort);
  /// Its time grows faster than the number of tasks.
  bool isSlow;
  /// It is left out where there are more than `maxDetailedTasks`.
  bool seesAllTasks = false;
};

/// The table, from the quickest to the slowest.
const std::vector<BoundArgument> &boundArguments();

/// The best of L1 and L2 and its name. O(stages).
Bound roughBound(const Problem &problem);
/// The best of L1 to L4 and its name; the first of equals. O(tasks); beyond
/// `maxDetailedTasks` L3 says nothing, and L4 looks at both ends alone.
Bound quickBound(const Problem &problem);
/// The best of all. With effort 0 the same as quickBound().
Bound bestBound(const Problem &problem, int64_t ceiling, int64_t effort);

inline constexpr int64_t maxDetailedTasks = 1000000;

} // namespace rondo

#endif // RONDO_SCHEDULE_BOUNDS_H
