//===- RoundRobinSearch.h - Where stages assign micro-batches ---*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#ifndef RONDO_SCHEDULE_SEARCH_ROUNDROBINSEARCH_H
#define RONDO_SCHEDULE_SEARCH_ROUNDROBINSEARCH_H

#include "schedule/search/Budget.h"

namespace rondo {

/// Takes a schedule, and returns its objective; `never` if it breaks a rule.
using Offer = std::function<int64_t(Schedule, const std::string &origin)>;

/// For half of the time the groups' order of rounds, where ranks form groups
/// (families/Replicas.h); then greedy orders with priorities that change at
/// random, where a change is kept if it is no worse. Ends when the budget is
/// spent, at `bound`, or when nothing has become better for long.
void searchRoundRobin(const Problem &problem, const SearchOptions &options,
                      int64_t bound, Budget &budget, const Offer &offer);

/// The greedy orders alone, of any problem, until this many more tasks are
/// used.
void searchGreedily(const Problem &problem, uint64_t seed, int64_t bound,
                    int64_t tasks, Budget &budget, const Offer &offer);

} // namespace rondo

#endif // RONDO_SCHEDULE_SEARCH_ROUNDROBINSEARCH_H
