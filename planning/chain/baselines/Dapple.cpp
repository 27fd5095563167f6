//===- Dapple.cpp - DAPPLE's planner --------------------------------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// From the paper: an iteration takes the forwards up to a pivot stage, then
// (micro-batches - 1) of its forwards and backwards, then the last backwards
// and the sums that they do not hide; messages are stages of their own. The
// planner extends a plan of the first layers by a stage on devices of fresh
// servers, of servers in use, or spread over all servers. For each number of
// layers and devices it keeps the plan that takes the least time if all other
// layers are one stage on all other devices. Different here: the tables are
// indexed by numbers of devices alone, not by those of each server, and free
// devices are taken in order of their numbers.
//
//===----------------------------------------------------------------------===//

#include "planning/chain/baselines/Planners.h"

#include <algorithm>

using namespace rondo;

namespace {

/// Times of a stage or of messages.
struct Part {
  int64_t forward = 0, backward = 0, sum = 0;
};

/// The paper's estimate of an iteration.
int64_t latencyNs(const std::vector<Part> &parts, int32_t microbatches) {
  const auto P = static_cast<int32_t>(parts.size());
  auto steady = [&](int32_t n) {
    return (microbatches - 1) * (parts[n].forward + parts[n].backward);
  };
  // Moves the pivot to an earlier part if that part's steady time exceeds the
  // pivot's plus the parts between.
  int32_t pivot = P - 1;
  int64_t between = 0;
  for (int32_t n = P - 2; n >= 0; --n) {
    if (steady(n) > steady(pivot) + between) {
      pivot = n;
      between = 0;
    } else {
      between += parts[n].forward + parts[n].backward;
    }
  }
  int64_t warmUp = 0;
  for (int32_t n = 0; n <= pivot; ++n)
    warmUp += parts[n].forward;
  // Time from the start of the pivot's last backward to the end of the latest
  // sum. First loop: the pivot and earlier parts, whose last backwards are
  // still to run. Second loop: later parts, whose last backwards have ended.
  int64_t end = 0, backwards = 0;
  for (int32_t n = pivot; n >= 0; --n) {
    backwards += parts[n].backward;
    end = std::max(end, backwards + parts[n].sum);
  }
  backwards = 0;
  for (int32_t n = pivot + 1; n < P; ++n) {
    backwards += parts[n].backward;
    // Its last backward ends before the pivot's last one begins.
    end = std::max(end, parts[n].sum - (backwards - parts[n].backward));
  }
  return warmUp + steady(pivot) + end;
}

class Planner {
public:
  explicit Planner(const ChainProblem &problem)
      : problem(problem), costs(problem), L(problem.numLayers()),
        G(problem.numDevices()), row(baseline::devicesByServer(problem)) {}
  ChainPlan run();

private:
  struct State {
    int64_t estimate = infinite;
    /// The stages so far.
    ChainPlan plan;
    std::vector<Part> parts;
  };
  size_t at(int32_t layers, int32_t devices) const {
    return static_cast<size_t>(layers) * (G + 1) + devices;
  }
  Part stage(int32_t first, int32_t end, int32_t count,
             const GroupLink &within) const {
    return {costs.forwardNs(first, end, count),
            costs.backwardNs(first, end, count),
            costs.allReduceNs(first, end, count, within)};
  }
  Part messages(int32_t layer, int64_t pairs, const GroupLink &link) const {
    return {costs.messageNs(layer, pairs, 1, link.rate, link.latencyNs),
            costs.messageNs(layer, pairs, 1, link.rateBack, link.latencyNs), 0};
  }
  std::vector<std::vector<int32_t>>
  placements(const std::vector<bool> &isUsed) const;
  void extend(int32_t layers, int32_t devices);

