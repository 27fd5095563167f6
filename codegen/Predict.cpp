//===- Predict.cpp - Predicted times and memory of a program --------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "codegen/Predict.h"

#include "schedule/Iterations.h"
#include "schedule/Residency.h"

#include <algorithm>

using namespace rondo;

void rondo::codegen::predict(const Problem &problem, const Schedule &order,
                             const Simulation &simulation,
                             const Program &program, ProgramText &text) {
  text.predictedNs = simulation.makespanNs;
  // What the schedule does not have: sums over homes, and launches that are
  // held back.
  if (problem.homes.hasReplicas() ||
      !limitResidency(problem, program.order, program.resident).empty())
    text.predictedNs = std::max(text.predictedNs,
                                simulateProgram(problem, program).makespanNs);
  for (int64_t ns : simulation.rankWorkNs)
    text.predictedWorkNs += ns / problem.iterations;
  if (problem.iterations > 1)
    text.predictedNs = settledIterationNs(problem, order);
  text.peakMemoryBytes = simulation.peakBytes;
}
