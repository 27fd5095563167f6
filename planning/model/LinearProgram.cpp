//===- LinearProgram.cpp - Small linear programs --------------------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The tableau form of the simplex method (Dantzig, 1951). Many limits are 0, so
// steps could go round in a circle; each limit is raised by an amount of its
// own, far below the accuracy of the answer, which breaks ties (Charnes, 1952).
//
//===----------------------------------------------------------------------===//

#include "planning/model/LinearProgram.h"

using namespace rondo;

namespace {

constexpr double tiny = 1e-9;

class Tableau {
public:
  Tableau(size_t rows, size_t variables)
      : width(variables + 1), cells((rows + 1) * width), basic(rows),
        free(variables) {}

  double &at(size_t row, size_t column) { return cells[row * width + column]; }
  /// The last column has limits; the last row has the function, negated.
  size_t limitColumn() const { return width - 1; }
  size_t functionRow() const { return basic.size(); }

  /// The column that gains most per unit; `width` if none gains.
  size_t entering() {
    size_t best = width;
    for (size_t c = 0; c < limitColumn(); ++c)
      if (at(functionRow(), c) < -tiny &&
          (best == width || at(functionRow(), c) < at(functionRow(), best)))
        best = c;
    return best;
  }
  /// The row that limits a column most; the number of rows if none does.
  size_t leaving(size_t column) {
    size_t best = functionRow();
    for (size_t r = 0; r < functionRow(); ++r)
      if (at(r, column) > tiny && (best == functionRow() ||
                                   at(r, limitColumn()) * at(best, column) <
                                       at(best, limitColumn()) * at(r, column)))
        best = r;
    return best;
  }
  void pivot(size_t row, size_t column) {
    const double divisor = at(row, column);
    for (size_t c = 0; c < width; ++c)
      at(row, c) /= divisor;
    at(row, column) = 1 / divisor;
    for (size_t r = 0; r <= functionRow(); ++r) {
      const double factor = at(r, column);
      if (r == row || factor == 0)
        continue;
      at(r, column) = 0;
      for (size_t c = 0; c < width; ++c)
        at(r, c) -= factor * at(row, c);
    }
    std::swap(basic[row], free[column]);
  }

  const size_t width;
  std::vector<double> cells;
  /// The variable of each row and of each column; those of constraints follow
  /// the program's own.
  std::vector<size_t> basic, free;
};

} // namespace

std::vector<double> LinearProgram::solve(int64_t maxPivots,
                                         double enough) const {
  const size_t rows = sums.size(), variables = factors.size();
  Tableau tableau(rows, variables);
  for (size_t c = 0; c < variables; ++c) {
    tableau.free[c] = c;
    tableau.at(rows, c) = -factors[c];
  }
  for (size_t r = 0; r < rows; ++r) {
    tableau.basic[r] = variables + r;
    for (const auto &[variable, factor] : sums[r])
      tableau.at(r, variable) += factor;
    tableau.at(r, variables) =
        limits[r] + 1e-7 * (1 + double(r * 7919 % 1009) / 1009);
  }
  for (int64_t k = 0; k < maxPivots; ++k) {
    const size_t column = tableau.entering();
    if (column == tableau.width || tableau.at(rows, variables) > enough)
      break;
    const size_t row = tableau.leaving(column);
    if (row == rows)
      break;
    tableau.pivot(row, column);
  }
  std::vector<double> values(variables);
  for (size_t r = 0; r < rows; ++r)
    if (tableau.basic[r] < variables)
      values[tableau.basic[r]] = tableau.at(r, variables);
  return values;
}
