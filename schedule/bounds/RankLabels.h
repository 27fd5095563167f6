//===- RankLabels.h - The least objective of one real rank ------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// One rank keeps its cap, its order and its exclusive use, and the cap of one
// other rank counts too (RankChain.h). This is solved by dynamic programming
// over how many of each operation and W have run, with labels that no other
// label of the same counts beats in every component: the clock, when each
// micro-batch in flight can go on, when each slot elsewhere can be used again,
// and the largest tail so far. The idle time that the cap forces at the end of
// the rank (Idle.h) is added to the remaining work.
//
// If there are more labels than effort allows, labels of the same counts are
// merged into one that has the minimum of each component. Its continuations
// cost at most as much as those of the merged labels, so the result is still a
// lower bound: a decision
// diagram of limited width (Bergman, Cire, van Hoeve, Hooker, Decision Diagrams
// for Optimization, 2016, chapter 4).
//
//===----------------------------------------------------------------------===//

#ifndef RONDO_SCHEDULE_BOUNDS_RANKLABELS_H
#define RONDO_SCHEDULE_BOUNDS_RANKLABELS_H

#include "schedule/bounds/RankChain.h"
#include "schedule/partial/Propagation.h"

namespace rondo {

struct LeastObjective {
  /// None below it is possible.
  int64_t ns = 0;
  /// Whether more effort may show more.
  bool isLimited = false;
};

/// The ceiling if nothing below it is possible. The propagation must have
/// estimated the empty state. Uses effort up, in labels.
LeastObjective leastObjective(const FlatProblem &flat,
                              const Propagation &propagation,
                              const RankChain &chain, int64_t ceiling,
                              int64_t &effort);

} // namespace rondo

#endif // RONDO_SCHEDULE_BOUNDS_RANKLABELS_H
