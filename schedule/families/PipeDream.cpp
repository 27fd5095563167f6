//===- PipeDream.cpp - 1F1B without flush -----------------------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Narayanan et al., "PipeDream", SOSP 2019, arXiv 1806.03377. 1F1B goes on into
// the next iteration, and each stage steps after the last backward of an
// iteration. The backward of a micro-batch reads the weights that its forward
// has read. With one micro-batch an iteration, stage s keeps S - s versions.
//
//   one micro-batch an iteration, U a step
//   rank 0   F0 F1 F2       B0 B0 U F3 B1 B1 U F4 ...
//   rank 1      F0 F1 B0 B0 U F2 B1 B1 U F3 ...
//
//===----------------------------------------------------------------------===//

#include "schedule/families/LinearOrders.h"
#include "schedule/families/Registry.h"

using namespace rondo;

static FamilyResult generatePipeDream(const Problem &problem,
                                      const FamilyArguments &) {
  return oneForwardOneBackward("pipedream", problem);
}

Family rondo::pipeDream() {
  Family family;
  family.name = "pipedream";
  family.summary = "1F1B without flush; the backward has its forward's weights";
  family.source = "Narayanan et al., arXiv 1806.03377";
  family.generate = generatePipeDream;
  family.policy = "pipedream";
  return family;
}
