//===- FewestDevices.cpp - Plans that fit memory --------------------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "planning/chain/FewestDevices.h"

using namespace rondo;

std::optional<FittingStages> rondo::fewestDevices(const ChainProblem &problem,
                                                  int64_t memoryBytes) {
  const ChainCosts costs(problem);
  const int32_t L = problem.numLayers();
  // [number of stages from the layer on][first layer].
  const size_t side = static_cast<size_t>(L) + 1;
  std::vector<int64_t> least(side * side, infinite);
  std::vector<int32_t> next(side * side, 0);
  least[L] = 0;
  for (int32_t stages = 1; stages <= L; ++stages)
    for (int32_t first = 0; first < L; ++first)
      for (int32_t end = first + 1; end <= L; ++end) {
        const int64_t rest = least[(stages - 1) * side + end];
        if (rest == infinite)
          continue;
        const std::optional<int64_t> own =
            costs.devicesFor(first, end, stages - 1, memoryBytes);
        int64_t &best = least[stages * side + first];
        if (!own || *own + rest >= best)
          continue;
        best = *own + rest;
        next[stages * side + first] = end;
      }
  int32_t best = 1;
  for (int32_t stages = 2; stages <= L; ++stages)
    if (least[stages * side] < least[best * side])
      best = stages;
  if (least[best * side] == infinite)
    return {};
  FittingStages result;
  result.devices = least[best * side];
  for (int32_t first = 0, stages = best; stages > 0; --stages) {
    const int32_t end = next[stages * side + first];
    result.stages.push_back(
        {first, end, *costs.devicesFor(first, end, stages - 1, memoryBytes)});
    first = end;
  }
  return result;
}

static bool fits(const ChainProblem &problem, int64_t memoryBytes) {
  const std::optional<FittingStages> stages =
      fewestDevices(problem, memoryBytes);
  return stages && stages->devices <= problem.numDevices();
}

int64_t rondo::leastMemoryBytes(const ChainProblem &problem) {
  const ChainCosts costs(problem);
  // All layers on one device fit in this much memory.
  int64_t least = 0, most = costs.memoryBytes(0, problem.numLayers(), 1, 0);
  while (least < most) {
    const int64_t middle = least + (most - least) / 2;
    if (fits(problem, middle))
      most = middle;
    else
      least = middle + 1;
  }
  return least;
}

std::vector<ChainPlan>
rondo::fittingPlans(const ChainProblem &problem, int64_t memoryBytes,
                    const std::vector<std::vector<int32_t>> &orders) {
  std::vector<ChainPlan> plans;
  const std::optional<FittingStages> fitting =
      memoryBytes > 0 ? fewestDevices(problem, memoryBytes) : std::nullopt;
  if (!fitting || fitting->devices > problem.numDevices())
    return plans;
  for (const std::vector<int32_t> &order : orders) {
    ChainPlan &plan = plans.emplace_back();
    auto device = order.begin();
    for (const FittingStages::Stage &stage : fitting->stages) {
      plan.push_back(
          {stage.first, stage.end, {device, device + stage.devices}});
      device += stage.devices;
    }
    if (problem.memoryLess.empty())
      break;
  }
  return plans;
}

std::optional<Fault> rondo::findMemoryFault(const ChainProblem &problem) {
  if (problem.memoryBytes == 0)
    return {};
  const int64_t least = leastMemoryBytes(problem);
  if (least <= problem.memoryBytes)
    return {};
  const std::optional<FittingStages> stages =
      fewestDevices(problem, problem.memoryBytes);
  Fault fault =
      makeFault<FaultKind::PlanShortOfMemory>(stages ? stages->devices : 0);
  fault.found = least;
  fault.allowed = problem.memoryBytes;
  return fault;
}
