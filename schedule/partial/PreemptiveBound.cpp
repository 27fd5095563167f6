//===- PreemptiveBound.cpp - Jackson's preemptive bound -------------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "schedule/partial/PreemptiveBound.h"
#include "schedule/partial/FlatProblem.h"

#include <algorithm>

using namespace rondo;

// Within a lane, releases ascend and tails descend, so one cursor per lane is
// enough. Only lanes with a longer tail than the running lane's can preempt it.
int64_t Lanes::run(int64_t time, int64_t least) {
  int64_t best = least;
  size_t count = 0;
  byTail.resize(lanes.size());
  for (Lane &lane : lanes) {
    size_t at = count++;
    for (; at > 0 && byTail[at - 1]->tail < lane.tail; --at)
      byTail[at] = byTail[at - 1];
    byTail[at] = &lane;
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
    Lane &lane = *byTail[chosen];
    const int64_t run = std::min(lane.left, nextRelease - time);
    time += run;
    lane.left -= run;
    if (lane.left)
      continue;
    best = std::max(best, time + lane.tail);
    if (++lane.heads == lane.endOfHeads) {
      std::copy(&byTail[chosen + 1], &byTail[count], &byTail[chosen]);
      --count;
      continue;
    }
    lane.release = *lane.heads;
    lane.tail = *++lane.tails;
    lane.left = lane.ns;
    for (; chosen + 1 < count && byTail[chosen + 1]->tail > lane.tail; ++chosen)
      byTail[chosen] = byTail[chosen + 1];
    byTail[chosen] = &lane;
  }
  return best;
}
