//===- SettledTime.h - What an iteration adds to a long run -----*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#ifndef RONDO_SCHEDULE_SIMULATE_SETTLEDTIME_H
#define RONDO_SCHEDULE_SIMULATE_SETTLEDTIME_H

#include "schedule/model/Problem.h"
#include "schedule/model/Schedule.h"
#include "schedule/simulate/Simulator.h"

namespace rondo {

/// In a settled run, `iterations` of them together take `ns`: an iteration may
/// take turns between several times.
struct SettledTime {
  int64_t ns = 0;
  int32_t iterations = 1;
  /// The window has shown the run repeat: exact. Otherwise it is the mean of
  /// the window's second half, in front of its drain.
  bool isExact = false;

  double each() const { return double(ns) / iterations; }
  /// As times of one iteration; exact.
  friend bool operator<(const SettledTime &a, const SettledTime &b) {
    return __int128(a.ns) * b.iterations < __int128(b.ns) * a.iterations;
  }
};

/// Iterations of which tasks are under way at once, on any rank.
int32_t iterationsUnderWay(const Problem &window, const Schedule &schedule);

/// `simulation` is the schedule's, with times. The window must have steps of
/// all iterations.
///
/// A run as early as possible is linear in the algebra of max and plus: once
/// the times of as many iterations as are under way have all moved by the same
/// amount, they go on so while the order repeats (Baccelli, Cohen, Olsder and
/// Quadrat, "Synchronization and Linearity", 1992, section 3.7).
/// O(iterations^2 * tasks of an iteration) at worst.
SettledTime settledTime(const Problem &window, const Schedule &schedule,
                        const Simulation &simulation);

/// What an iteration adds to the time of a long run, in ns: the mean of a
/// window's middle, from step to step of the last stage, away from where it
/// fills and drains. The window has at least four iterations. O(actions).
int64_t settledIterationNs(const Problem &window, const Schedule &schedule);

} // namespace rondo

#endif // RONDO_SCHEDULE_SIMULATE_SETTLEDTIME_H