  const ChainProblem &problem;
  const ChainCosts costs;
  const int32_t L, G;
  const baseline::ServerRow row;
  /// [layers][devices]: the best plan of the first layers on that number of
  /// devices.
  std::vector<State> states;
  /// The best plan of the whole model.
  State best;
};

/// Free devices, in the order of each of the three policies, without
/// duplicates.
std::vector<std::vector<int32_t>>
Planner::placements(const std::vector<bool> &isUsed) const {
  struct Server {
    std::vector<int32_t> free;
    bool isFresh = true;
  };
  std::vector<Server> servers;
  for (size_t k = 0; k + 1 < row.starts.size(); ++k) {
    Server server;
    for (int32_t i = row.starts[k]; i < row.starts[k + 1]; ++i)
      if (isUsed[row.devices[i]])
        server.isFresh = false;
      else
        server.free.push_back(row.devices[i]);
    servers.push_back(std::move(server));
  }
  std::vector<std::vector<int32_t>> orders(3);
  for (int policy = 0; policy < 2; ++policy)
    for (bool isFresh : {policy == 0, policy == 1})
      for (const Server &server : servers)
        if (server.isFresh == isFresh)
          orders[policy].insert(orders[policy].end(), server.free.begin(),
                                server.free.end());
  for (size_t i = 0; orders[2].size() < orders[0].size(); ++i)
    for (const Server &server : servers)
      if (i < server.free.size())
        orders[2].push_back(server.free[i]);
  std::vector<std::vector<int32_t>> different;
  for (std::vector<int32_t> &order : orders)
    if (std::find(different.begin(), different.end(), order) == different.end())
      different.push_back(std::move(order));
  return different;
}

void Planner::extend(int32_t layers, int32_t devices) {
  const State from = states[at(layers, devices)];
  std::vector<bool> isUsed(G, false);
  for (const ChainStage &stage : from.plan)
    for (int32_t device : stage.devices)
      isUsed[device] = true;
  std::vector<Part> parts;
  for (const std::vector<int32_t> &order : placements(isUsed)) {
    const auto free = static_cast<int32_t>(order.size());
    for (int32_t count = 1; count <= free; ++count) {
      const int32_t others = free - count;
      const GroupLink within = linkWithin(problem, order.data(), count),
                      behind =
                          linkWithin(problem, order.data() + count, others),
                      across = linkBetween(problem, order.data(), count,
                                           order.data() + count, others);
      int64_t pairsBefore = 0;
      GroupLink before;
      if (layers > 0) {
        const std::vector<int32_t> &last = from.plan.back().devices;
        pairsBefore = static_cast<int64_t>(last.size()) * count;
        before =
            linkBetween(problem, last.data(), static_cast<int32_t>(last.size()),
                        order.data(), count);
      }
      for (int32_t end = layers + 1; end <= L; ++end) {
        parts = from.parts;
        if (layers > 0)
          parts.push_back(messages(layers, pairsBefore, before));
        parts.push_back(stage(layers, end, count, within));
        const size_t known = parts.size();
        if (end < L && others == 0)
          continue;
        if (end < L) {
          parts.push_back(messages(end, int64_t(count) * others, across));
          parts.push_back(stage(end, L, others, behind));
        }
        const int64_t estimate = latencyNs(parts, problem.microbatches);
        State &to = end < L ? states[at(end, devices + count)] : best;
        if (estimate >= to.estimate)
          continue;
        parts.resize(known);
        to = {estimate, from.plan, parts};
        to.plan.push_back(
            {layers, end, {order.begin(), order.begin() + count}});
      }
    }
  }
}

ChainPlan Planner::run() {
  states.resize(at(L, G) + 1);
  states[at(0, 0)].estimate = 0;
  for (int32_t layers = 0; layers < L; ++layers)
    for (int32_t devices = 0; devices < G; ++devices)
      if (states[at(layers, devices)].estimate != infinite)
        extend(layers, devices);
  return best.plan;
}

} // namespace

BaselinePlan baseline::dapple(const ChainProblem &problem, PlanEvaluator) {
  if (hasManySteps(problem))
    return tooLarge(problem);
  return {Planner(problem).run(), ""};
}
