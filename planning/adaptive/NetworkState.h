//===- NetworkState.h - Conditions of a network -----------------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#ifndef RONDO_PLANNING_ADAPTIVE_NETWORKSTATE_H
#define RONDO_PLANNING_ADAPTIVE_NETWORKSTATE_H

#include "schedule/model/Problem.h"

#include <map>
#include <string>
#include <utility>
#include <vector>

namespace rondo {

/// The links of a cluster at some time.
struct NetworkState {
  /// `as stated`, `c/F 0.5`.
  std::string name;
  Link link;
  /// Overrides of `link` by (from, to).
  std::map<std::pair<int32_t, int32_t>, Link> links;

  void applyTo(Problem &problem) const {
    problem.link = link;
    problem.links = links;
  }
};

/// The network conditions for which schedules are chosen. c is the time that
/// the largest message between ranks occupies its link, F the mean time of a
/// stage's forward.
///
/// - the links as the problem states them;
/// - all links at c/F = 0.1, 0.25, 0.5, 1 and 2, with their own latencies;
/// - one link, either way, at c/F = 2: the first, the middle and the last pair
///   of ranks that exchange messages;
/// - all links with their latency increased by F.
///
/// Only the first if there are no messages or if forwards take no time.
std::vector<NetworkState> networkStates(const Problem &problem);

} // namespace rondo

#endif // RONDO_PLANNING_ADAPTIVE_NETWORKSTATE_H
