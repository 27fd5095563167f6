//===- WideningBeam.cpp - Beams as wide as time allows --------------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "schedule/search/WideningBeam.h"

#include <algorithm>

using namespace rondo;

bool WideningBeam::isDue() const {
  return cost < budget.tasksUsed() / (hasFound ? 1 : 4) &&
         cost < budget.tasksLeft() && budget.hasTimeFor(cost);
}

bool WideningBeam::run() {
  const int64_t before = budget.tasksUsed(), known = best.objective;
  const bool wentThrough = beam(flat, width, best, budget);
  hasFound = best.objective < known;
  width *= int64_t(widening);
  // If wider beams do not take longer, little is left to search.
  const double taken = double(budget.tasksUsed() - before);
  const double growth = last > 0 ? std::min(widening, taken / last) : widening;
  cost = wentThrough ? never : int64_t(taken * growth);
  last = taken;
  return wentThrough;
}
