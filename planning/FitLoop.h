//===- FitLoop.h - Lower caps until a result fits ---------------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Searches and planners know the caps on activations. The memory that programs
// allocate in addition is known only after lowering. So a search runs under
// caps, lowers its result, and runs again under lower caps that follow from the
// excess.
//
//===----------------------------------------------------------------------===//

#ifndef RONDO_PLANNING_FITLOOP_H
#define RONDO_PLANNING_FITLOOP_H

#include <cstdint>
#include <optional>
#include <utility>

namespace rondo {

/// Calls `attempt(number, caps)` with numbers from 0, first with the given
/// caps. It returns the caps of the next attempt, or nothing to end: if its
/// result fits, if no result exists under these caps, or if the caps cannot be
/// lowered. Ends after `maxAttempts` attempts, or before attempt 1 or a later
/// one if `isOver(number)`.
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
