//===- ResidencyTrial.h - Simulation of a residency -------------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Used to choose residencies and to improve them.
//
//===----------------------------------------------------------------------===//

#ifndef RONDO_PLANNING_GATHERS_RESIDENCYTRIAL_H
#define RONDO_PLANNING_GATHERS_RESIDENCYTRIAL_H

#include "schedule/gathers/PlaceGathers.h"

#include <optional>
#include <tuple>
#include <vector>

namespace rondo {

struct ResidencyTrial {
  Residencies residencies;
  std::vector<int64_t> peakBytes;
  /// [rank]: bytes sent by its gathers and reductions.
  std::vector<int64_t> trafficBytes;
  int64_t makespanNs = 0;

  bool isOver(const std::vector<int64_t> &caps) const;
  /// Sort key of trials, less is better: whether a cap is exceeded, then
  /// makespan, peak memory and traffic. If a cap is exceeded, the peak comes
  /// before the makespan.
  using Rating = std::tuple<bool, int64_t, int64_t, int64_t>;
  Rating rate(const std::vector<int64_t> &caps) const;
};

/// Simulates the order with the gathers of `residencies`; nullopt if it cannot
/// run.
std::optional<ResidencyTrial> tryResidencies(const Problem &problem,
                                             const Schedule &schedule,
                                             const Residencies &residencies);

/// Groups of ranks that share state, directly or through others, and so have
/// the same residency. Ranks that share no state are left out.
std::vector<std::vector<int32_t>> ranksThatShare(const Problem &problem);

/// The most chunks of a rank with sharded state.
int32_t maxChunks(const Problem &problem);

} // namespace rondo

#endif // RONDO_PLANNING_GATHERS_RESIDENCYTRIAL_H
