//===- CostSource.h - Sources of the costs of a plan ------------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#ifndef RONDO_PLANNING_ADAPTIVE_COSTSOURCE_H
#define RONDO_PLANNING_ADAPTIVE_COSTSOURCE_H

#include <cstdint>
#include <string>

namespace rondo {

/// The source of a time of F, I or W.
struct CostSource {
  /// In descending order of certainty.
  enum class Kind : uint8_t {
    /// Measured for tasks of this size.
    Measured,
    /// Interpolated between two measured sizes.
    Between,
    /// Extrapolated from the nearest two sizes, within limits: a larger size
    /// never takes less time.
    Beyond,
    /// In proportion to samples, from the only measured size.
    InProportion,
    /// Given by the plan.
    Stated,
    /// Estimated from floating-point operations.
    Estimated,
  };
  Kind kind = Kind::Stated;
  /// Samples of the measured tasks: both, or `low` if there is one size; 0: not
  /// applicable.
  int64_t low = 0, high = 0;

  bool operator==(const CostSource &other) const {
    return kind == other.kind && low == other.low && high == other.high;
  }
  /// `measured`, `between those measured with 2 and 8 samples`.
  std::string text() const;
};

/// The sources of the times of several stages.
struct CostSources {
  /// The least certain source.
  CostSource least{CostSource::Kind::Measured};
  /// Whether some sources are more certain.
  bool isMixed = false;
  bool isEmpty = true;

  void add(const CostSource &source);
  void addAll(const CostSources &sources);
  std::string text() const;
};

} // namespace rondo

#endif // RONDO_PLANNING_ADAPTIVE_COSTSOURCE_H
