//===- ListSearch.h - Common part of searches on rank lists -----*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The searches of problems with copies and of micro-batches that differ change
// lists of ranks. They share the budget, the best schedule so far, and chains
// of a local search from several starts.
//
//===----------------------------------------------------------------------===//

#ifndef RONDO_SCHEDULE_SEARCH_LISTSEARCH_H
#define RONDO_SCHEDULE_SEARCH_LISTSEARCH_H

#include "schedule/search/Budget.h"
#include "schedule/search/ListAnnealing.h"
#include "schedule/search/Portfolio.h"
#include "schedule/search/Search.h"
#include "schedule/search/Workers.h"

#include <string>
#include <vector>

namespace rondo {

/// Lists and their objective in ns; `infinite`: they do not fit.
struct ListStart {
  RankLists lists;
  int64_t ns = infinite;
};

/// Inserts a start into a list that is sorted by objective, with different
/// objectives and at most `most` entries. Of two with the same objective it
/// keeps the old one, or the new one if `replaces`.
void insertStart(std::vector<ListStart> &starts, ListStart start, size_t most,
                 bool replaces = false);

/// An annealing of a start.
struct ListChain {
  ListStart start;
  ListAnnealing::Settings settings;
};

/// What a search on lists of one graph may choose, and the name of its results.
struct ListDomain {
  const TaskGraph &graph;
  OrderClass orders = OrderClass::Sums;
  const char *origin = "annealing";
};

class ListSearch {
protected:
  ListSearch(const Problem &problem, const SearchOptions &options)
      : problem(problem), options(options), budget(options),
        workers(options.threads) {}

  /// Computes the bound and limits the budget; `defaultEffort` in 1,000 tasks.
  /// False: the problem has no schedule, and `result` says why.
  bool begin(int64_t defaultEffort);
  /// The objective of the best schedule so far; `infinite` if there is none.
  int64_t objective() const;
  bool isDone() { return objective() <= result.bound.ns || budget.isSpent(); }
  /// Number of tasks that all threads may still use.
  int64_t tasksLeft() const;
  void report() const;
  void keep(const Bound &bound);
  /// Keeps a schedule if it is legal and better. Returns its objective,
  /// `infinite` if it is not legal.
  int64_t offer(Schedule schedule, const std::string &origin);
  int64_t offer(const ListDomain &domain, const RankLists &lists);
  /// An annealing of the problem's graph, exact with NICs.
  ListAnnealing makeAnnealing(const ListDomain &domain, uint64_t seed,
                              Budget &own) const;
  /// Runs chains with `each` tasks of work, one after another or on all
  /// threads, and offers their results. These depend on the chains alone.
  void runChains(const ListDomain &domain, std::vector<ListChain> &chains,
                 int64_t each);
  void finish();

  const Problem &problem;
  const SearchOptions &options;
  Budget budget;
  SearchResult result;
  Workers workers;

private:
  /// Chains that have been run, for their seeds.
  uint64_t numChains = 0;
};

} // namespace rondo

#endif // RONDO_SCHEDULE_SEARCH_LISTSEARCH_H
