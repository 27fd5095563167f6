//===- RunToEnd.h - The run by which S4 and S8 judge ------------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Only for the rules that simulate a schedule, and for Legality.cpp, which
// returns their simulation to its caller.
//
//===----------------------------------------------------------------------===//

#ifndef RONDO_SCHEDULE_RULES_RUNTOEND_H
#define RONDO_SCHEDULE_RULES_RUNTOEND_H

#include "schedule/rules/Legality.h"

namespace rondo {

/// S4. `simulation` is the run, with its times if `keepTimes` is set.
std::optional<Fault> runToEnd(const Problem &, const Schedule &, bool keepTimes,
                              Simulation &simulation);
/// S8 of a window, for the simulation of runToEnd() with times.
std::optional<Fault> checkVersionsOfRun(const Problem &, const Schedule &,
                                        const Simulation &);

} // namespace rondo

#endif // RONDO_SCHEDULE_RULES_RUNTOEND_H
