//===- Iterations.h - Schedules over several iterations ---------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// A window of iterations that may overlap. Micro-batches and steps are numbered
// through it.
//
//===----------------------------------------------------------------------===//

#ifndef RONDO_SCHEDULE_TRANSFORMS_ITERATIONS_H
#define RONDO_SCHEDULE_TRANSFORMS_ITERATIONS_H

#include "schedule/model/Fault.h"
#include "schedule/model/Problem.h"
#include "schedule/model/Schedule.h"

#include <optional>

namespace rondo {

/// The problem of a single iteration, with the same micro-batches in each.
Problem oneIteration(const Problem &problem);

/// The same problem over `iterations`. A fault where there would be too many
/// micro-batches.
Result<Problem> overIterations(const Problem &problem, int64_t iterations);

/// A window in which every iteration has the order of one, followed by the
/// steps of its rank's stages. `order` is of oneIteration(problem). O(actions).
Schedule repeatOrder(const Problem &problem, const Schedule &order);

/// The same problem as the papers on asynchronous schedules count it: each task
/// takes one slot of 1 ns, whatever it serves; steps and messages take no time.
Problem inSlots(const Problem &problem);

} // namespace rondo

#endif // RONDO_SCHEDULE_TRANSFORMS_ITERATIONS_H
