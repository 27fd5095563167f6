//===- WindowJudge.h - What an order costs in a long run --------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#ifndef RONDO_SCHEDULE_SEARCH_WINDOWJUDGE_H
#define RONDO_SCHEDULE_SEARCH_WINDOWJUDGE_H

#include "schedule/search/WindowSearch.h"

namespace rondo {

/// Judges orders of one problem and its policies over windows that are long
/// enough to settle, whatever the length of the problem's own.
class WindowJudge {
public:
  /// Writes an order for a window of any number of iterations.
  using Write = std::function<Schedule(const Problem &)>;

  WindowJudge(const Problem &window, const PolicyChoice &policy,
              int64_t maxDelay);

  /// Nothing where a task would read a version that is not made yet. `cost`
  /// grows by the tasks that were timed.
  std::optional<WindowFigures> measure(const Write &write, int64_t &cost) const;
  /// Within the caps and delays.
  bool fits(const WindowFigures &figures) const;
  /// Whether the first is better, of two that fit.
  static bool isBetter(const WindowFigures &a, const WindowFigures &b);
  /// The rank that lacks the most bytes; -1 if none does.
  int32_t shortestRank(const WindowFigures &figures) const;
  /// For each rank, its cap less the versions of these figures.
  std::vector<int64_t> capsOfActivations(const WindowFigures &figures) const;

  /// The problem's own window, with its policies and their limits.
  const Problem &window() const { return stated; }
  int64_t maxDelay() const { return limit; }

private:
  /// For each rank, see WindowFigures.
  std::vector<int64_t> versionBytes(const VersionAnalysis &versions) const;

  Problem stated;
  /// Without limits, so that what exceeds them is measured as well.
  Problem unlimited;
  int64_t limit = anyDelay;
};

} // namespace rondo

#endif // RONDO_SCHEDULE_SEARCH_WINDOWJUDGE_H
