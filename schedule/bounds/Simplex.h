//===- Simplex.h - The best mix of the rows of a matrix ---------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// A matrix game: one player chooses shares of rows (a mix), the other one picks
// the column that costs least. Finds the mix that maximizes this least cost.
// With entries that are not negative this is a packing program (Dantzig, 1951):
// for the largest sum of m with A m <= 1, m >= 0, the value of the game is 1 /
// sum, and the dual prices, scaled to the sum 1, are the mix. A revised simplex
// method keeps the inverse of the basis; rows whose slack is basic cost
// nothing. Columns can be added after each solution; the next one starts from
// it.
//
// Everything is in floating point and deterministic. A solution has rounding
// errors: a bound must be computed from the mix itself.
//
//===----------------------------------------------------------------------===//

#ifndef RONDO_SCHEDULE_BOUNDS_SIMPLEX_H
#define RONDO_SCHEDULE_BOUNDS_SIMPLEX_H

#include <cstddef>
#include <cstdint>
#include <vector>

namespace rondo {

class Simplex {
public:
  explicit Simplex(size_t rows);

  /// Adds a column with one entry per row: none negative, at least one
  /// positive.
  void addColumn(const std::vector<double> &entries);
  /// Computes the best mix against the columns so far; true if it is optimal.
  /// Reduces `pivots` and stops at 0, with a mix that may be worse.
  bool solve(int64_t &pivots);
  /// Drops non-basic columns, those of the highest price first, until `most`
  /// are left. Returns the former numbers of the columns that stay, in their
  /// order.
  std::vector<size_t> prune(size_t most);

  size_t columns() const { return used.size(); }
  /// The least price of a column at the best mix. Valid after solve() has
  /// succeeded.
  double value() const;
  /// [row]: at least 0, sum 1. Valid after solve() has succeeded.
  const std::vector<double> &mix() const { return rowShares; }

private:
  const double *column(size_t number) const {
    return entries.data() + number * rows;
  }
  double priceOf(size_t column) const;
  void findCandidates();
  bool enter(int64_t entering);
  void pivot(size_t leavingRow, int64_t entering);
  void refactor();
  void share();

  const size_t rows;
  /// One column after another.
  std::vector<double> entries;
  /// [column]: whether it is basic.
  std::vector<bool> used;
  /// [row of the basis]: its variable (a column, or a slack from -1 down), and
  /// the amount of it.
  std::vector<int64_t> basis;
  std::vector<double> amounts;
  /// [row of the matrix]: the row of the basis that its slack has, or -1.
  std::vector<int64_t> placeOfSlack;
  /// The inverse of the basis, one column after another. Those of basic slacks
  /// are unit vectors and not kept.
  std::vector<double> inverse;
  /// Dual prices; 0 for rows with a basic slack. `priced` are the others.
  std::vector<double> prices;
  std::vector<size_t> priced;
  std::vector<double> rowShares;
  /// Scratch: the entering column in terms of the basis, and the candidates for
  /// entering.
  std::vector<double> alpha;
  std::vector<int64_t> candidates;
  int64_t sinceRefactoring = 0, withoutGain = 0;
};

} // namespace rondo

#endif // RONDO_SCHEDULE_BOUNDS_SIMPLEX_H
