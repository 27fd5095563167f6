//===- LinearProgram.h - Small linear programs ------------------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#ifndef RONDO_PLANNING_MODEL_LINEARPROGRAM_H
#define RONDO_PLANNING_MODEL_LINEARPROGRAM_H

#include <cstddef>
#include <cstdint>
#include <utility>
#include <vector>

namespace rondo {

/// Maximizes a linear function of variables of at least 0 under constraints
/// "a sum is at most a limit of at least 0". So all 0 is a solution to begin
/// with.
class LinearProgram {
public:
  using Sum = std::vector<std::pair<size_t, double>>;

  /// Adds a variable with its factor in the maximized function. Returns its
  /// number.
  size_t add(double factor) {
    factors.push_back(factor);
    return factors.size() - 1;
  }
  void limit(Sum sum, double most) {
    sums.push_back(std::move(sum));
    limits.push_back(most);
  }

  /// Values of the variables after at most `maxPivots` steps of the simplex
  /// method, or as soon as the function exceeds `enough`. With rounding errors:
  /// a caller that needs a proof checks them.
  /// O(pivots * constraints * variables).
  std::vector<double> solve(int64_t maxPivots, double enough) const;

private:
  std::vector<double> factors, limits;
  std::vector<Sum> sums;
};

} // namespace rondo

#endif // RONDO_PLANNING_MODEL_LINEARPROGRAM_H
