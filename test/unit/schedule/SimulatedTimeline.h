//===- SimulatedTimeline.h - The timeline of a simulation -------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#ifndef RONDO_TEST_UNIT_SCHEDULE_SIMULATEDTIMELINE_H
#define RONDO_TEST_UNIT_SCHEDULE_SIMULATEDTIMELINE_H

#include "schedule/simulate/Simulator.h"
#include "schedule/timeline/Timeline.h"

namespace rondo::test {

inline Timeline timelineOf(const Problem &problem, const Schedule &schedule) {
  return layOut(problem, schedule,
                simulate(problem, schedule, /*keepTimes=*/true));
}

} // namespace rondo::test

#endif // RONDO_TEST_UNIT_SCHEDULE_SIMULATEDTIMELINE_H
