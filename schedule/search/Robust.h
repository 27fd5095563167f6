//===- Robust.h - Schedules under varying times -----------------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#ifndef RONDO_SCHEDULE_SEARCH_ROBUST_H
#define RONDO_SCHEDULE_SEARCH_ROBUST_H

#include "schedule/model/Problem.h"
#include "schedule/model/Schedule.h"

#include <vector>

namespace rondo {

/// The objective over sampled times.
struct Robustness {
  enum class Statistic : uint8_t { Mean, Percentile95 } statistic;
  /// At least 1.
  int32_t samples = 64;
  /// Each time deviates from its nominal one by up to this share in percent, 0
  /// to 99.
  int32_t jitterPercent = 10;
};

/// The same problem with sampled times. One uniform factor for each stage and
/// each of F, I and W, as the cost table has one time for these; B scales like
/// I and W together. The same seed gives the same samples on all machines.
class Scenarios {
public:
  Scenarios(const Problem &problem, const Robustness &robustness,
            uint64_t seed);

  size_t size() const { return problems.size(); }
  const Problem &operator[](size_t i) const { return problems[i]; }
  /// The statistic of `objectives`, one per sample; the mean is rounded down,
  /// the 95th percentile is the least value that 95 % do not exceed.
  int64_t statisticOf(std::vector<int64_t> objectives) const;
  /// The statistic of a legal schedule. O(samples * actions).
  int64_t value(const Schedule &schedule) const;

private:
  Robustness::Statistic statistic;
  std::vector<Problem> problems;
};

} // namespace rondo

#endif // RONDO_SCHEDULE_SEARCH_ROBUST_H
