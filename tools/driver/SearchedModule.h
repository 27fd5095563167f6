//===- SearchedModule.h - A plan with a searched schedule -------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#ifndef RONDO_TOOLS_DRIVER_SEARCHEDMODULE_H
#define RONDO_TOOLS_DRIVER_SEARCHEDMODULE_H

#include "lowering/Lowering.h"
#include "schedule/model/Problem.h"
#include "schedule/model/Schedule.h"

#include <optional>
#include <string>
#include <vector>

namespace rondo::driver {

/// Lets a plan's problem count the bytes of its stages' weights, of which a
/// window may keep several versions.
void countWeights(const PlanFigures &figures, Problem &problem);

/// The arenas of the program that compiling makes of a window's order, in bytes
/// by rank. The window is of a plan of that name in `input`, with costs from
/// `costs` unless that is empty. Nothing where there is no such program, for
/// example because the order does not repeat within the window. Prints nothing
/// of that.
std::optional<std::vector<int64_t>> arenasOfWindow(const std::string &input,
                                                   const std::string &costs,
                                                   const Problem &window,
                                                   const Schedule &schedule);

/// Writes a module with the plan of a file that the problem is of, as it is
/// written there, its model and cluster, and the schedule: of a window as what
/// begins a run and what repeats. Every failure has been printed; returns the
/// exit code.
int writeSearchedModule(const std::string &input, const Problem &problem,
                        const Schedule &schedule, const std::string &output);

} // namespace rondo::driver

#endif // RONDO_TOOLS_DRIVER_SEARCHEDMODULE_H
