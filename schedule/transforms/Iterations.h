//===- Iterations.h - Schedules over several iterations ---------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Windows of iterations that may overlap. Micro-batches and steps are numbered
// consecutively through a window.
//
//===----------------------------------------------------------------------===//

#ifndef RONDO_SCHEDULE_TRANSFORMS_ITERATIONS_H
#define RONDO_SCHEDULE_TRANSFORMS_ITERATIONS_H

#include "schedule/model/Fault.h"
#include "schedule/model/Problem.h"
#include "schedule/model/Schedule.h"

#include <optional>

namespace rondo {

/// The problem of a single iteration with the same micro-batches per iteration.
Problem oneIteration(const Problem &problem);

/// The same problem over `iterations` iterations. A fault if the total number
/// of micro-batches exceeds maxMicrobatches or check() fails.
Result<Problem> overIterations(const Problem &problem, int64_t iterations);

/// A window in which every iteration has the order of one iteration, followed
/// by the steps of the rank's stages unless the order contains steps. `order`
/// is for oneIteration(problem). O(actions).
Schedule repeatOrder(const Problem &problem, const Schedule &order);

/// The same problem in slots, as in the papers on asynchronous schedules: each
/// task takes one slot of 1 ns, also if it serves several micro-batches; steps
/// and messages take no time.
Problem inSlots(const Problem &problem);

} // namespace rondo

#endif // RONDO_SCHEDULE_TRANSFORMS_ITERATIONS_H
