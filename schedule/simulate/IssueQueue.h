//===- IssueQueue.h - What a rank runs in the order of issue ----*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#ifndef RONDO_SCHEDULE_SIMULATE_ISSUEQUEUE_H
#define RONDO_SCHEDULE_SIMULATE_ISSUEQUEUE_H

#include <cstddef>
#include <cstdint>
#include <vector>

namespace rondo {

/// What the host of a rank has issued, to run one at a time in the order of
/// issue: each starts with other ranks, once it heads their queues as well.
template <typename Item> struct IssueQueue {
  std::vector<Item> issued;
  /// How many have left the queue, and when the last of them ended.
  size_t done = 0;
  int64_t freeNs = 0;

  bool isEmpty() const { return done == issued.size(); }
  const Item &head() const { return issued[done]; }
};

} // namespace rondo

#endif // RONDO_SCHEDULE_SIMULATE_ISSUEQUEUE_H
