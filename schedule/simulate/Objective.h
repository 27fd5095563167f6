//===- Objective.h - The objective of a search ------------------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#ifndef RONDO_SCHEDULE_SIMULATE_OBJECTIVE_H
#define RONDO_SCHEDULE_SIMULATE_OBJECTIVE_H

#include "schedule/model/Problem.h"
#include "schedule/simulate/Simulator.h"

namespace rondo {

/// `makespan` or `span`, as in formats and messages.
inline const char *objectiveName(const Problem &problem) {
  return problem.objective == Objective::Span ? "span" : "makespan";
}

/// The value of the objective. Precondition: the simulation is complete.
inline int64_t objectiveOf(const Problem &problem,
                           const Simulation &simulation) {
  return problem.objective == Objective::Span ? simulation.spanNs
                                              : simulation.makespanNs;
}

} // namespace rondo

#endif // RONDO_SCHEDULE_SIMULATE_OBJECTIVE_H
