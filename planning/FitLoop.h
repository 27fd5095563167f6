//===- FitLoop.h - Lower caps until a result fits ---------------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Searches and planners hold what they find against caps. What its programs
// allocate beyond that is known only after lowering. So each runs under caps,
// judges what it has found, and runs again under the caps that follow from the
// lack.
//
//===----------------------------------------------------------------------===//

#ifndef RONDO_PLANNING_FITLOOP_H
#define RONDO_PLANNING_FITLOOP_H

#include <cstdint>
#include <optional>
#include <utility>

namespace rondo {

/// Calls `attempt(number, caps)` with numbers from 0, first with the given
/// caps. It returns the caps of the next attempt, or nothing to end: because
/// what it has found fits, because there is nothing under these caps, or
/// because they cannot be lowered. Ends after `maxAttempts` attempts, or before
/// attempt 1 and later ones if `isOver(number)`.
template <typename Caps, typename IsOver, typename Attempt>
void lowerUntilFitting(Caps caps, int64_t maxAttempts, const IsOver &isOver,
                       const Attempt &attempt) {
  for (int64_t number = 0; number < maxAttempts; ++number) {
    if (number > 0 && isOver(number))
      return;
    std::optional<Caps> next = attempt(number, std::as_const(caps));
    if (!next)
      return;
    caps = std::move(*next);
  }
}

} // namespace rondo

#endif // RONDO_PLANNING_FITLOOP_H
