//===- PreemptiveBound.h - Jackson's preemptive bound -----------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#ifndef RONDO_SCHEDULE_PARTIAL_PREEMPTIVEBOUND_H
#define RONDO_SCHEDULE_PARTIAL_PREEMPTIVEBOUND_H

#include <cstdint>
#include <vector>

namespace rondo {

/// Jackson's preemptive schedule of one machine: the tasks of a rank or the
/// messages of a link, in queues. A queue holds the tasks of one kind, which
/// all take the same time, by micro-batch. Does not allocate once it has held
/// this number of queues before.
class PreemptiveBound {
public:
  void clear() { queues.clear(); }
  /// Adds the tasks with numbers from `next` to `all` - 1; none if these are
  /// equal. `heads` (earliest starts) must not descend and `tails` must not
  /// ascend. Both are indexed by number and must outlive run().
  void add(const int64_t *heads, const int64_t *tails, int64_t ns, int64_t next,
           int64_t all) {
    if (next < all)
      queues.emplace_back(heads + next, tails + next, all - next, ns);
  }
  /// Runs Jackson's preemptive schedule of the queues from `time` on: always
  /// the released task with the longest tail. Returns the largest sum of a
  /// task's end and its tail, or `least` if that is larger. No schedule without
  /// preemption has a smaller value (Carlier, 1982). `never` if a task is never
  /// released. Consumes the queues. O(tasks * queues).
  int64_t run(int64_t time, int64_t least);

private:
  struct Queue {
    Queue(const int64_t *heads, const int64_t *tails, int64_t count, int64_t ns)
        : heads(heads), tails(tails), endOfHeads(heads + count), ns(ns),
          release(*heads), tail(*tails), left(ns) {}

    const int64_t *heads, *tails, *endOfHeads;
    int64_t ns;
    /// Earliest start, tail and remaining time of the next task.
    int64_t release, tail, left;
  };
  std::vector<Queue> queues;
  /// Scratch: queues by descending tail.
  std::vector<Queue *> byTail;
};

} // namespace rondo

#endif // RONDO_SCHEDULE_PARTIAL_PREEMPTIVEBOUND_H
