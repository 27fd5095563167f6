//===- StartPlans.cpp - Initial plans of the search -----------------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "planning/chain/StartPlans.h"

#include "planning/chain/DeviceOrder.h"
#include "planning/chain/PlanMoves.h"

#include <functional>
#include <map>

using namespace rondo;

std::vector<ChainPlan> rondo::evenPlans(const ChainProblem &problem,
                                        const std::vector<int32_t> &order) {
  const ChainCosts costs(problem);
  const int32_t L = problem.numLayers(), G = problem.numDevices();
  auto workBefore = [&](int32_t layer) {
    return static_cast<double>(costs.forwardNs(0, layer) +
                               costs.backwardNs(0, layer));
  };
  std::vector<ChainPlan> plans;
  for (int32_t stages = 1; stages <= std::min(L, G); ++stages) {
    ChainPlan plan;
    int32_t layer = 0, device = 0;
    for (int32_t n = 0; n < stages; ++n) {
      // Leaves a layer for each later stage.
      const int32_t most = L - (stages - n - 1);
      int32_t end = n + 1 == stages ? L : layer + 1;
      while (end < most && workBefore(end) < workBefore(L) * (n + 1) / stages)
        ++end;
      const auto devicesEnd =
          static_cast<int32_t>(int64_t(G) * (n + 1) / stages);
      plan.push_back(
          {layer, end, {order.begin() + device, order.begin() + devicesEnd}});
      layer = end;
      device = devicesEnd;
    }
    plans.push_back(std::move(plan));
  }
  return plans;
}

/// The devices by server. Servers are in ascending order of their keys; those
/// with equal keys, in the order of their first device in `order`.
static std::vector<int32_t>
byServer(const ChainProblem &problem, const std::vector<int32_t> &order,
         const std::function<int64_t(int32_t)> &keyOfServer) {
  std::map<int32_t, std::vector<int32_t>> devicesOf;
  std::vector<int32_t> servers;
  for (int32_t device : order) {
    std::vector<int32_t> &devices = devicesOf[problem.nodeOf[device]];
    if (devices.empty())
      servers.push_back(problem.nodeOf[device]);
    devices.push_back(device);
  }
  std::stable_sort(servers.begin(), servers.end(), [&](int32_t a, int32_t b) {
    return keyOfServer(a) < keyOfServer(b);
  });
  std::vector<int32_t> result;
  for (int32_t server : servers)
    result.insert(result.end(), devicesOf[server].begin(),
                  devicesOf[server].end());
  return result;
}

std::vector<std::vector<int32_t>>
rondo::deviceOrders(const ChainProblem &problem) {
  const std::vector<int32_t> byCuts = orderByMinimumCuts(problem);
  std::vector<std::vector<int32_t>> orders;
  if (PlanMoves(problem).areAllEqual())
    return {byCuts};
  auto add = [&](std::vector<int32_t> order) {
    if (std::find(orders.begin(), orders.end(), order) == orders.end())
      orders.push_back(std::move(order));
  };
  std::map<int32_t, std::vector<int32_t>> servers;
  for (int32_t device = 0; device < problem.numDevices(); ++device)
    servers[problem.nodeOf[device]].push_back(device);
  auto rateWithin = [&](int32_t server) {
    const std::vector<int32_t> &devices = servers.at(server);
    return linkWithin(problem, devices.data(),
                      static_cast<int32_t>(devices.size()))
        .rate;
  };
  // The sums of gradients of the first stages are exposed, so they should be on
  // servers with fast links: the first row puts these last, and reversed first.
  std::vector<std::vector<int32_t>> rows = {
      byServer(problem, byCuts, rateWithin),
      byServer(problem, byCuts, [](int32_t server) { return server; }),
      byServer(problem, byCuts, [](int32_t) { return 0; }), byCuts};
  // Orders in which devices of equal speed, or of equal memory, are adjacent.
  auto sorted = [&](auto key) {
    std::vector<int32_t> row = byCuts;
    std::stable_sort(row.begin(), row.end(), [&](int32_t a, int32_t b) {
      return key(deviceOf(problem, a)) < key(deviceOf(problem, b));
    });
    return row;
  };
  if (!problem.speedPercent.empty())
    rows.push_back(
        sorted([](const GroupDevice &device) { return device.speedPercent; }));
  if (!problem.memoryLess.empty())
    rows.push_back(
        sorted([](const GroupDevice &device) { return device.memoryLess; }));
  for (const bool isBackwards : {false, true})
    for (const bool beginsWithin : {false, true})
      for (const std::vector<int32_t> &row : rows) {
        std::vector<int32_t> order = row;
        if (isBackwards)
          std::reverse(order.begin(), order.end());
        const auto size =
            std::count(problem.nodeOf.begin(), problem.nodeOf.end(),
                       problem.nodeOf[order.front()]);
        if (beginsWithin)
          std::rotate(order.begin(), order.begin() + size / 2, order.end());
        add(std::move(order));
      }
  return orders;
}

ProgramScale rondo::programScale(const ChainProblem &problem, bool thorough) {
  const int32_t maxUnits = thorough ? 128 : 32, maxCuts = thorough ? 64 : 40;
  ProgramScale scale;
  while (problem.numDevices() / scale.devicesPerUnit > maxUnits)
    scale.devicesPerUnit *= 2;
  const int32_t L = problem.numLayers(), parts = std::min(L, maxCuts);
  for (int32_t k = 0; k <= parts; ++k)
    scale.cuts.push_back(static_cast<int32_t>(int64_t(L) * k / parts));
  return scale;
}
