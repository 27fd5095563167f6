//===- WideningBeam.cpp - Beams as wide as time allows --------------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "schedule/search/WideningBeam.h"
#include "schedule/search/SearchParts.h"

#include <algorithm>

using namespace rondo;

/// Conservative estimate of a beam's speedup by threads.
double WideningBeam::speed() const {
  return 1 + 0.6 * double(workers.available() - 1);
}

bool WideningBeam::isDue() {
  if (flat.tasks() <= fewTasks && cost < never && isLast())
    return true;
  const int64_t parts = hasFound || flat.tasks() <= fewTasks ? 1 : 4;
  return cost < budget.tasksUsed() / parts && cost < budget.tasksLeft() &&
         budget.hasTimeFor(int64_t(double(cost) / speed()));
}

/// Whether the next beam is the last one, since no two more beams fit the
/// remaining budget. If so, makes it as wide as fits. Keeps 15 % in reserve: a
/// beam finds nothing before it ends.
bool WideningBeam::isLast() {
  const double left = 0.85 * std::min(double(budget.tasksLeft()),
                                      double(budget.tasksInTime()) * speed());
  const double before = double(width) / widening;
  if (double(cost) * (1 + widening) <= left || last <= 0)
    return false;
  const double most =
      std::min(left / last * before, before * widening * widening);
  if (most < std::max(1.5 * before, widthWorthWhile))
    return false;
  width = int64_t(most);
  return true;
}

bool WideningBeam::run() {
  const int64_t before = budget.tasksUsed(), known = best.objective;
  const bool wentThrough = beam(flat, width, best, budget, &workers);
  hasFound = best.objective < known;
  width *= int64_t(widening);
  // If a wider beam does not take longer, little is left to search.
  const double taken = double(budget.tasksUsed() - before);
  const double growth = last > 0 ? std::min(widening, taken / last) : widening;
  cost = wentThrough ? never : int64_t(taken * growth);
  last = taken;
  return wentThrough;
}

/// Up to this many tasks, a beam is worth its quadratic time.
static constexpr int64_t guidedTasks = 1600;

static bool isWorthBeams(const FlatProblem &flat) {
  return flat.tasks() <= guidedTasks;
}

SearchPart rondo::beamSearch() {
  return {"beam",
          "layers of partial schedules with dominance",
          PartPhase::Between,
          nullptr,
          0,
          isWorthBeams};
}
