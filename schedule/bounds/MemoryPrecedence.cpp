//===- MemoryPrecedence.cpp - LB4: bytes that must be freed first ---------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Before the k-th F of a stage starts, enough bytes must have been freed that
// it fits the cap. The earliest time at which that can be so delays the heads
// of LB3. Tasks that the cap forces after a task lengthen its tail. With these
// heads and tails, the most work that fits the cap before (or after) a time
// gives the idle time there (Idle.h), and the most bytes held over time limit
// the number of activations (HeldBytes.h). If there are too many tasks, only
// the idle time and the held bytes are used.
//
//===----------------------------------------------------------------------===//

#include "schedule/bounds/Arguments.h"
#include "schedule/bounds/HeldBytes.h"
#include "schedule/bounds/Idle.h"
#include "schedule/bounds/UnevenBounds.h"

#include <algorithm>

using namespace rondo;

/// Number of micro-batches whose tasks are propagated: all, or the number with
/// maxDetailedTasks tasks if that is less, but at least two per rank (or a
/// quarter of all), enough for a ramp.
static int32_t microbatchesOfEnd(const Problem &problem) {
  const int64_t most = std::max(
      maxDetailedTasks / (int64_t(3) * problem.numReplicas()),
      std::min<int64_t>(2 * problem.numRanks(), problem.microbatches / 4));
  return int32_t(std::min<int64_t>(problem.microbatches, most));
}

static int64_t computeMemory(const Problem &problem, int64_t, int64_t) {
  if (problem.isUneven())
    return unevenMemory(problem);
  std::optional<FlatProblem> flat =
      FlatProblem::of(problem, BackwardCosts::Least);
  if (!flat || !flat->offsetsAreExact || !flat->hasTightMemory)
    return 0;
  flat->microbatches = microbatchesOfEnd(problem);
  if (flat->microbatches == 0)
    return 0;
  Propagation propagation(*flat, true);
  const int64_t bound = propagation.estimate(PartialState(*flat)).bound;
  // No schedule of the problem exists, so it has no objective.
  if (bound >= never)
    return 0;
  return std::max({bound, idleBound(*flat, propagation, problem.microbatches),
                   heldBytesBound(*flat, propagation, problem.microbatches)});
}

BoundArgument rondo::memoryPrecedence() {
  return {"L4", "LB3 with heads and tails of the memory cap", computeMemory,
          BoundCost::Tasks};
}
