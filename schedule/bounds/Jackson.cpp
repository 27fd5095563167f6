//===- Jackson.cpp - LB3: one machine, preemptive -------------------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Every task has an earliest start and a least tail; Jackson's preemptive
// schedule of a rank's tasks is the best that the rank could do with these. A
// serial link is a machine too, and its messages are the tasks. J. R. Jackson,
// 1955; as a bound of job shops: Carlier and Pinson, 1989.
//
//===----------------------------------------------------------------------===//

#include "schedule/bounds/Arguments.h"
#include "schedule/bounds/UnevenBounds.h"
#include "schedule/partial/Propagation.h"

using namespace rondo;

static int64_t computeJackson(const Problem &problem, int64_t, int64_t) {
  if (problem.isUneven())
    return unevenJackson(problem);
  std::optional<FlatProblem> flat =
      FlatProblem::of(problem, BackwardCosts::Least);
  if (!flat || !flat->offsetsAreExact)
    return 0;
  return Propagation(*flat, false).estimate(PartialState(*flat)).bound;
}

BoundArgument rondo::jacksonBound() {
  return {"L3", "Jackson's preemptive schedule of each rank and serial link",
          computeJackson, BoundCost::Tasks, true};
}
