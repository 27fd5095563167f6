//===- IssueQueue.h - What a rank runs in the order of issue ----*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#ifndef RONDO_SCHEDULE_SIMULATE_ISSUEQUEUE_H
#define RONDO_SCHEDULE_SIMULATE_ISSUEQUEUE_H

#include <cstddef>
#include <cstdint>
#include <vector>

namespace rondo {

/// Items that a rank has issued and that run one at a time in this order. An
/// item needs other ranks too: it starts once it is at the head of all their
/// queues.
template <typename Item> struct IssueQueue {
  std::vector<Item> issued;
  /// The number of items that have left the queue, and the end of the last one.
  size_t done = 0;
  int64_t freeNs = 0;

  bool isEmpty() const { return done == issued.size(); }
  const Item &head() const { return issued[done]; }
};

} // namespace rondo

#endif // RONDO_SCHEDULE_SIMULATE_ISSUEQUEUE_H
