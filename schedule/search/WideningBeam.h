//===- WideningBeam.h - Beams as wide as time allows ------------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#ifndef RONDO_SCHEDULE_SEARCH_WIDENINGBEAM_H
#define RONDO_SCHEDULE_SEARCH_WIDENINGBEAM_H

#include "schedule/search/Beam.h"

namespace rondo {

/// Beams of one state, then of more and more. Under a tight cap there are few
/// choices, so a beam gets far where the other methods do not.
class WideningBeam {
public:
  WideningBeam(const FlatProblem &flat, Incumbent &best, Budget &budget,
               Workers &workers)
      : flat(flat), best(best), budget(budget), workers(workers) {}

  /// Whether the next beam is worth its cost: as much as all before it or, if
  /// there are many tasks and the last one found nothing, a quarter of that. If
  /// there are few tasks, the last one is as wide as time and effort allow.
  bool isDue();
  /// Runs the next beam. True if it exhausted all choices, so that the best
  /// known result is optimal.
  bool run();

private:
  bool isLast();
  double speed() const;
  static constexpr double widening = 4;
  /// Up to this many, wide beams pay more often than they do not.
  static constexpr int64_t fewTasks = 400;
  /// A narrower last beam leaves too little to the other parts.
  static constexpr double widthWorthWhile = 64;
  const FlatProblem &flat;
  Incumbent &best;
  Budget &budget;
  Workers &workers;
  int64_t width = 1;
  bool hasFound = true;
  double last = 0;
  /// The most that the next beam costs; `never` before the first, and if
  /// nothing is left to search.
  int64_t cost = never;
};

} // namespace rondo

#endif // RONDO_SCHEDULE_SEARCH_WIDENINGBEAM_H
