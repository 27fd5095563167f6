//===- CopiedBytes.cpp - C1: memory over time, less what is copied --------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Bytes return to a device by SAVE as well, so LB4 does not hold. What a rank
// holds over time is still limited by its cap (HeldBytes.h), and what copies
// can save by the time of its lanes and the memory of its host (CopyAreas.h).
// So is the work that can run soon after the start or shortly before the end
// (Idle.h).
//
//===----------------------------------------------------------------------===//

#include "schedule/bounds/Arguments.h"
#include "schedule/bounds/HeldBytes.h"
#include "schedule/bounds/Idle.h"
#include "schedule/bounds/UnevenBounds.h"

#include <algorithm>

using namespace rondo;

static int64_t computeCopiedBytes(const Problem &problem, int64_t, int64_t) {
  if (!problem.hostMemory.hasCopies() || problem.numTasks() > maxDetailedTasks)
    return 0;
  if (problem.isUneven())
    return unevenMemory(problem.withoutCopies(), &problem);
  const std::optional<FlatProblem> flat =
                                       FlatProblem::of(problem.withoutCopies(),
                                                       BackwardCosts::Least),
                                   least =
                                       FlatProblem::of(withLeastBytes(problem),
                                                       BackwardCosts::Least);
  if (!flat || !least || !flat->offsetsAreExact || !flat->hasTightMemory ||
      problem.microbatches == 0)
    return 0;
  Propagation propagation(*least, true);
  if (propagation.estimate(PartialState(*least)).bound >= never)
    return 0;
  std::vector<int64_t> heads;
  for (int32_t s = 0; s < flat->stages; ++s)
    heads.push_back(propagation.heads(Task::F)[flat->at(s, 0)]);
  CopyAreas areas(problem);
  areas.add(*flat, roundTripsOf(*flat), heads, problem.microbatches);
  return std::max(
      heldBytesBound(*flat, propagation, problem.microbatches, &areas),
      idleBound(*flat, propagation, problem.microbatches, &problem));
}

BoundArgument rondo::copiedBytes() {
  return {"C1", "memory over time and idle ends, with copies to the host",
          computeCopiedBytes, BoundCost::Tasks};
}
