//===- table.h - Tables of results ------------------------------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#ifndef RONDO_BENCH_SEARCH_TABLE_H
#define RONDO_BENCH_SEARCH_TABLE_H

#include "bench/search/measure.h"

#include <vector>

/// Ratios to reference values, with the names of the worst.
class Ratios {
public:
  void add(const std::string &name, int64_t found, int64_t reference,
           std::string note = {});
  double mean() const { return rows.empty() ? 1 : sum / double(rows.size()); }
  double worst() const;
  /// Shows the worst `most` of them, and all that are above 1.
  void show(size_t most);
  long long count() const { return (long long)rows.size(); }
  long long better = 0, worse = 0;

private:
  struct Row {
    double ratio;
    std::string name;
    int64_t found, reference;
    std::string note;
  };
  std::vector<Row> rows;
  double sum = 0;
};

/// A row for cases, each the best of several placements. Its gap is that to the
/// least bound of all of them; that of a placement, to its own bound.
class CaseTable {
public:
  /// `reference` says what the cases are compared with.
  CaseTable(const Settings &settings, const char *reference);

  /// Searches all placements of a case whose reference value is `reference`.
  void add(const std::string &name, std::vector<rondo::Problem *> placements,
           int64_t reference);
  void print(const char *objective);

private:
  const Settings &settings;
  Ratios ratios, gaps, placementGaps;
  double seconds = 0, longest = 0;
  int64_t searched = 0;
};

#endif // RONDO_BENCH_SEARCH_TABLE_H
