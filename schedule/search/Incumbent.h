//===- Incumbent.h - The best orders so far ---------------------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#ifndef RONDO_SCHEDULE_SEARCH_INCUMBENT_H
#define RONDO_SCHEDULE_SEARCH_INCUMBENT_H

#include "schedule/search/Orders.h"

#include <functional>
#include <string>

namespace rondo {

/// The best schedule so far, by objective alone.
struct Incumbent {
  Orders orders;
  int64_t objective = never;
  std::string origin;
  /// No schedule has an objective below this.
  int64_t bound = 0;
  /// Lower bound of all schedules of a beam's tree, once a beam has exhausted
  /// it. Equals the objective, except with NICs, which the beam ignores.
  int64_t exhaustedNs = 0;
  /// Called with each better objective.
  std::function<void(int64_t)> onBetter;

  bool isOptimal() const { return objective <= bound; }
  bool offer(const Orders &candidate, int64_t value, const char *by) {
    if (value >= objective)
      return false;
    orders = candidate;
    objective = value;
    origin = by;
    if (onBetter)
      onBetter(value);
    return true;
  }
};

} // namespace rondo

#endif // RONDO_SCHEDULE_SEARCH_INCUMBENT_H
