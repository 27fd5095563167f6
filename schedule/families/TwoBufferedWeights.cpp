//===- TwoBufferedWeights.cpp - PipeDream-2BW -------------------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Narayanan et al., "Memory-Efficient Pipeline-Parallel DNN Training", ICML
// 2021, arXiv 2006.09503. The order is PipeDream's. All micro-batches of an
// iteration read the version that stage 0 had when the first of them entered,
// so that an iteration of at least S micro-batches is exactly one update late,
// and each stage keeps two versions.
//
//===----------------------------------------------------------------------===//

#include "schedule/families/LinearOrders.h"
#include "schedule/families/Registry.h"

using namespace rondo;

static FamilyResult generateTwoBuffered(const Problem &problem,
                                        const FamilyArguments &) {
  if (problem.microbatchesEach() < problem.numStages())
    return makeFault<FaultKind::FewForTwoVersions>(
        "2bw", problem.microbatchesEach(), problem.numStages());
  return oneForwardOneBackward("2bw", problem);
}

Family rondo::twoBufferedWeights() {
  Family family;
  family.name = "2bw";
  family.summary = "1F1B without flush, two versions of the weights";
  family.source = "Narayanan et al., arXiv 2006.09503";
  family.generate = generateTwoBuffered;
  family.policy = "2bw";
  return family;
}
