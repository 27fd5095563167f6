//===- Baselines.cpp - Plans of published planners ------------------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "planning/chain/Baselines.h"

#include "planning/chain/WorkingPlan.h"
#include "planning/chain/baselines/Planners.h"

#include <numeric>

using namespace rondo;

const std::vector<Baseline> &rondo::baselines() {
  static const std::vector<Baseline> table = {
      {"data-parallel", "one stage on all devices", baseline::dataParallel},
      {"megatron",
       "equal numbers of layers, one device a stage (Megatron-LM, Narayanan et "
       "al. 2021)",
       baseline::megatron},
      {"torchtitan",
       "torchtitan's even cut, one device a stage (Liang et al. 2025)",
       baseline::torchtitan},
      {"gpipe", "equal compute, one device a stage (GPipe, Huang et al. 2019)",
       baseline::gpipe},
      {"hetpipe-like",
       "a pipeline in each server, data parallel among servers (HetPipe, Park "
       "et al. 2020)",
       baseline::hetpipe},
      {"pipedream",
       "least slowest stage, one bandwidth, replicas (PipeDream, Narayanan et "
       "al. 2019), run with a flush",
       baseline::pipedream},
      {"dapple-like",
       "least pipeline latency around a pivot stage (DAPPLE, Fan et al. 2021)",
       baseline::dapple, /*isQuick=*/false},
      {"alpa",
       "least latencies plus slowest stages, on sub-meshes (Alpa, Zheng et al. "
       "2022)",
       baseline::alpa},
      {"spp", "least workloads over ordered devices (SPP, Luo et al. 2022)",
       baseline::spp, /*isQuick=*/false},
  };
  return table;
}

void rondo::offerQuickPlans(
    const ChainProblem &problem, PlanEvaluator evaluator,
    const std::function<bool()> &isOver,
    const std::function<void(const ChainPlan &)> &offer) {
  if (problem.numDevices() > maxQuickDevices)
    return;
  for (const Baseline &baseline : baselines())
    if (baseline.isQuick && !isOver())
      if (const BaselinePlan found = baseline.plan(problem, evaluator);
          found.plan)
        offer(*found.plan);
}

std::vector<TimedBaseline> rondo::runBaselines(const ChainProblem &problem,
                                               PlanEvaluator evaluator) {
  const ChainCosts costs(problem);
  std::vector<TimedBaseline> results;
  for (const Baseline &baseline : baselines()) {
    TimedBaseline result;
    result.baseline = &baseline;
    result.found = baseline.plan(problem, evaluator);
    if (const std::optional<ChainPlan> &plan = result.found.plan) {
      result.timeNs = baseline::timeOf(problem, evaluator, *plan);
      result.memoryBytes = WorkingPlan(problem, *plan).memoryBytes(costs);
    }
    results.push_back(std::move(result));
  }
  return results;
}

int64_t baseline::timeOf(const ChainProblem &problem, PlanEvaluator evaluator,
                         const ChainPlan &plan) {
  std::vector<StageNs> times;
  WorkingPlan(problem, plan).times(problem, ChainCosts(problem), times);
  return PlanTimer(problem, evaluator).run(times);
}

baseline::ServerRow baseline::devicesByServer(const ChainProblem &problem) {
  ServerRow row;
  row.devices.resize(problem.numDevices());
  std::iota(row.devices.begin(), row.devices.end(), 0);
  std::stable_sort(row.devices.begin(), row.devices.end(),
                   [&](int32_t a, int32_t b) {
                     return problem.nodeOf[a] < problem.nodeOf[b];
                   });
  for (int32_t i = 0; i < problem.numDevices(); ++i)
    if (i == 0 ||
        problem.nodeOf[row.devices[i]] != problem.nodeOf[row.devices[i - 1]])
      row.starts.push_back(i);
  row.starts.push_back(problem.numDevices());
  return row;
}

BaselinePlan baseline::tooLarge(const ChainProblem &problem) {
  return {std::nullopt, std::to_string(problem.numLayers()) + " layers on " +
                            std::to_string(problem.numDevices()) +
                            " devices are too many for its program"};
}

bool baseline::hasManySteps(const ChainProblem &problem) {
  constexpr double maxSteps = 2e9;
  const double states = double(problem.numLayers()) * problem.numDevices();
  return states * states > maxSteps;
}
