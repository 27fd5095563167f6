//===- PreemptiveBound.h - Jackson's preemptive bound -----------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#ifndef RONDO_SCHEDULE_PARTIAL_PREEMPTIVEBOUND_H
#define RONDO_SCHEDULE_PARTIAL_PREEMPTIVEBOUND_H

#include <cstdint>
#include <vector>

namespace rondo {

/// The tasks of a rank or the messages of a link, in lanes. A lane holds the
/// tasks of one kind, which all take the same time, by micro-batch. Does not
/// allocate once it has held this number of lanes before.
class Lanes {
public:
  void clear() { lanes.clear(); }
  /// Adds the tasks with numbers from `next` to `all` - 1; none if these are
  /// equal. `heads` (earliest starts) must not descend and `tails` must not
  /// ascend. Both are indexed by number and must outlive run().
  void add(const int64_t *heads, const int64_t *tails, int64_t ns, int64_t next,
           int64_t all) {
    if (next < all)
      lanes.push_back({heads + next, tails + next, heads + all, ns, heads[next],
                       tails[next], ns});
  }
  /// Runs Jackson's preemptive schedule of the lanes from `time` on: always the
  /// released task with the longest tail. Returns the largest sum of a task's
  /// end and its tail, or `least` if that is larger. No schedule without
  /// preemption has a smaller value (Carlier, 1982). `never` if a task is never
  /// released. Consumes the lanes. O(tasks * lanes).
  int64_t run(int64_t time, int64_t least);

private:
  struct Lane {
    const int64_t *heads, *tails, *endOfHeads;
    int64_t ns;
    /// Earliest start, tail and remaining time of the next task.
    int64_t release, tail, left;
  };
  std::vector<Lane> lanes;
  /// Scratch: lanes by descending tail.
  std::vector<Lane *> byTail;
};

} // namespace rondo

#endif // RONDO_SCHEDULE_PARTIAL_PREEMPTIVEBOUND_H
