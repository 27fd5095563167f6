//===- Table.h - Aligned columns --------------------------------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#ifndef RONDO_REPORTS_TABLE_H
#define RONDO_REPORTS_TABLE_H

#include "llvm/Support/raw_ostream.h"

#include <string>
#include <vector>

namespace rondo {

/// Rows of cells; the first row is the header. A row may be short, and its last
/// cell then runs over the columns after it.
class Table {
public:
  void add(std::vector<std::string> row) { rows.push_back(std::move(row)); }
  void print(llvm::raw_ostream &os) const;

private:
  std::vector<std::vector<std::string>> rows;
};

} // namespace rondo

#endif // RONDO_REPORTS_TABLE_H
