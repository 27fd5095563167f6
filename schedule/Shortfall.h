//===- Shortfall.h - Memory that every schedule needs -----------*- C++ -*-===//

#ifndef RONDO_SCHEDULE_SHORTFALL_H
#define RONDO_SCHEDULE_SHORTFALL_H

#include "schedule/Problem.h"

#include <optional>
#include <string>

namespace rondo {

/// A rank whose cap is below what every schedule needs.
struct Shortfall {
  int32_t rank = 0;
  /// One sentence with the rank and bytes.
  std::string message;
};

/// The first such rank, if there is one. A rank with several stages holds all
/// activations of one micro-batch at the end of its last forward, whatever the
/// order; and running micro-batches one by one needs no more.
std::optional<Shortfall> findShortfall(const Problem &problem);

} // namespace rondo

#endif // RONDO_SCHEDULE_SHORTFALL_H
