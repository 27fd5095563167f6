//===- RunToEnd.h - The run by which S4 and S8 judge ------------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Only for the rules that run a schedule, and for Legality.cpp, which hands on
// the simulation that they have made.
//
//===----------------------------------------------------------------------===//

#ifndef RONDO_SCHEDULE_RULES_RUNTOEND_H
#define RONDO_SCHEDULE_RULES_RUNTOEND_H

#include "schedule/rules/Legality.h"

namespace rondo {

/// S4, and the simulation that has told. With its times if `keepTimes` is set.
std::optional<Fault> runToEnd(const Problem &, const Schedule &, bool keepTimes,
                              Simulation &simulation);
/// S8 of a window by the run of runToEnd(), with its times.
std::optional<Fault> checkVersionsOfRun(const Problem &, const Schedule &,
                                        const Simulation &);

} // namespace rondo

#endif // RONDO_SCHEDULE_RULES_RUNTOEND_H
