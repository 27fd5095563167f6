//===- ListSearch.h - Common part of searches on rank lists -----*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The searches of problems with copies and of micro-batches that differ change
// lists of ranks. They share the budget, the best schedule so far and the lists
// from which a local search starts.
//
//===----------------------------------------------------------------------===//

#ifndef RONDO_SCHEDULE_SEARCH_LISTSEARCH_H
#define RONDO_SCHEDULE_SEARCH_LISTSEARCH_H

#include "schedule/search/Budget.h"
#include "schedule/search/Portfolio.h"
#include "schedule/search/Search.h"

#include <algorithm>
#include <string>
#include <utility>
#include <vector>

namespace rondo {

/// Lists and their objective in ns; `infinite`: they do not fit.
template <typename Lists> struct ListStart {
  Lists lists;
  int64_t ns = infinite;
};

/// Inserts a start into a list that is sorted by objective, with different
/// objectives and at most `most` entries. Of two with the same objective it
/// keeps the old one, or the new one if `replaces`.
template <typename Lists>
void insertStart(std::vector<ListStart<Lists>> &starts, ListStart<Lists> start,
                 size_t most, bool replaces = false) {
  if (start.ns == infinite)
    return;
  const auto at =
      std::lower_bound(starts.begin(), starts.end(), start.ns,
                       [](const ListStart<Lists> &one, int64_t value) {
                         return one.ns < value;
                       });
  if (at == starts.end() || at->ns != start.ns)
    starts.insert(at, std::move(start));
  else if (replaces)
    *at = std::move(start);
  if (starts.size() > most)
    starts.pop_back();
}

class ListSearch {
protected:
  ListSearch(const Problem &problem, const SearchOptions &options)
      : problem(problem), options(options), budget(options) {}

  /// Computes the bound and limits the budget; `defaultEffort` in 1,000 tasks.
  /// False: the problem has no schedule, and `result` says why.
  bool begin(int64_t defaultEffort);
  /// The objective of the best schedule so far; `infinite` if there is none.
  int64_t objective() const;
  bool isDone() { return objective() <= result.bound.ns || budget.isSpent(); }
  void report() const;
  void keep(const Bound &bound);
  /// Keeps a judged schedule if it is legal and better. Returns its objective,
  /// `infinite` if it is not legal.
  int64_t submit(Judged judged, const std::string &origin);
  void finish();

  const Problem &problem;
  const SearchOptions &options;
  Budget budget;
  SearchResult result;
};

} // namespace rondo

#endif // RONDO_SCHEDULE_SEARCH_LISTSEARCH_H
