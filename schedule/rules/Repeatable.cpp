//===- Repeatable.cpp - Orders of windows that a program repeats ----------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "schedule/rules/Repeatable.h"

#include "schedule/order/Repeating.h"
#include "schedule/rules/Legality.h"

using namespace rondo;

static Result<Repeating> repetitionOf(const Problem &window,
                                      const Schedule &schedule,
                                      RepetitionEnd end) {
  return findRepetition(schedule, window.iterations, window.microbatchesEach(),
                        end);
}

std::optional<Schedule> rondo::repeatableOrder(const Problem &window,
                                               Schedule schedule) {
  if (repetitionOf(window, schedule, RepetitionEnd::Drained))
    return schedule;
  const Result<Repeating> found =
      repetitionOf(window, schedule, RepetitionEnd::Any);
  if (!found)
    return std::nullopt;
  Schedule run = runOf(*found, window.iterations, window.microbatchesEach());
  if (!repetitionOf(window, run, RepetitionEnd::Drained) ||
      checkSchedule(window, run))
    return std::nullopt;
  return run;
}
