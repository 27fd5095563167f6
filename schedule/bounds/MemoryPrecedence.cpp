//===- MemoryPrecedence.cpp - LB4: what must be given back first ----------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Before the k-th F of a stage starts, enough must have been given back that it
// fits the cap. The earliest time at which that many bytes can be free delays
// the heads of LB3. What the cap puts after a task lengthens its tail. With
// these heads and tails, what a rank can run under its cap before or after a
// time tells how long it is idle there, and the bytes that it can hold over
// time how many activations pass (HeldBytes.h). If there are too many tasks,
// only these ends are considered.
//
//===----------------------------------------------------------------------===//

#include "schedule/bounds/Arguments.h"
#include "schedule/bounds/HeldBytes.h"
#include "schedule/bounds/Idle.h"

#include <algorithm>

using namespace rondo;

/// All of them or, if these have too many tasks, as many as a ramp over all
/// ranks has.
static int32_t microbatchesOfEnd(const Problem &problem) {
  const int64_t most = std::max(
      maxDetailedTasks / (int64_t(3) * problem.numReplicas()),
      std::min<int64_t>(2 * problem.numRanks(), problem.microbatches / 4));
  return int32_t(std::min<int64_t>(problem.microbatches, most));
}

static int64_t computeMemory(const Problem &problem, int64_t, int64_t) {
  std::optional<FlatProblem> flat =
      FlatProblem::of(problem, BackwardCosts::Least);
  if (!flat || !flat->offsetsAreExact || !flat->hasTightMemory)
    return 0;
  flat->microbatches = microbatchesOfEnd(problem);
  if (flat->microbatches == 0)
    return 0;
  Propagation propagation(*flat, true);
  const int64_t bound = propagation.estimate(PartialState(*flat)).bound;
  // A problem without a schedule has no objective.
  if (bound >= never)
    return 0;
  return std::max({bound, idleBound(*flat, propagation, problem.microbatches),
                   heldBytesBound(*flat, propagation, problem.microbatches)});
}

BoundArgument rondo::memoryPrecedence() {
  return {"L4", "L3 with heads and tails of the memory cap", computeMemory,
          BoundCost::Tasks};
}
