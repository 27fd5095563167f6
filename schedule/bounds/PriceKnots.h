//===- PriceKnots.h - Where prices change over time -------------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Prices of a rank's time and memory are constant between knots. As the assumed
// objective grows, knots near the begin stay, those near the end keep their
// distance from it, and those in between move in proportion, so that prices
// found for one objective are worth much in the next one.
//
//===----------------------------------------------------------------------===//

#ifndef RONDO_SCHEDULE_BOUNDS_PRICEKNOTS_H
#define RONDO_SCHEDULE_BOUNDS_PRICEKNOTS_H

#include "schedule/bounds/CheapestPath.h"

namespace rondo {

class PriceKnots {
public:
  /// Starts with a few pieces: three for each ramp, in which a rank cannot use
  /// its whole cap, and four between the ramps.
  PriceKnots(const RankPath &path, int64_t objective);

  size_t pieces() const { return knots.size() - 1; }
  std::vector<double> timesIn(int64_t objective) const;

  /// Joins pieces with almost equal prices, which become their mean.
  void join(int64_t objective, RankPrices &prices);
  /// Halves the pieces at which the guide's prices change most: `share` of all
  /// pieces, but only a few if there are about `most` already. Both halves keep
  /// the price.
  void split(int64_t objective, const RankPrices &guide, double share,
             size_t most, RankPrices &prices);

private:
  double changeBetween(const RankPrices &prices, size_t i, size_t j) const;

  /// `time` is that of the knot for the first objective; `share` is the part of
  /// an increase of the objective by which the knot moves.
  struct Knot {
    double time, share;
  };
  const RankPath &path;
  std::vector<Knot> knots;
  int64_t first;
};

} // namespace rondo

#endif // RONDO_SCHEDULE_BOUNDS_PRICEKNOTS_H
