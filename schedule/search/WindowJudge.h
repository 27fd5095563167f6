//===- WindowJudge.h - Costs of an order in a long run ----------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#ifndef RONDO_SCHEDULE_SEARCH_WINDOWJUDGE_H
#define RONDO_SCHEDULE_SEARCH_WINDOWJUDGE_H

#include "schedule/search/WindowSearch.h"

namespace rondo {

/// Measures orders of one problem and its policies over windows that are long
/// enough to settle, whatever the length of the problem's own window.
class WindowJudge {
public:
  /// Writes an order for a window of any number of iterations.
  using Write = std::function<Schedule(const Problem &)>;

  WindowJudge(const Problem &window, const PolicyChoice &policy,
              int64_t maxDelay);

  /// Nothing if a task would read a version that has not been made, or if the
  /// order deadlocks. Adds the number of tasks that were timed to `cost`.
  std::optional<WindowFigures> measure(const Write &write, int64_t &cost) const;
  /// Whether the caps and delays are kept.
  bool fits(const WindowFigures &figures) const;
  /// Whether `a` is better than `b`. Both must fit.
  static bool isBetter(const WindowFigures &a, const WindowFigures &b);
  /// The rank that exceeds its cap by the most bytes; -1: none.
  int32_t shortestRank(const WindowFigures &figures) const;
  /// [rank]: its cap minus the version bytes of these figures.
  std::vector<int64_t> capsOfActivations(const WindowFigures &figures) const;

  /// The problem's own window, with its policies and their limits.
  const Problem &window() const { return stated; }
  int64_t maxDelay() const { return limit; }

private:
  /// [rank]: see WindowFigures::versionBytes.
  std::vector<int64_t> versionBytes(const VersionAnalysis &versions) const;

  Problem stated;
  /// `stated` without limits on delays, to measure orders that exceed them.
  Problem unlimited;
  int64_t limit = anyDelay;
};

} // namespace rondo

#endif // RONDO_SCHEDULE_SEARCH_WINDOWJUDGE_H
