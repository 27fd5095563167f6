//===- SettledTime.h - Time per iteration of a long run ---------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#ifndef RONDO_SCHEDULE_SIMULATE_SETTLEDTIME_H
#define RONDO_SCHEDULE_SIMULATE_SETTLEDTIME_H

#include "schedule/model/Problem.h"
#include "schedule/model/Schedule.h"
#include "schedule/simulate/Simulator.h"

namespace rondo {

/// Period of a settled run: `iterations` iterations together take `ns`. Single
/// iterations may alternate between several times.
struct SettledTime {
  int64_t ns = 0;
  int32_t iterations = 1;
  /// True if the window shows that the run repeats. Otherwise `ns` is a mean
  /// over the window's second half, before its drain.
  bool isExact = false;

  double each() const { return double(ns) / iterations; }
  /// Compares the times per iteration exactly.
  friend bool operator<(const SettledTime &a, const SettledTime &b) {
    return __int128(a.ns) * b.iterations < __int128(b.ns) * a.iterations;
  }
};

/// The settled time of a window. `simulation` is the schedule's, with times.
/// The window must have the steps of all iterations.
///
/// Running as early as possible is linear in max-plus algebra. Once the times
/// of as many consecutive iterations as are under way have all shifted by the
/// same amount, they continue to do so while the order repeats (Baccelli,
/// Cohen, Olsder and Quadrat, "Synchronization and Linearity", 1992, section
/// 3.7). Worst case O(iterations^2 * tasks of an iteration).
SettledTime settledTime(const Problem &window, const Schedule &schedule,
                        const Simulation &simulation);

} // namespace rondo

#endif // RONDO_SCHEDULE_SIMULATE_SETTLEDTIME_H
