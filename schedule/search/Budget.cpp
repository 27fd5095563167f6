//===- Budget.cpp - The remaining time and work of a search ---------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "schedule/search/Budget.h"

#include <algorithm>
#include <chrono>

using namespace rondo;

static double wallSeconds() {
  return std::chrono::duration<double>(
             std::chrono::steady_clock::now().time_since_epoch())
      .count();
}

Budget::Budget(const SearchOptions &options)
    : options(&options), clock(options.clock ? options.clock : wallSeconds),
      begin(clock()) {}

Budget Budget::part(int64_t tasks) const {
  Budget part = *this;
  part.limit = tasks < never - used ? used + tasks : never;
  part.effortKept = 0;
  part.usedBefore = used;
  part.spent = false;
  part.why = SearchStop::Exhausted;
  return part;
}

void Budget::join(const Budget &part) {
  used += part.used - part.usedBefore;
  if (part.why == SearchStop::Exhausted)
    return;
  why = part.why;
  spent = true;
}

double Budget::seconds() const { return clock() - begin; }

const char *rondo::stopName(SearchStop stop) {
  switch (stop) {
  case SearchStop::Optimal:
    return "optimal";
  case SearchStop::Time:
    return "time";
  case SearchStop::Interrupted:
    return "interrupted";
  case SearchStop::Exhausted:
    break;
  }
  return "exhausted";
}

/// Tasks between two readings of the clock.
static constexpr int64_t lookEvery = 2000;

int64_t Budget::tasksInTime() const {
  if (options->timeLimitMs <= 0)
    return never;
  const double elapsed = seconds() * 1000;
  const double worked = elapsed + secondsBeside * 1000;
  const double left = double(options->timeLimitMs) *
                          (reserved > 0 ? 1 - 1 / double(reserved) : 1) -
                      elapsed;
  if (left <= 0)
    return 0;
  // The average time per task so far, plus a tenth. The average includes
  // `firstTasks` assumed tasks of 40 ns each.
  constexpr double firstTasks = 100000, firstMs = 4;
  const double tasks =
      left * (double(used) + firstTasks) / (1.1 * (worked + firstMs)) -
      double(kept);
  return tasks < double(never) ? std::max<int64_t>(0, int64_t(tasks)) : never;
}

bool Budget::isSpent(int64_t next) {
  if (spent)
    return true;
  if (tasksLeft() <= 0) {
    spent = true;
    return true;
  }
  // Reading the clock takes as long as a few tasks.
  if (used < nextLook && next < lookEvery)
    return false;
  nextLook = used + lookEvery;
  if (isCut && isCut()) {
    spent = true;
    return true;
  }
  if (options->interrupt && options->interrupt->load()) {
    why = SearchStop::Interrupted;
    spent = true;
    return true;
  }
  if (!hasTimeFor(next)) {
    why = SearchStop::Time;
    spent = true;
  }
  return spent;
}
