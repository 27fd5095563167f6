//===- WideningBeam.h - Beams as wide as time allows ------------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#ifndef RONDO_SCHEDULE_SEARCH_WIDENINGBEAM_H
#define RONDO_SCHEDULE_SEARCH_WIDENINGBEAM_H

#include "schedule/search/Beam.h"

namespace rondo {

/// Runs a beam of width 1, then wider and wider ones. Under a tight cap there
/// are few choices, so a beam finds schedules that the other methods miss.
class WideningBeam {
public:
  WideningBeam(const FlatProblem &flat, Incumbent &best, Budget &budget,
               Workers &workers)
      : flat(flat), best(best), budget(budget), workers(workers) {}

  /// Whether the next beam is worth its cost: less than the search has used so
  /// far or, if there are more than `fewTasks` tasks and the last beam found
  /// nothing, less than a quarter of that. With at most `fewTasks` tasks, the
  /// last beam is as wide as time and effort allow.
  bool isDue();
  /// Runs the next beam. True if it exhausted its tree, so that the best known
  /// result is optimal.
  bool run();

private:
  bool isLast();
  double speed() const;
  static constexpr double widening = 4;
  /// Up to this many tasks, wide beams usually pay off.
  static constexpr int64_t fewTasks = 400;
  /// The least width for which a last beam is worth what it takes from the
  /// other parts.
  static constexpr double widthWorthWhile = 64;
  const FlatProblem &flat;
  Incumbent &best;
  Budget &budget;
  Workers &workers;
  int64_t width = 1;
  bool hasFound = true;
  double last = 0;
  /// Upper estimate of the next beam's cost in tasks; `never` before the first
  /// beam, and if nothing is left to search.
  int64_t cost = never;
};

} // namespace rondo

#endif // RONDO_SCHEDULE_SEARCH_WIDENINGBEAM_H
