//===- PlanProblem.cpp - A plan of a chain as a problem -------------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "planning/scheduled/PlanProblem.h"

#include "schedule/model/CollectiveTime.h"

#include <numeric>

using namespace rondo;

static int64_t commonMultiple(const ChainPlan &plan) {
  int64_t samples = 1;
  for (const ChainStage &stage : plan) {
    samples = std::lcm(samples, static_cast<int64_t>(stage.devices.size()));
    if (samples > maxSamples)
      break;
  }
  return samples;
}

/// A NIC has the rate of the fastest pair that crosses it, so it slows no link;
/// it only serializes messages.
static Nics nicsOf(const ChainProblem &problem) {
  Nics nics;
  if (problem.nicOf.empty())
    return nics;
  const int32_t count =
      *std::max_element(problem.nicOf.begin(), problem.nicOf.end()) + 1;
  nics.ofRank = problem.nicOf;
  nics.bytesPerUs.assign(count, 1);
  nics.servers.assign(count, -1);
  const int32_t G = problem.numDevices();
  for (int32_t device = 0; device < G; ++device)
    if (problem.nicOf[device] >= 0)
      nics.servers[problem.nicOf[device]] = problem.nodeOf[device];
  for (int32_t u = 0; u < G; ++u)
    for (int32_t v = 0; v < G; ++v) {
      const NicSides sides = nics.between(u, v);
      for (int32_t nic : {sides.out, sides.in})
        if (nic >= 0)
          nics.bytesPerUs[nic] =
              std::max(nics.bytesPerUs[nic], problem.rate(u, v));
    }
  return nics;
}

/// Memory of a device, in bytes.
static int64_t memoryOf(const ChainProblem &chain, int32_t device) {
  return chain.memoryBytes - deviceOf(chain, device).memoryLess;
}

static void addLink(const ChainProblem &chain, int32_t from, int32_t to,
                    Problem &problem) {
  problem.links[{from, to}] = {chain.latencyNs(from, to), chain.rate(from, to)};
}

static int64_t sumNsOf(const ChainProblem &chain, const ChainStage &stage,
                       const std::vector<int32_t> &replicas, int64_t bytes,
                       Problem &problem) {
  const auto count = static_cast<int32_t>(stage.devices.size());
  // Links within a stage carry no messages; the problem needs them only for
  // NICs.
  if (chain.nicOf.empty()) {
    const GroupLink within = linkWithin(chain, stage.devices.data(), count);
    return sumNs(bytes, count, {within.latencyNs, within.rate});
  }
  for (int32_t u : stage.devices)
    for (int32_t v : stage.devices)
      if (u != v)
        addLink(chain, u, v, problem);
  return sumOverReplicasNs(problem, replicas, bytes);
}

static void addStage(const ChainProblem &chain, const ChainCosts &costs,
                     const ChainStage &stage, int32_t number,
                     Problem &problem) {
  const int64_t stash = costs.stashBytes(stage.first, stage.end),
                weightGrad = costs.weightGradNs(stage.first, stage.end);
  problem.setStageCost(number, costs.forwardNs(stage.first, stage.end),
                       costs.inputGradNs(stage.first, stage.end), weightGrad,
                       stash, weightGrad == 0 ? stash : 0);
  std::vector<int32_t> replicas(stage.devices.size());
  std::iota(replicas.begin(), replicas.end(),
            problem.replicas.numberOf(number));
  const int64_t sumNs =
      sumNsOf(chain, stage, replicas,
              costs.parameterBytes(stage.first, stage.end), problem);
  for (int32_t replica : replicas) {
    problem.cost(replica, ActionKind::Step).ns = sumNs;
    const int32_t device = problem.rankOf(replica);
    const int64_t speed = deviceOf(chain, device).speedPercent;
    for (ActionKind kind : {ActionKind::Forward, ActionKind::InputGrad,
                            ActionKind::WeightGrad, ActionKind::Backward}) {
      int64_t &ns = problem.cost(replica, kind).ns;
      ns = (100 * ns + speed - 1) / speed;
    }
    if (chain.memoryBytes > 0)
      problem.memoryCaps[device] =
          std::max<int64_t>(0, memoryOf(chain, device) -
                                   costs.stateBytes(stage.first, stage.end));
  }
}

Result<Problem> rondo::planProblem(const ChainProblem &chain,
                                   const ChainPlan &plan) {
  const ChainCosts costs(chain);
  Problem problem;
  problem.name = chain.name;
  problem.microbatches = chain.microbatches;
  const int64_t samples = commonMultiple(plan);
  if (samples > maxSamples)
    return makeFault<FaultKind::NoCommonShare>(maxSamples);
  problem.samples = static_cast<int32_t>(samples);
  problem.memoryCaps.assign(chain.numDevices(), chain.memoryBytes > 0
                                                    ? chain.memoryBytes
                                                    : noMemoryCap);
  problem.nics = nicsOf(chain);
  std::vector<int64_t> outputs;
  for (const ChainStage &stage : plan) {
    const auto r = static_cast<int32_t>(stage.devices.size());
    std::vector<Share> shares;
    for (int32_t device : stage.devices)
      shares.push_back({device, problem.samples / r});
    problem.replicas.addStage(shares);
    outputs.push_back(chain.layers[stage.end - 1].outputBytes);
  }
  problem.makeChain(outputs);
  for (const Edge &edge : problem.edges)
    addLink(chain, problem.rankOf(edge.from), problem.rankOf(edge.to), problem);
  for (size_t s = 0; s < plan.size(); ++s) {
    // State alone may exceed a device; then no activations fit.
    addStage(chain, costs, plan[s], static_cast<int32_t>(s), problem);
    const int64_t smallest =
        chain.memoryBytes -
        weakestOf(chain, plan[s].devices.data(),
                  static_cast<int32_t>(plan[s].devices.size()))
            .memoryLess;
    if (chain.memoryBytes > 0 &&
        costs.stateBytes(plan[s].first, plan[s].end) > smallest)
      return makeFault<FaultKind::StateOverDevice>(static_cast<int32_t>(s))
          .withFigures(costs.stateBytes(plan[s].first, plan[s].end), smallest);
  }
  if (std::optional<Fault> fault = problem.check())
    return std::move(*fault);
  return problem;
}

Schedule rondo::withSteps(const Problem &problem, const Schedule &schedule) {
  std::vector<int32_t> replicaOf(problem.numRanks(), -1);
  for (int32_t replica = 0; replica < problem.numReplicas(); ++replica)
    replicaOf[problem.rankOf(replica)] = replica;
  Schedule result;
  result.reserve(schedule.numActions() + problem.numReplicas());
  for (int32_t r = 0; r < schedule.numRanks(); ++r) {
    for (Action action : schedule.rank(r))
      result.append(action);
    if (replicaOf[r] >= 0)
      result.append({ActionKind::Step, replicaOf[r], 0});
    result.endRank();
  }
  result.linkOrders = schedule.linkOrders;
  return result;
}
