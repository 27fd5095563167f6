//===- CostSource.h - Where the costs of a plan come from -------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#ifndef RONDO_PLANNING_ADAPTIVE_COSTSOURCE_H
#define RONDO_PLANNING_ADAPTIVE_COSTSOURCE_H

#include <cstdint>
#include <string>

namespace rondo {

/// What a time of F, I or W rests on.
struct CostSource {
  /// The surest first.
  enum class Kind : uint8_t {
    /// Measured for tasks of this size.
    Measured,
    /// On the line between two sizes that were measured.
    Between,
    /// On the line through the nearest two, within what is possible.
    Beyond,
    /// In proportion to samples, from the one size that is known.
    InProportion,
    /// The plan says so.
    Stated,
    /// By floating-point operations.
    Estimated,
  };
  Kind kind = Kind::Stated;
  /// Samples of the tasks that were measured: both, or `low` if there is one
  /// size. 0: of no interest.
  int64_t low = 0, high = 0;

  bool operator==(const CostSource &other) const {
    return kind == other.kind && low == other.low && high == other.high;
  }
  /// `measured`, `between those measured with 2 and 8 samples`.
  std::string text() const;
};

/// Of several stages.
struct CostSources {
  /// The least sure one.
  CostSource least{CostSource::Kind::Measured};
  /// Whether others are surer.
  bool isMixed = false;
  bool isEmpty = true;

  void add(const CostSource &source);
  void addAll(const CostSources &sources);
  std::string text() const;
};

} // namespace rondo

#endif // RONDO_PLANNING_ADAPTIVE_COSTSOURCE_H
