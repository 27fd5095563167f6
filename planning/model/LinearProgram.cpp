//===- LinearProgram.cpp - Small linear programs --------------------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Many limits are 0, so steps could go round in a circle; each limit is raised
// by an amount of its own, far below the accuracy of the answer, which breaks
// ties (Charnes, 1952).
//
//===----------------------------------------------------------------------===//

#include "planning/model/LinearProgram.h"

#include "schedule/bounds/Simplex.h"

using namespace rondo;

std::vector<double> LinearProgram::solve(int64_t maxPivots,
                                         double enough) const {
  const size_t rows = sums.size();
  std::vector<double> raised = limits;
  std::vector<std::vector<double>> columns(factors.size(),
                                           std::vector<double>(rows));
  for (size_t r = 0; r < rows; ++r) {
    raised[r] += 1e-7 * (1 + double(r * 7919 % 1009) / 1009);
    for (const auto &[variable, factor] : sums[r])
      columns[variable][r] += factor;
  }
  Simplex simplex(std::move(raised));
  for (size_t c = 0; c < columns.size(); ++c)
    simplex.addColumn(columns[c], factors[c]);
  simplex.solve(maxPivots, enough);
  return simplex.amountsOfColumns();
}
