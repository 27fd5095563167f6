//===- Bounds.h - Times that no schedule beats ------------------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Lower bounds of a problem's objective, one file per argument under bounds/.
// Each holds for any graph of stages under memory caps, links with latency and
// serial bandwidth, any placement and stages of different cost. They relax the
// simulator's rules, so none needs a schedule.
//
//===----------------------------------------------------------------------===//

#ifndef RONDO_SCHEDULE_BOUNDS_BOUNDS_H
#define RONDO_SCHEDULE_BOUNDS_BOUNDS_H

#include "schedule/model/Problem.h"

#include <vector>

namespace rondo {

/// No schedule has an objective below `ns`. `name` is the argument's: "L1".
struct Bound {
  int64_t ns = 0;
  const char *name = "L1";
};

/// One argument. It bounds the problem's own objective and returns 0 if it
/// proves nothing. `ceiling` is the objective of a known schedule (int64_t's
/// maximum if there is none); an argument that searches may stop there and
/// return it. `effort` limits the work of such an argument, in labels.
struct BoundArgument {
  const char *name;
  const char *summary;
  int64_t (*compute)(const Problem &, int64_t ceiling, int64_t effort);
  /// Its time grows faster than the number of tasks.
  bool isSlow;
  /// Left out if there are more than `maxDetailedTasks`.
  bool seesAllTasks = false;
};

/// The table, fastest first.
const std::vector<BoundArgument> &boundArguments();

/// The best of L1 and L2, with its name. O(stages).
Bound roughBound(const Problem &problem);
/// The best of L1 to L4, with its name; the first of equals. O(tasks); beyond
/// `maxDetailedTasks` L3 proves nothing, and L4 only looks at the two ends.
Bound quickBound(const Problem &problem);
/// The best of all. With effort 0 the same as quickBound().
Bound bestBound(const Problem &problem, int64_t ceiling, int64_t effort);

inline constexpr int64_t maxDetailedTasks = 1000000;

} // namespace rondo

#endif // RONDO_SCHEDULE_BOUNDS_BOUNDS_H
