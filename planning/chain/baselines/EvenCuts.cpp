//===- EvenCuts.cpp - Baselines that cut evenly ---------------------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The rules are those of the systems. This reconstruction adds that stages take
// devices by server, and that each takes several if there are more devices than
// layers.
//
//===----------------------------------------------------------------------===//

#include "planning/chain/baselines/Planners.h"

#include <numeric>

using namespace rondo;

/// Stages that end at these layers, with equal numbers of devices.
static ChainPlan onEqualDevices(const std::vector<int32_t> &ends,
                                const std::vector<int32_t> &order) {
  const size_t each = order.size() / ends.size();
  ChainPlan plan;
  for (size_t n = 0; n < ends.size(); ++n)
    plan.push_back(
        {n == 0 ? 0 : ends[n - 1],
         ends[n],
         {order.begin() + n * each, order.begin() + (n + 1) * each}});
  return plan;
}

/// The number of stages: one per device, or with fewer layers than devices, the
/// largest number of stages that can all have the same number of devices.
static int32_t stageLimit(const ChainProblem &problem) {
  int32_t stages = std::min(problem.numLayers(), problem.numDevices());
  while (problem.numDevices() % stages != 0)
    --stages;
  return stages;
}

/// The ends of `stages` stages with the least maximum of `costOf(stage, first,
/// end)`. Among equally good cuts, later stages get as many layers as possible.
/// O(layers^2 * stages).
template <typename CostOf>
static std::vector<int32_t> leastGreatest(int32_t layers, int32_t stages,
                                          const CostOf &costOf) {
  auto at = [&](int32_t n, int32_t end) {
    return static_cast<size_t>(n) * (layers + 1) + end;
  };
  // For the first n stages up to a layer: the maximum cost, and the begin of
  // the last stage.
  std::vector<int64_t> least(at(stages, layers) + 1, infinite);
  std::vector<int32_t> begin(least.size());
  least[at(0, 0)] = 0;
  for (int32_t n = 1; n <= stages; ++n)
    for (int32_t end = n; end <= layers - (stages - n); ++end)
      for (int32_t first = n - 1; first < end; ++first) {
        const int64_t before = least[at(n - 1, first)];
        if (before == infinite)
          continue;
        const int64_t value = std::max(before, costOf(n - 1, first, end));
        if (value < least[at(n, end)]) {
          least[at(n, end)] = value;
          begin[at(n, end)] = first;
        }
      }
  std::vector<int32_t> ends(stages);
  for (int32_t n = stages, end = layers; n > 0; --n) {
    ends[n - 1] = end;
    end = begin[at(n, end)];
  }
  return ends;
}

/// All devices in order of their numbers.
static std::vector<int32_t> allDevices(const ChainProblem &problem) {
  std::vector<int32_t> all(problem.numDevices());
  std::iota(all.begin(), all.end(), 0);
  return all;
}

BaselinePlan baseline::dataParallel(const ChainProblem &problem,
                                    PlanEvaluator) {
  return {ChainPlan{{0, problem.numLayers(), allDevices(problem)}}, ""};
}

/// Megatron-LM requires that the stages divide the number of layers; here a
/// remainder is spread over the stages.
BaselinePlan baseline::megatron(const ChainProblem &problem, PlanEvaluator) {
  const int32_t S = stageLimit(problem);
  std::vector<int32_t> ends;
  for (int64_t n = 1; n <= S; ++n)
    ends.push_back(static_cast<int32_t>(problem.numLayers() * n / S));
  return {onEqualDevices(ends, devicesByServer(problem).devices), ""};
}

/// torchtitan counts the modules before its transformer layers, and those after
/// them, as one layer each by default. Here the chain's first and last layers
/// are these. The first stages take the remainder.
BaselinePlan baseline::torchtitan(const ChainProblem &problem, PlanEvaluator) {
  const int32_t L = problem.numLayers(), S = stageLimit(problem);
  std::vector<int32_t> ends;
  for (int32_t n = 0, end = 0; n < S; ++n)
    ends.push_back(end += L / S + (n < L % S ? 1 : 0));
  return {onEqualDevices(ends, devicesByServer(problem).devices), ""};
}

/// GPipe's own partition minimizes the variance of estimated costs; here the
/// maximum cost, forward and backward, is minimized. Devices are in the order
/// of their numbers, wherever they are.
BaselinePlan baseline::gpipe(const ChainProblem &problem, PlanEvaluator) {
  const ChainCosts costs(problem);
  const std::vector<int32_t> ends = leastGreatest(
      problem.numLayers(), stageLimit(problem),
      [&](int32_t, int32_t first, int32_t end) {
        return costs.forwardNs(first, end) + costs.backwardNs(first, end);
      });
  return {onEqualDevices(ends, allDevices(problem)), ""};
}

/// HetPipe's virtual workers run asynchronously against parameter servers and
/// may mix kinds of devices. Here each server is a virtual worker, devices are
/// equal, and gradients are summed with a flush. As in the paper, the slowest
/// stage of a virtual worker, with its messages, is as fast as possible.
BaselinePlan baseline::hetpipe(const ChainProblem &problem, PlanEvaluator) {
  const ServerRow row = devicesByServer(problem);
  const auto servers = static_cast<int32_t>(row.starts.size()) - 1;
  const int32_t each = row.starts[1];
  for (int32_t k = 1; k < servers; ++k)
    if (const int32_t size = row.starts[k + 1] - row.starts[k]; size != each)
      return {std::nullopt, "servers have " + std::to_string(each) + " and " +
                                std::to_string(size) + " devices"};
  const int32_t stages = std::min(problem.numLayers(), each);
  ChainPlan plan(stages);
  for (int32_t n = 0; n < stages; ++n)
    for (int32_t k = 0; k < servers; ++k)
      plan[n].devices.push_back(row.devices[row.starts[k] + n]);
  const ChainCosts costs(problem);
  auto costOf = [&](int32_t n, int32_t first, int32_t end) {
    int64_t cost = costs.forwardNs(first, end, servers) +
                   costs.backwardNs(first, end, servers);
    if (n == 0)
      return cost;
    // Within each server, a pair of devices exchanges the message of its share.
    int64_t message = 0;
    for (int32_t k = 0; k < servers; ++k) {
      const GroupLink link = linkBetween(problem, &plan[n - 1].devices[k], 1,
                                         &plan[n].devices[k], 1);
      message =
          std::max(message, costs.messageNs(first, servers, 1, link.rate,
                                            link.latencyNs) +
                                costs.messageNs(first, servers, 1,
                                                link.rateBack, link.latencyNs));
    }
    return cost + message;
  };
  const std::vector<int32_t> ends =
      leastGreatest(problem.numLayers(), stages, costOf);
  for (int32_t n = 0; n < stages; ++n) {
    plan[n].first = n == 0 ? 0 : ends[n - 1];
    plan[n].end = ends[n];
  }
  return {std::move(plan), ""};
}
