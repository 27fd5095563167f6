//===- ResidencyTrial.h - What a residency comes to -------------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Shared by those that choose residencies and that improve them.
//
//===----------------------------------------------------------------------===//

#ifndef RONDO_PLANNING_GATHERS_RESIDENCYTRIAL_H
#define RONDO_PLANNING_GATHERS_RESIDENCYTRIAL_H

#include "schedule/PlaceGathers.h"

#include <optional>
#include <tuple>
#include <vector>

namespace rondo {

struct ResidencyTrial {
  Residencies residencies;
  std::vector<int64_t> peakBytes;
  /// By rank, of what it gathers and reduces.
  std::vector<int64_t> trafficBytes;
  int64_t makespanNs = 0;

  bool isOver(const std::vector<int64_t> &caps) const;
  /// Over a cap or not, time, memory, traffic; over a cap, memory comes first.
  /// Less is better.
  using Rating = std::tuple<bool, int64_t, int64_t, int64_t>;
  Rating rate(const std::vector<int64_t> &caps) const;
};

/// Simulates the order with gathers of these; nothing where it cannot run.
std::optional<ResidencyTrial> tryResidencies(const Problem &problem,
                                             const Schedule &schedule,
                                             const Residencies &residencies);

/// Ranks that share state, directly or by others, and so have the same
/// residency, by groups; without those that share none.
std::vector<std::vector<int32_t>> ranksThatShare(const Problem &problem);

/// Of the rank that has most with sharded state.
int32_t mostChunks(const Problem &problem);

} // namespace rondo

#endif // RONDO_PLANNING_GATHERS_RESIDENCYTRIAL_H
