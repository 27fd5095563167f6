//===- Deadlock.cpp - S4: no wait cycle -------------------------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "schedule/Legality.h"

using namespace rondo;

std::optional<Violation> rondo::checkDeadlock(const Simulation &simulation) {
  if (simulation.complete)
    return std::nullopt;
  Violation violation;
  violation.rule = Rule::Deadlock;
  violation.what = Violation::What::Cycle;
  violation.cycle = simulation.cycle;
  if (!simulation.cycle.empty()) {
    violation.rank = simulation.cycle[0].rank;
    violation.action = simulation.cycle[0].at;
    violation.otherRank = simulation.cycle[0].onRank;
    violation.other = simulation.cycle[0].needs;
  }
  return violation;
}
