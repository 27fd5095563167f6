//===- RoundRobinSearch.h - Search with round-robin stages ------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#ifndef RONDO_SCHEDULE_SEARCH_ROUNDROBINSEARCH_H
#define RONDO_SCHEDULE_SEARCH_ROUNDROBINSEARCH_H

#include "schedule/search/Budget.h"

namespace rondo {

/// Submits a schedule. Returns its objective; `never` if it breaks a rule.
using Offer = std::function<int64_t(Schedule, const std::string &origin)>;

/// If ranks form groups (families/Replicas.h), spends half of the time on a
/// search of the groups' problem. Then tries greedy orders whose priorities
/// change at random, and keeps a change if it is no worse. Ends when the budget
/// is spent, at `bound`, or after a fixed number of trials without improvement.
void searchRoundRobin(const Problem &problem, const SearchOptions &options,
                      int64_t bound, Budget &budget, const Offer &offer);

/// Only the greedy orders, for any problem, until `tasks` more tasks are used.
void searchGreedily(const Problem &problem, uint64_t seed, int64_t bound,
                    int64_t tasks, Budget &budget, const Offer &offer);

} // namespace rondo

#endif // RONDO_SCHEDULE_SEARCH_ROUNDROBINSEARCH_H
