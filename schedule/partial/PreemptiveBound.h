//===- PreemptiveBound.h - Jackson's preemptive schedule of one machine ---===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#ifndef RONDO_SCHEDULE_PARTIAL_PREEMPTIVEBOUND_H
#define RONDO_SCHEDULE_PARTIAL_PREEMPTIVEBOUND_H

#include <cstdint>
#include <vector>

namespace rondo {

/// The tasks of a rank or the messages of a link, in lanes: each holds those of
/// one kind, which take equally long, by micro-batch. Does not allocate once it
/// has had as many lanes.
class Lanes {
public:
  void clear() { lanes.clear(); }
  /// Adds the tasks from number `next` to `all`; none if these are equal. Their
  /// earliest starts, which must ascend, and tails, which must not, are indexed
  /// by number, and must stay until run().
  void add(const int64_t *heads, const int64_t *tails, int64_t ns, int64_t next,
           int64_t all) {
    if (next < all)
      lanes.push_back({heads + next, tails + next, heads + all, ns, heads[next],
                       tails[next], ns});
  }
  /// Jackson's preemptive schedule of the lanes from `time` on: always what has
  /// been released and has the longest tail. The largest sum of an end and its
  /// tail, or `least` if that is more: no schedule without preemption has less
  /// (Carlier, 1982). `never` if something is never released. Uses the lanes
  /// up. O(tasks * lanes).
  int64_t run(int64_t time, int64_t least);

private:
  struct Lane {
    const int64_t *heads, *tails, *endOfHeads;
    int64_t ns;
    /// Of the next one: its earliest start, its tail, and what is left of it.
    int64_t release, tail, left;
  };
  std::vector<Lane> lanes;
  /// Scratch: by descending tails.
  std::vector<Lane *> byTail;
};

} // namespace rondo

#endif // RONDO_SCHEDULE_PARTIAL_PREEMPTIVEBOUND_H
