//===- ChainExamples.h - Layers and devices of tests ------------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#ifndef RONDO_TEST_UNIT_PLANNING_CHAINEXAMPLES_H
#define RONDO_TEST_UNIT_PLANNING_CHAINEXAMPLES_H

#include "planning/chain/PlanTimer.h"
#include "planning/chain/WorkingPlan.h"

#include <functional>
#include <map>
#include <random>

namespace rondo {

/// Equal links between all devices of one server, without latency.
inline ChainProblem equalDevices(int32_t devices, int64_t bytesPerUs) {
  ChainProblem problem;
  problem.nodeOf.assign(devices, 0);
  problem.bytesPerUs.assign(static_cast<size_t>(devices) * devices, bytesPerUs);
  return problem;
}

/// A time unit of twoServers() in ns: its times have fractions.
inline constexpr int64_t twoServersUnit = 1'000'000;

/// Two servers, {0, 2} and {1, 3}; bytes a time unit are scaled so that figures
/// in ns are exact.
inline ChainProblem twoServers() {
  ChainProblem problem = equalDevices(4, 0);
  problem.microbatches = 4;
  problem.nodeOf = {0, 1, 0, 1};
  for (int32_t u = 0; u < 4; ++u)
    for (int32_t v = 0; v < 4; ++v)
      problem.bytesPerUs[u * 4 + v] = u % 2 == v % 2 ? 100 : 10;
  const int64_t forward[] = {1, 1, 2, 2, 3, 3},
                bytes[] = {80, 80, 40, 40, 20, 0},
                parameters[] = {10, 10, 20, 40, 300, 600};
  // A message of d bytes takes d / rate time units of `twoServersUnit` ns.
  for (int l = 0; l < 6; ++l)
    problem.layers.push_back({"l", forward[l] * twoServersUnit,
                              2 * forward[l] * twoServersUnit,
                              bytes[l] * twoServersUnit / 1000, 0,
                              parameters[l] * twoServersUnit / 1000});
  return problem;
}

/// Layers with random times, and links by random servers and pairs.
inline ChainProblem randomChain(std::mt19937 &random, int32_t layers,
                                int32_t devices) {
  auto pick = [&](int64_t least, int64_t most) {
    return std::uniform_int_distribution<int64_t>(least, most)(random);
  };
  ChainProblem problem;
  problem.name = "random";
  problem.microbatches = static_cast<int32_t>(pick(1, 9));
  problem.latencyInsideNs = pick(0, 20);
  problem.latencyAcrossNs = problem.latencyInsideNs + pick(0, 50);
  for (int32_t l = 0; l < layers; ++l)
    problem.layers.push_back({"l", pick(0, 1000), pick(0, 2000),
                              l + 1 < layers ? pick(0, 3000) : 0, pick(0, 4000),
                              pick(0, 3000)});
  for (ChainLayer &layer : problem.layers)
    layer.stateBytes = 4 * layer.parameterBytes;
  const int64_t servers = pick(1, devices);
  for (int32_t d = 0; d < devices; ++d)
    problem.nodeOf.push_back(static_cast<int32_t>(pick(0, servers - 1)));
  // Half of the problems have equal links within and between servers.
  const bool areEqual = pick(0, 1) == 0;
  const int64_t inside = pick(4000, 9000), across = pick(500, 4000);
  for (int32_t u = 0; u < devices; ++u)
    for (int32_t v = 0; v < devices; ++v) {
      const bool isInside = problem.nodeOf[u] == problem.nodeOf[v];
      problem.bytesPerUs.push_back(areEqual ? (isInside ? inside : across)
                                            : pick(500, 9000));
    }
  return problem;
}

/// Gives each device one of at most two NICs of its server, or in half
/// of the problems perhaps none.
inline void addNics(std::mt19937 &random, ChainProblem &problem) {
  const bool hasAll = random() % 2 == 0;
  std::map<std::pair<int32_t, bool>, int32_t> numbers;
  problem.nicOf.clear();
  for (int32_t d = 0; d < problem.numDevices(); ++d) {
    const std::pair nic(problem.nodeOf[d], random() % 3 == 0);
    const auto next = static_cast<int32_t>(numbers.size());
    problem.nicOf.push_back(hasAll || random() % 3 > 0
                                ? numbers.insert({nic, next}).first->second
                                : -1);
  }
}

/// The time and memory of a plan, without what a WorkingPlan remembers.
inline int64_t timeOf(const ChainProblem &problem, PlanEvaluator evaluator,
                      const ChainPlan &plan) {
  std::vector<StageNs> times;
  WorkingPlan(problem, plan).times(problem, ChainCosts(problem), times);
  return PlanTimer(problem, evaluator).run(times);
}
inline int64_t memoryOf(const ChainProblem &problem, const ChainPlan &plan) {
  return WorkingPlan(problem, plan).memoryBytes(ChainCosts(problem));
}

/// Calls `visit` for every plan there is: all cuts, all sets of devices.
class EveryPlan {
public:
  EveryPlan(const ChainProblem &problem,
            std::function<void(const ChainPlan &)> visit)
      : problem(problem), visit(std::move(visit)) {
    cut(0);
  }

private:
  void cut(int32_t first) {
    if (first == problem.numLayers()) {
      give(0);
      return;
    }
    for (int32_t end = first + 1; end <= problem.numLayers(); ++end) {
      plan.push_back({first, end, {}});
      cut(end);
      plan.pop_back();
    }
  }
  /// Gives the devices from one on to stages, or to none.
  void give(int32_t device) {
    if (device == problem.numDevices()) {
      for (const ChainStage &stage : plan)
        if (stage.devices.empty())
          return;
      visit(plan);
      return;
    }
    give(device + 1);
    for (ChainStage &stage : plan) {
      stage.devices.push_back(device);
      give(device + 1);
      stage.devices.pop_back();
    }
  }

  const ChainProblem &problem;
  const std::function<void(const ChainPlan &)> visit;
  ChainPlan plan;
};

/// The least time of all plans that fit memory; infinite if none does.
inline int64_t leastTimeOf(const ChainProblem &problem,
                           PlanEvaluator evaluator) {
  int64_t least = infinite;
  EveryPlan(problem, [&](const ChainPlan &plan) {
    if (problem.memoryBytes == 0 ||
        memoryOf(problem, plan) <= problem.memoryBytes)
      least = std::min(least, timeOf(problem, evaluator, plan));
  });
  return least;
}

inline constexpr PlanEvaluator allPlanEvaluators[] = {
    PlanEvaluator::OneFOneB, PlanEvaluator::Spp, PlanEvaluator::SppFullDuplex};

} // namespace rondo

#endif // RONDO_TEST_UNIT_PLANNING_CHAINEXAMPLES_H
