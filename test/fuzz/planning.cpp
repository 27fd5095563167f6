//===- planning.cpp - Fuzzes the reader of rondo-planning -----------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Small problems are planned too, with whatever figures they have.
//
//===----------------------------------------------------------------------===//

#include "formats/json/PlanWriter.h"
#include "formats/json/PlanningReader.h"
#include "planning/scheduled/ScheduledPlanner.h"
#include "test/fuzz/Target.h"

using namespace rondo;

static void check(const ChainProblem &problem, const char *evaluator,
                  const ChainPlannerResult &result) {
  fuzz::require(result.plan.has_value() != result.fault.has_value(),
                "there is a plan, or a reason why not");
  std::string text;
  llvm::raw_string_ostream os(text);
  json::writePlan(os, problem, evaluator, result);
  if (!result.plan)
    return;
  fuzz::require(result.lowerBoundNs <= result.timeNs, "a bound is below");
  fuzz::require(problem.memoryBytes == 0 ||
                    result.memoryBytes <= problem.memoryBytes,
                "a plan fits memory");
  fuzz::require(result.timeNs >= 0 && result.memoryBytes >= 0,
                "no sum overflows");
}

static void plan(const ChainProblem &problem) {
  ChainPlannerOptions options;
  options.timeLimitMs = 5;
  options.effort = 1;
  for (int k = 0; k < numPlanEvaluators; ++k) {
    options.evaluator = static_cast<PlanEvaluator>(k);
    check(problem, nameOf(options.evaluator), planChain(problem, options));
  }
  check(problem, "rondo", planScheduled(problem, options).found);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
  const std::string text = fuzz::textOf(data, size);
  Result<std::vector<ChainProblem>> problems =
      json::readPlanningProblems("a.jsonl", text);
  if (!problems) {
    fuzz::require(!describe(problems.fault()).empty(), "an error says why");
    return 0;
  }
  for (const ChainProblem &problem : *problems)
    if (problem.numLayers() <= 8 && problem.numDevices() <= 8 &&
        problem.microbatches <= 64)
      plan(problem);
  return 0;
}
