//===- Simplex.h - Packing programs and matrix games ------------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// A packing program: the largest worth of columns, each taken some amount of at
// least 0, such that each row's sum is at most its limit of at least 0. So all
// 0 is a solution to begin with. A revised simplex method (Dantzig, 1951) keeps
// the inverse of the basis; rows whose slack is basic cost nothing. Columns can
// be added after each solution; the next one starts from it.
//
// A matrix game is one if all limits and worths are 1: one player chooses
// shares of rows (a mix), the other one picks the column that costs least. The
// mix that maximizes this least cost is the dual prices, scaled to the sum 1,
// and the value of the game is 1 / worth. Entries of a game are not negative.
//
// Everything is in floating point and deterministic. A solution has rounding
// errors: a bound must be computed from the mix or the prices themselves.
//
//===----------------------------------------------------------------------===//

#ifndef RONDO_SCHEDULE_BOUNDS_SIMPLEX_H
#define RONDO_SCHEDULE_BOUNDS_SIMPLEX_H

#include <cstddef>
#include <cstdint>
#include <limits>
#include <vector>

namespace rondo {

class Simplex {
public:
  explicit Simplex(std::vector<double> limits);
  /// A game.
  explicit Simplex(size_t rows) : Simplex(std::vector<double>(rows, 1)) {}

  /// Adds a column with one entry per row, at least one of them positive.
  void addColumn(const std::vector<double> &entries, double worth = 1);
  /// Computes the best amounts of the columns so far; true if they are optimal.
  /// Reduces `pivots` and stops at 0, or once the worth of all exceeds
  /// `enough`.
  bool solve(int64_t &pivots, double enough = infinity);
  /// The amount of each column, after solve().
  std::vector<double> amountsOfColumns() const;
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
  static constexpr double infinity = std::numeric_limits<double>::infinity();

  const double *column(size_t number) const {
    return entries.data() + number * rows;
  }
  double priceOf(size_t column) const;
  double worth() const;
  void findCandidates();
  bool gains(int64_t entering) const;
  void enter(int64_t entering);
  void pivot(size_t leavingRow, int64_t entering);
  void refactor();
  void share();

  const std::vector<double> limits;
  const size_t rows;
  /// One column after another; [column].
  std::vector<double> entries, worths;
  /// [column]: whether it is basic.
  std::vector<bool> used;
  /// [row of the basis]: its variable (a column, or a slack from -1 down), and
  /// the amount of it.
  std::vector<int64_t> basis;
  std::vector<double> amounts;
  /// [row of the matrix]: the row of the basis that its slack has, or -1.
  std::vector<int64_t> placeOfSlack;
  /// [column]: of the inverse of the basis. Those of basic slacks are unit
  /// vectors and not kept.
  std::vector<std::vector<double>> inverse;
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
