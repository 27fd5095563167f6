//===- Predict.cpp - Predicted times and memory of a program --------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "codegen/Predict.h"

#include "schedule/order/Residency.h"
#include "schedule/program/ProgramSimulator.h"
#include "schedule/simulate/SettledTime.h"

#include <algorithm>

using namespace rondo;

void rondo::codegen::predict(const pipe::CheckedSchedule &schedule,
                             const Program &program, ProgramText &text) {
  const Problem &problem = schedule.problem();
  const Simulation &simulation = schedule.simulation();
  text.predictedNs = simulation.makespanNs;
  // The schedule itself has neither sums over replicas nor launches that are
  // held back.
  if (problem.replicas.isReplicated() ||
      !limitResidency(problem, program.order, program.resident).empty())
    text.predictedNs = std::max(text.predictedNs,
                                simulateProgram(problem, program).makespanNs);
  for (int64_t ns : simulation.rankWorkNs)
    text.predictedWorkNs += ns / problem.iterations;
  if (problem.iterations > 1) {
    const SettledTime settled =
        settledTime(problem, schedule.order(), simulation);
    text.predictedNs = settled.ns / settled.iterations;
  }
  text.peakMemoryBytes = simulation.peakBytes;
}
