//===- Table.cpp - Aligned columns ----------------------------------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "reports/Table.h"

#include "llvm/ADT/STLExtras.h"

namespace rondo {

void Table::print(llvm::raw_ostream &os) const {
  std::vector<size_t> widths;
  for (const auto &row : rows) {
    widths.resize(std::max(widths.size(), row.size()));
    // The last cell of a row needs no room after it.
    for (size_t i = 0; i + 1 < row.size(); ++i)
      widths[i] = std::max(widths[i], row[i].size());
  }
  for (const auto &row : rows) {
    os << "  ";
    for (size_t i = 0; i < row.size(); ++i) {
      os << row[i];
      // Empty cells at the end need no room either.
      if (llvm::any_of(llvm::drop_begin(row, i + 1),
                       [](const auto &cell) { return !cell.empty(); }))
        os.indent(widths[i] - row[i].size() + 2);
    }
    os << "\n";
  }
}

} // namespace rondo
