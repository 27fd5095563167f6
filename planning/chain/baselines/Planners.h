//===- Planners.h - The planners in the table of baselines ------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Each file states what follows the paper and what this reconstruction adds.
//
//===----------------------------------------------------------------------===//

#ifndef RONDO_PLANNING_CHAIN_BASELINES_PLANNERS_H
#define RONDO_PLANNING_CHAIN_BASELINES_PLANNERS_H

#include "planning/chain/Baselines.h"

namespace rondo::baseline {

BaselinePlan dataParallel(const ChainProblem &problem, PlanEvaluator evaluator);
BaselinePlan megatron(const ChainProblem &problem, PlanEvaluator evaluator);
BaselinePlan torchtitan(const ChainProblem &problem, PlanEvaluator evaluator);
BaselinePlan gpipe(const ChainProblem &problem, PlanEvaluator evaluator);
BaselinePlan hetpipe(const ChainProblem &problem, PlanEvaluator evaluator);
BaselinePlan pipedream(const ChainProblem &problem, PlanEvaluator evaluator);
BaselinePlan dapple(const ChainProblem &problem, PlanEvaluator evaluator);
BaselinePlan alpa(const ChainProblem &problem, PlanEvaluator evaluator);
BaselinePlan spp(const ChainProblem &problem, PlanEvaluator evaluator);

/// The time of a plan by the evaluator.
int64_t timeOf(const ChainProblem &problem, PlanEvaluator evaluator,
               const ChainPlan &plan);
/// The devices by server and number; `starts` has the place of each server's
/// first device, and ends with the number of devices.
struct ServerRow {
  std::vector<int32_t> devices, starts;
};
ServerRow devicesByServer(const ChainProblem &problem);
/// The result for a problem for which a planner's program would take minutes or
/// gigabytes: no plan, and the reason.
BaselinePlan tooLarge(const ChainProblem &problem);
/// Whether (layers * devices)^2 steps would take too long.
bool hasManySteps(const ChainProblem &problem);

} // namespace rondo::baseline

#endif // RONDO_PLANNING_CHAIN_BASELINES_PLANNERS_H
