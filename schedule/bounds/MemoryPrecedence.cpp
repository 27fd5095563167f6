//===- MemoryPrecedence.cpp - L4: what must be given back first -----------===//
//
// Before the k-th F of a stage starts, enough must have been given back that it
// fits the cap. The earliest time at which that many bytes can be free delays
// the heads of L3. What the cap puts behind a task lengthens its tail.
//
//===----------------------------------------------------------------------===//

#include "schedule/bounds/Arguments.h"
#include "schedule/bounds/Propagation.h"

using namespace rondo;

static int64_t computeMemory(const Problem &problem, int64_t, int64_t) {
  std::optional<Chain> chain = Chain::of(problem, BackwardCosts::Least);
  if (!chain || !chain->offsetsAreExact || !chain->hasTightMemory)
    return 0;
  int64_t bound =
      Propagation(*chain, true).estimate(PartialState(*chain)).bound;
  // A problem without a schedule has no objective to speak of.
  return bound >= never ? 0 : bound;
}

BoundArgument rondo::memoryPrecedence() {
  return {"L4", "L3 with heads and tails of the memory cap", computeMemory,
          false};
}
