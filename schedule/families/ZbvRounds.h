//===- ZbvRounds.h - Greedy layout of zbv-auto ------------------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// One run of zbv-auto; ZbvAuto.cpp has the rules.
//
//===----------------------------------------------------------------------===//

#ifndef RONDO_SCHEDULE_FAMILIES_ZBVROUNDS_H
#define RONDO_SCHEDULE_FAMILIES_ZBVROUNDS_H

#include "schedule/families/Placement.h"
#include "schedule/partial/Propagation.h"

namespace rondo::zbvRounds {

/// Whether one W may end too late to fill a wait of F, or of I of the second
/// chunk.
struct Switches {
  bool fillsForward, fillsInputGrad;
};

/// The result of a run.
struct Outcome {
  std::vector<std::vector<Action>> orders;
  std::vector<int64_t> idle;
  int64_t longestIdle = 0, spanNs = 0, makespanNs = 0;
};

/// Makes an order of all tasks. Messages take their latency only. Keeps
/// `limits`, bytes by rank, each of which holds a micro-batch. `allowed`
/// is the idle time by rank that is taken as given. Nothing if a rank gets
/// stuck. O(tasks + P^2).
std::optional<Outcome> layOut(const FlatProblem &flat, const Chunks &chunks,
                              const std::vector<int64_t> &limits,
                              Switches switches,
                              const std::vector<int64_t> &allowed);

} // namespace rondo::zbvRounds

#endif // RONDO_SCHEDULE_FAMILIES_ZBVROUNDS_H
