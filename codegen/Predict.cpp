//===- Predict.cpp - Predicted times and memory of a program --------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "codegen/Predict.h"

#include "dialect/Bridge.h"
#include "schedule/order/Residency.h"
#include "schedule/program/ProgramSimulator.h"
#include "schedule/simulate/SettledTime.h"

#include <algorithm>
#include <utility>

using namespace rondo;

mlir::LogicalResult
rondo::codegen::predict(pipe::ScheduleOp schedule, const Problem &problem,
                        const pipe::CheckedSchedules *checked,
                        const Program &program, ProgramText &text) {
  pipe::CheckedSchedule own;
  const pipe::CheckedSchedule *known =
      checked ? checked->of(schedule) : nullptr;
  if (!known) {
    auto order = pipe::expandSchedule(schedule, problem);
    if (failed(order))
      return mlir::failure();
    own.schedule = std::move(order->schedule);
    own.simulation = simulate(problem, own.schedule);
    known = &own;
  }
  const Simulation &simulation = known->simulation;
  text.predictedNs = simulation.makespanNs;
  // What the schedule does not have: sums over replicas, and launches that are
  // held back.
  if (problem.replicas.isReplicated() ||
      !limitResidency(problem, program.order, program.resident).empty())
    text.predictedNs = std::max(text.predictedNs,
                                simulateProgram(problem, program).makespanNs);
  for (int64_t ns : simulation.rankWorkNs)
    text.predictedWorkNs += ns / problem.iterations;
  if (problem.iterations > 1) {
    const SettledTime settled =
        settledTime(problem, known->schedule,
                    simulate(problem, known->schedule, /*keepTimes=*/true));
    text.predictedNs = settled.ns / settled.iterations;
  }
  text.peakMemoryBytes = simulation.peakBytes;
  return mlir::success();
}
