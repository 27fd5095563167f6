//===- RankLabels.h - The least objective of one real rank ------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Solves the relaxation of OneRank.cpp: one rank keeps its memory cap, runs one
// task at a time and runs the tasks of each micro-batch in order, and one other
// rank keeps its cap (RankChain.h). Dynamic programming over the number of
// tasks of each operation and W that have run. A label has the clock, when each
// micro-batch in flight can go on, when each slot of the other rank can be used
// again, and the largest tail so far. It is dropped if another label of the
// same counts is no worse in every component. The idle time that the cap forces
// at the end of the rank (Idle.h) is added to the remaining work.
//
// If there are more labels than effort allows, labels of the same counts are
// merged into one that has the minimum of each component. Its continuations
// cost no more than those of the merged labels, so the result is still a lower
// bound: a decision diagram of limited width (Bergman, Cire, van Hoeve, Hooker,
// Decision Diagrams for Optimization, 2016, chapter 4).
//
//===----------------------------------------------------------------------===//

#ifndef RONDO_SCHEDULE_BOUNDS_RANKLABELS_H
#define RONDO_SCHEDULE_BOUNDS_RANKLABELS_H

#include "schedule/bounds/RankChain.h"
#include "schedule/partial/Propagation.h"

namespace rondo {

struct LeastObjective {
  /// No lower objective is possible.
  int64_t ns = 0;
  /// Whether more effort may raise it.
  bool isLimited = false;
};

/// The least possible objective of the rank, at most `ceiling`. The propagation
/// must have estimated the empty state. Reduces `effort`, in labels.
LeastObjective leastObjective(const FlatProblem &flat,
                              const Propagation &propagation,
                              const RankChain &chain, int64_t ceiling,
                              int64_t &effort);

} // namespace rondo

#endif // RONDO_SCHEDULE_BOUNDS_RANKLABELS_H
