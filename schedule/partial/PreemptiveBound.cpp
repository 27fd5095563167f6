//===- PreemptiveBound.cpp - Jackson's preemptive bound -------------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "schedule/partial/PreemptiveBound.h"
#include "schedule/partial/FlatProblem.h"

#include <algorithm>

using namespace rondo;

// Within a queue, releases ascend and tails descend, so one cursor per queue is
// enough. Only queues with a longer tail than the running queue's can preempt
// it.
int64_t PreemptiveBound::run(int64_t time, int64_t least) {
  int64_t best = least;
  size_t count = 0;
  byTail.resize(queues.size());
  for (Queue &queue : queues) {
    size_t at = count++;
    for (; at > 0 && byTail[at - 1]->tail < queue.tail; --at)
      byTail[at] = byTail[at - 1];
    byTail[at] = &queue;
  }
  while (count > 0) {
    int64_t nextRelease = never;
    size_t chosen = 0;
    for (; chosen < count && byTail[chosen]->release > time; ++chosen)
      nextRelease = std::min(nextRelease, byTail[chosen]->release);
    if (chosen == count) {
      if (nextRelease >= never)
        return never;
      time = nextRelease;
      continue;
    }
    Queue &queue = *byTail[chosen];
    const int64_t run = std::min(queue.left, nextRelease - time);
    time += run;
    queue.left -= run;
    if (queue.left)
      continue;
    best = std::max(best, time + queue.tail);
    if (++queue.heads == queue.endOfHeads) {
      std::copy(&byTail[chosen + 1], &byTail[count], &byTail[chosen]);
      --count;
      continue;
    }
    queue.release = *queue.heads;
    queue.tail = *++queue.tails;
    queue.left = queue.ns;
    for (; chosen + 1 < count && byTail[chosen + 1]->tail > queue.tail;
         ++chosen)
      byTail[chosen] = byTail[chosen + 1];
    byTail[chosen] = &queue;
  }
  return best;
}
