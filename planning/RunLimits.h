//===- RunLimits.h - Limits of a planner's run ------------------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#ifndef RONDO_PLANNING_RUNLIMITS_H
#define RONDO_PLANNING_RUNLIMITS_H

#include "planning/Deadline.h"
#include "schedule/search/Search.h"

#include <atomic>
#include <utility>
#include <vector>

namespace rondo {

/// The time limit and the interrupt of a planner's run.
class RunLimits {
public:
  /// `interrupt` may be null; setting it ends the run.
  RunLimits(const Deadline &deadline, const std::atomic<bool> *interrupt)
      : deadline(deadline), interrupt(interrupt) {}

  bool isInterrupted() const { return interrupt && interrupt->load(); }
  /// Whether the part of the time (0 to 1) has passed, or the run is
  /// interrupted.
  bool isOver(double part = 1) const {
    return deadline.isOver(part) || isInterrupted();
  }
  /// Why a run that ends at this time ends.
  SearchStop stop(bool isProven) const {
    return isProven            ? SearchStop::Optimal
           : isInterrupted()   ? SearchStop::Interrupted
           : deadline.isOver() ? SearchStop::Time
                               : SearchStop::Exhausted;
  }

  const Deadline deadline;

private:
  const std::atomic<bool> *const interrupt;
};

/// Inserts a plan after all that are not worse, and drops the last one if there
/// are more than `most`. Returns the plan's place. O(plans).
template <typename Plan, typename IsBetter>
typename std::vector<Plan>::iterator
insertByRank(std::vector<Plan> &plans, Plan plan, const IsBetter &isBetter,
             size_t most = std::numeric_limits<size_t>::max()) {
  const auto place =
      plans.insert(std::upper_bound(plans.begin(), plans.end(), plan, isBetter),
                   std::move(plan));
  if (plans.size() > most)
    plans.pop_back();
  return place;
}

} // namespace rondo

#endif // RONDO_PLANNING_RUNLIMITS_H
