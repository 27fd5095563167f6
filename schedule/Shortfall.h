//===- Shortfall.h - Memory that every schedule needs -----------*- C++ -*-===//

#ifndef RONDO_SCHEDULE_SHORTFALL_H
#define RONDO_SCHEDULE_SHORTFALL_H

#include "schedule/Problem.h"

#include <optional>
#include <string>
#include <vector>

namespace rondo {

/// A rank whose cap is below what every schedule needs.
struct Shortfall {
  int32_t rank = 0;
  /// What is missing, with the rank and bytes.
  std::string reason;
  /// The same with what it is for and what helps.
  std::string message;
};

/// Activations of one micro-batch by rank, which every schedule holds at once.
std::vector<int64_t> leastActivationBytes(const Problem &problem);

/// The first such rank, if there is one. A rank with several stages holds all
/// activations of one micro-batch at the end of its last forward, whatever the
/// order; and running micro-batches one by one needs no more.
std::optional<Shortfall> findShortfall(const Problem &problem);

} // namespace rondo

#endif // RONDO_SCHEDULE_SHORTFALL_H
