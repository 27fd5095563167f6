//===- Spp.cpp - SPP's planner --------------------------------------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// From the paper: an order of devices by recursive minimum cuts, the program of
// least workloads over it, and its execution order. The details of all three
// are reconstructed (DeviceOrder.h, MinMaxProgram.h, PlanTimer.h). The
// evaluator chooses the fastest of the plans for all numbers of stages and of
// devices of the last one.
//
//===----------------------------------------------------------------------===//

#include "planning/chain/DeviceOrder.h"
#include "planning/chain/MinMaxProgram.h"
#include "planning/chain/baselines/Planners.h"

using namespace rondo;

BaselinePlan baseline::spp(const ChainProblem &problem,
                           PlanEvaluator evaluator) {
  // The program's states grow with the square of the devices, its steps with
  // the cube.
  constexpr int32_t maxDevices = 64;
  constexpr double maxStates = 2e7;
  const int32_t L = problem.numLayers(), G = problem.numDevices();
  if (G > maxDevices || double(L) * std::min(L, G) * G * G > maxStates)
    return tooLarge(problem);
  // The paper's workloads ignore NICs.
  ChainProblem apart = problem;
  apart.nicOf.clear();
  const OrderedGroups groups(apart, orderByMinimumCuts(apart));
  const MinMaxProgram program(apart, groups, std::min(L, G));
  BaselinePlan best;
  int64_t least = infinite;
  for (int32_t stages = 1; stages <= program.maxStages(); ++stages)
    for (int32_t last = 1; last <= G; ++last) {
      if (program.workload(stages, last) == infinite)
        continue;
      ChainPlan plan = program.plan(stages, last);
      const int64_t now = timeOf(problem, evaluator, plan);
      if (now >= least)
        continue;
      least = now;
      best.plan = std::move(plan);
    }
  return best;
}
