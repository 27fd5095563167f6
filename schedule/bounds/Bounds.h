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

#include <string>
#include <string_view>
#include <vector>

namespace rondo {

/// No schedule has an objective below `ns`. `name` is the published name of the
/// argument: "L1" for LB1, as JSON and the language write it.
struct Bound {
  int64_t ns = 0;
  const char *name = "L1";
};

/// The published name of a bound as texts for people write it: "LB1" for "L1",
/// since "L1" is also a rule of programs. Names such as "G1" stay.
std::string printedBound(std::string_view name);

/// The time complexity of an argument.
enum class BoundCost : uint8_t {
  /// O(stages).
  Stages,
  /// O(tasks).
  Tasks,
  /// Grows faster than the number of tasks; `effort` limits it.
  Labels,
  /// Proved by the search of orders alone.
  Orders,
};

/// One argument for a lower bound of the problem's objective, 0 if it proves
/// nothing. `ceiling` is the objective of a known schedule (int64_t's maximum
/// without one); an argument that searches may stop there and return it.
/// `effort` limits the work of such an argument, in labels.
struct BoundArgument {
  const char *name;
  const char *summary;
  /// Null for BoundCost::Orders.
  int64_t (*compute)(const Problem &, int64_t ceiling, int64_t effort);
  BoundCost cost;
  /// Skipped if there are more than `maxDetailedTasks` tasks.
  bool seesAllTasks = false;
  /// Counts gathers and reductions: only shardedBound() uses it.
  bool isOfShards = false;
};

/// The table of arguments. Among equal bounds of a group (L or G) the first one
/// is reported.
const std::vector<BoundArgument> &boundArguments();

/// The best argument of BoundCost::Stages. O(stages). This function and the
/// next two skip the argument that is named `without`. If any stage may copy to
/// its host, arguments that do not know copies use withLeastBytes().
Bound roughBound(const Problem &problem, std::string_view without = {});
/// The best bound up to BoundCost::Tasks. O(tasks). Beyond `maxDetailedTasks`
/// LB3 is 0, and LB4 uses only idle times and held bytes.
Bound quickBound(const Problem &problem, std::string_view without = {});
/// The best bound of all arguments. With effort 0 the same as quickBound().
Bound bestBound(const Problem &problem, int64_t ceiling, int64_t effort,
                std::string_view without = {});

inline constexpr int64_t maxDetailedTasks = 1000000;

} // namespace rondo

#endif // RONDO_SCHEDULE_BOUNDS_BOUNDS_H
