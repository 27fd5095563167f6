//===- ScheduledBaselines.cpp - Schedules of other plans ------------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "planning/scheduled/ScheduledBaselines.h"

#include "planning/scheduled/ScheduledPlanner.h"

using namespace rondo;

static TimedBaseline planOf(const Baseline &row, const ChainProblem &problem,
                            ChainPlannerOptions options,
                            PlanEvaluator evaluator) {
  options.evaluator = evaluator;
  const ChainPlannerResult found = planChain(problem, options);
  TimedBaseline result;
  result.baseline = &row;
  result.found.plan = found.plan;
  if (found.fault)
    result.found.whyNot = describe(*found.fault);
  return result;
}

std::vector<TimedBaseline>
rondo::scheduleBaselines(const ChainProblem &problem,
                         const ChainPlannerOptions &options) {
  static const Baseline ofOneFOneB = {"rondo-1f1b",
                                      "Rondo's plan under evaluator 1f1b",
                                      nullptr},
                        ofSpp = {"rondo-spp",
                                 "Rondo's plan under evaluator spp-full-duplex",
                                 nullptr};
  std::vector<TimedBaseline> rows = {
      planOf(ofOneFOneB, problem, options, PlanEvaluator::OneFOneB),
      planOf(ofSpp, problem, options, PlanEvaluator::SppFullDuplex)};
  for (TimedBaseline &row : runBaselines(problem, PlanEvaluator::OneFOneB))
    rows.push_back(std::move(row));
  ChainProblem unlimited = problem;
  unlimited.memoryBytes = 0;
  PlanJudge judge(problem), generous(unlimited);
  for (TimedBaseline &row : rows) {
    if (!row.found.plan)
      continue;
    PlanJudge *used = &judge;
    std::optional<ScheduledPlan> plan =
        judge.judge(*row.found.plan, FamilyEffort::All);
    if (!plan) {
      used = &generous;
      plan = generous.judge(*row.found.plan, FamilyEffort::All);
    }
    if (!plan) {
      row.found = {std::nullopt, "it cannot be simulated"};
      row.timeNs = row.memoryBytes = 0;
      continue;
    }
    used->search(*plan, orderSearchOptions(options));
    row.timeNs = plan->timeNs;
    row.memoryBytes = plan->memoryBytes;
  }
  return rows;
}
