//===- ListSearch.h - Common part of searches on rank lists -----*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The searches of problems with copies and of micro-batches that differ change
// lists of ranks, by chains of a local search from several starts.
//
//===----------------------------------------------------------------------===//

#ifndef RONDO_SCHEDULE_SEARCH_LISTSEARCH_H
#define RONDO_SCHEDULE_SEARCH_LISTSEARCH_H

#include "schedule/search/ListAnnealing.h"
#include "schedule/search/SearchState.h"

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

/// The choices of a search on lists of one graph, and the name of its results.
struct ListDomain {
  const TaskGraph &graph;
  OrderClass orders = OrderClass::Sums;
  const char *origin = "annealing";
};

class ListSearch : protected SearchState {
protected:
  using SearchState::SearchState;

  bool isDone() { return SearchState::isDone(0); }
  /// Number of tasks that all threads may still use.
  int64_t tasksLeft() const;
  /// Keeps a schedule if it is legal and better. Returns its objective,
  /// `never` if it is not legal.
  int64_t offer(Schedule schedule, const std::string &origin);
  int64_t offer(const ListDomain &domain, const RankLists &lists);
  /// A schedule of lists, with their order of sums if micro-batches differ.
  Schedule scheduleOf(const ListDomain &domain, const RankLists &lists) const;
  /// An annealing of the problem's graph, exact with NICs.
  ListAnnealing makeAnnealing(const ListDomain &domain, uint64_t seed,
                              Budget &own) const;
  /// Runs chains with `each` tasks of work, one after another or on all
  /// threads, and submits their results. They depend on the chains alone: once
  /// one has reached the bound, later ones stay as they were.
  void runChains(const ListDomain &domain, std::vector<ListChain> &chains,
                 int64_t each);
  SearchResult end();

private:
  /// Chains that have been run, for their seeds.
  uint64_t numChains = 0;
};

} // namespace rondo

#endif // RONDO_SCHEDULE_SEARCH_LISTSEARCH_H
