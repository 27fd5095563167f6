//===- PlanProblem.cpp - A plan of a chain as a problem -------------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "planning/scheduled/PlanProblem.h"

#include "schedule/CollectiveTime.h"

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

/// A card is as fast as the fastest pair that crosses it, so that it slows no
/// link: it only lets messages take turns.
static Cards cardsOf(const ChainProblem &problem) {
  Cards cards;
  if (problem.cardOf.empty())
    return cards;
  const int32_t count =
      *std::max_element(problem.cardOf.begin(), problem.cardOf.end()) + 1;
  cards.ofRank = problem.cardOf;
  cards.bytesPerUs.assign(count, 1);
  cards.servers.assign(count, -1);
  const int32_t G = problem.numDevices();
  for (int32_t device = 0; device < G; ++device)
    if (problem.cardOf[device] >= 0)
      cards.servers[problem.cardOf[device]] = problem.nodeOf[device];
  for (int32_t u = 0; u < G; ++u)
    for (int32_t v = 0; v < G; ++v) {
      const CardSides sides = cards.between(u, v);
      for (int32_t card : {sides.out, sides.in})
        if (card >= 0)
          cards.bytesPerUs[card] =
              std::max(cards.bytesPerUs[card], problem.rate(u, v));
    }
  return cards;
}

/// What a device has.
static int64_t memoryOf(const ChainProblem &chain, int32_t device) {
  return chain.memoryBytes - deviceOf(chain, device).memoryLess;
}

static void addLink(const ChainProblem &chain, int32_t from, int32_t to,
                    Problem &problem) {
  problem.links[{from, to}] = {chain.latencyNs(from, to), chain.rate(from, to)};
}

static int64_t sumNsOf(const ChainProblem &chain, const ChainStage &stage,
                       const std::vector<int32_t> &homes, int64_t bytes,
                       Problem &problem) {
  const auto count = static_cast<int32_t>(stage.devices.size());
  // Links within a stage carry no messages: the problem needs them for cards
  // alone.
  if (chain.cardOf.empty()) {
    const GroupLink within = linkWithin(chain, stage.devices.data(), count);
    return sumNs(bytes, count, {within.latencyNs, within.rate});
  }
  for (int32_t u : stage.devices)
    for (int32_t v : stage.devices)
      if (u != v)
        addLink(chain, u, v, problem);
  return sumOverHomesNs(problem, homes, bytes);
}

static void addStage(const ChainProblem &chain, const ChainCosts &costs,
                     const ChainStage &stage, int32_t number,
                     Problem &problem) {
  const int64_t stash = costs.stashBytes(stage.first, stage.end),
                weightGrad = costs.weightGradNs(stage.first, stage.end);
  problem.setStageCost(number, costs.forwardNs(stage.first, stage.end),
                       costs.inputGradNs(stage.first, stage.end), weightGrad,
                       stash, weightGrad == 0 ? stash : 0);
  std::vector<int32_t> homes(stage.devices.size());
  std::iota(homes.begin(), homes.end(), problem.homes.numberOf(number));
  const int64_t sumNs =
      sumNsOf(chain, stage, homes, costs.parameterBytes(stage.first, stage.end),
              problem);
  for (int32_t home : homes) {
    problem.cost(home, ActionKind::Step).ns = sumNs;
    const int32_t device = problem.rankOf(home);
    const int64_t speed = deviceOf(chain, device).speedPercent;
    for (ActionKind kind : {ActionKind::Forward, ActionKind::InputGrad,
                            ActionKind::WeightGrad, ActionKind::Backward}) {
      int64_t &ns = problem.cost(home, kind).ns;
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
  problem.cards = cardsOf(chain);
  std::vector<int64_t> outputs;
  for (const ChainStage &stage : plan) {
    const auto r = static_cast<int32_t>(stage.devices.size());
    std::vector<Share> shares;
    for (int32_t device : stage.devices)
      shares.push_back({device, problem.samples / r});
    problem.homes.addStage(shares);
    outputs.push_back(chain.layers[stage.end - 1].outputBytes);
  }
  problem.makeChain(outputs);
  for (const Edge &edge : problem.edges)
    addLink(chain, problem.rankOf(edge.from), problem.rankOf(edge.to), problem);
  for (size_t s = 0; s < plan.size(); ++s) {
    // State alone may be too much for a device; then nothing can be held.
    addStage(chain, costs, plan[s], static_cast<int32_t>(s), problem);
    const int64_t smallest =
        chain.memoryBytes -
        weakestOf(chain, plan[s].devices.data(),
                  static_cast<int32_t>(plan[s].devices.size()))
            .memoryLess;
    if (chain.memoryBytes > 0 &&
        costs.stateBytes(plan[s].first, plan[s].end) > smallest) {
      Fault fault =
          makeFault<FaultKind::StateOverDevice>(static_cast<int32_t>(s));
      fault.found = costs.stateBytes(plan[s].first, plan[s].end);
      fault.allowed = smallest;
      return fault;
    }
  }
  if (std::optional<Fault> fault = problem.check())
    return std::move(*fault);
  return problem;
}

Schedule rondo::withSteps(const Problem &problem, const Schedule &schedule) {
  std::vector<int32_t> homeOf(problem.numRanks(), -1);
  for (int32_t home = 0; home < problem.numHomes(); ++home)
    homeOf[problem.rankOf(home)] = home;
  Schedule result;
  result.reserve(schedule.numActions() + problem.numHomes());
  for (int32_t r = 0; r < schedule.numRanks(); ++r) {
    for (Action action : schedule.rank(r))
      result.append(action);
    if (homeOf[r] >= 0)
      result.append({ActionKind::Step, homeOf[r], 0});
    result.endRank();
  }
  result.linkOrders = schedule.linkOrders;
  return result;
}
