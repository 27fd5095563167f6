//===- Problem.cpp - Scheduling problems ------------------------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "schedule/model/Problem.h"

#include "kinds/Shares.h"
#include "schedule/model/CollectiveTime.h"
#include "schedule/model/EdgeTable.h"

#include <algorithm>

using namespace rondo;

int64_t Link::occupancyNs(int64_t bytes) const {
  if (bytesPerUs == 0)
    return 0;
  int64_t scaled = 1000 * bytes;
  return scaled / bytesPerUs + (scaled % bytesPerUs != 0);
}

Link Problem::linkBetween(int32_t from, int32_t to) const {
  auto it = links.find({from, to});
  Link own = it == links.end() ? link : it->second;
  const NicSides sides = nics.between(from, to);
  for (const int32_t nic : {sides.out, sides.in})
    if (nic >= 0 &&
        (own.bytesPerUs == 0 || nics.bytesPerUs[nic] < own.bytesPerUs))
      own.bytesPerUs = nics.bytesPerUs[nic];
  return own;
}

void Problem::makeMessagesFree() {
  link = {};
  links.clear();
  nics = {};
}

void Problem::makeChain(const std::vector<int64_t> &outputBytes) {
  std::vector<std::vector<int32_t>> inputs(numStages());
  for (int32_t s = 1; s < numStages(); ++s)
    inputs[s].push_back(s - 1);
  makeGraph(inputs, outputBytes);
}

void Problem::makeGraph(const std::vector<std::vector<int32_t>> &inputs,
                        const std::vector<int64_t> &outputBytes) {
  edges.clear();
  for (ActionKind producer : {ActionKind::Forward, ActionKind::InputGrad})
    for (int32_t s = 0; s < numStages(); ++s)
      for (int32_t input : inputs[s]) {
        const bool isForward = producer == ActionKind::Forward;
        addStageEdge(isForward ? input : s, isForward ? s : input, producer,
                     outputBytes[input]);
      }
}

void Problem::addStageEdge(int32_t from, int32_t to, ActionKind producer,
                           int64_t bytes) {
  const int32_t number = edges.empty() ? 0 : edges.back().stageEdge + 1;
  for (const Replica &a : replicas.of(from))
    for (const Replica &b : replicas.of(to))
      if (const int32_t common = commonSamples(a, b); common && meet(a, b)) {
        const int32_t first = std::max(a.firstSample, b.firstSample);
        edges.push_back({replicas.numberOf(from, a.index),
                         replicas.numberOf(to, b.index), producer,
                         partBetween(bytes, first, first + common, samples),
                         number});
      }
}

std::vector<Done> Problem::nothingDoneYet() const {
  const Done initial = hostMemory.hasCopies() ? copiesDone : nothingDone;
  std::vector<Done> done(size_t(numReplicas()) * microbatches, initial);
  for (int32_t replica = 0; replica < numReplicas(); ++replica)
    for (int64_t i = 0; replicas[replica].isRoundRobin() && i < microbatches;
         ++i)
      if (!replicas[replica].takes(i))
        done[int64_t(replica) * microbatches + i] |= tasksDone;
  return done;
}

bool Problem::isChain() const {
  const int32_t stages = numStages();
  if (replicas.isReplicated() || edges.size() != size_t(2) * (stages - 1))
    return false;
  for (int32_t s = 0; s + 1 < stages; ++s) {
    const Edge &forward = edges[s], &backward = edges[stages - 1 + s];
    if (forward.from != s || forward.to != s + 1 ||
        forward.producer != ActionKind::Forward || backward.from != s + 1 ||
        backward.to != s || backward.producer != ActionKind::InputGrad)
      return false;
  }
  return true;
}

bool Problem::hasRecomputationAcross() const {
  return std::find(recomputation.begin(), recomputation.end(),
                   Recomputation::FromStage) != recomputation.end();
}

void Problem::addRecomputedEdges() {
  const std::vector<Edge> before = edges;
  int32_t of = -1;
  for (const Edge &edge : before) {
    if (edge.producer != ActionKind::Forward || !recomputesAcross(edge.to))
      continue;
    // The parts of a stage edge are adjacent.
    const bool isNext = edge.stageEdge != of;
    of = edge.stageEdge;
    Edge again = edge;
    again.producer = ActionKind::Recompute;
    again.stageEdge = edges.back().stageEdge + isNext;
    edges.push_back(again);
  }
}

int64_t Problem::numTasks() const {
  int64_t tasks = 0;
  for (const Replica &replica : replicas)
    tasks += 3 * replica.numTaken(microbatches);
  return tasks;
}

void Problem::setCosts(int32_t stage, const CostRow &row) {
  costs.resize(std::max<size_t>(costs.size(), numReplicas() * numCostColumns));
  for (const Replica &replica : replicas.of(stage)) {
    const int32_t number = replicas.numberOf(stage, replica.index);
    std::copy(row.begin(), row.end(), costs.begin() + number * numCostColumns);
    if (replica.samples == samples)
      continue;
    for (const ActionTraits &traits : actionTable.rows) {
      // The time of a step depends on the weights, which each replica has in
      // full.
      if (!traits.isTask())
        continue;
      int64_t &ns = cost(number, traits.kind).ns;
      ns = partOfUp(ns, replica.samples, samples);
    }
    auto bytes = [&](int64_t all) {
      return partBetween(all, replica.firstSample,
                         replica.firstSample + replica.samples, samples);
    };
    int64_t &takes = cost(number, ActionKind::Forward).acquireBytes;
    Cost &again = cost(number, ActionKind::Recompute);
    Cost &inputGrad = cost(number, ActionKind::InputGrad);
    Cost &backward = cost(number, ActionKind::Backward);
    takes = bytes(takes);
    again.acquireBytes = bytes(again.acquireBytes);
    int64_t held = takes + again.acquireBytes;
    again.releaseBytes = std::min(held, bytes(again.releaseBytes));
    held -= again.releaseBytes;
    backward.acquireBytes = bytes(backward.acquireBytes);
    backward.releaseBytes = held + backward.acquireBytes;
    inputGrad.acquireBytes = bytes(inputGrad.acquireBytes);
    held += inputGrad.acquireBytes;
    inputGrad.releaseBytes = std::min(held, bytes(inputGrad.releaseBytes));
    cost(number, ActionKind::WeightGrad).releaseBytes =
        held - inputGrad.releaseBytes;
  }
}

void Problem::keepForWeightGrad(int32_t stage, int64_t bytes) {
  for (const Replica &replica : replicas.of(stage)) {
    const int32_t number = replicas.numberOf(stage, replica.index);
    const int64_t share =
        partBetween(bytes, replica.firstSample,
                    replica.firstSample + replica.samples, samples);
    cost(number, ActionKind::InputGrad).acquireBytes += share;
    cost(number, ActionKind::WeightGrad).releaseBytes += share;
    cost(number, ActionKind::Backward).acquireBytes += share;
    cost(number, ActionKind::Backward).releaseBytes += share;
  }
}

void Problem::setRecomputation(int32_t stage, Recomputation how, int64_t ns,
                               int64_t bytes, int64_t checkpointBytes) {
  recomputation.resize(numReplicas());
  for (const Replica &replica : replicas.of(stage)) {
    const int32_t number = replicas.numberOf(stage, replica.index);
    recomputation[number] = how;
    const int64_t end = replica.firstSample + replica.samples;
    auto share = [&](int64_t all) {
      return partBetween(all, replica.firstSample, end, samples);
    };
    Cost &forward = cost(number, ActionKind::Forward);
    const int64_t moved = std::min(forward.acquireBytes, share(bytes));
    forward.acquireBytes += share(checkpointBytes) - moved;
    cost(number, ActionKind::Recompute) = {
        partOfUp(ns, replica.samples, samples), moved, share(checkpointBytes)};
  }
}

void Problem::setShards(int32_t stage, ShardedState how, int64_t weightBytes,
                        int64_t gradientBytes) {
  sharded.resize(numStages(), ShardedState::None);
  sharded[stage] = how;
  for (const Replica &replica : replicas.of(stage)) {
    const int32_t number = replicas.numberOf(stage, replica.index);
    if (!replica.isSharded())
      continue;
    std::vector<int32_t> group;
    for (int32_t shard = 0; shard < replica.shards; ++shard)
      group.push_back(replicas.groupOf(number) + shard);
    cost(number, ActionKind::Unshard) = {
        gatherOverReplicasNs(*this, group, weightBytes), weightBytes, 0,
        Lane::Collective};
    cost(number, ActionKind::Reshard) = {0, 0, weightBytes};
    cost(number, ActionKind::ReduceGrad) = {
        gatherOverReplicasNs(*this, group, gradientBytes), 0, gradientBytes,
        Lane::Collective};
  }
}

void Problem::setStageCost(int32_t stage, int64_t forwardNs,
                           int64_t inputGradNs, int64_t weightGradNs,
                           int64_t activationBytes,
                           int64_t inputGradFreesBytes) {
  // check() rejects negative figures and figures near the 64-bit limit. Sums
  // must not overflow before it runs.
  auto within = [](int64_t figure) {
    return std::clamp<int64_t>(figure, 0, maxSum - 1);
  };
  CostRow row{};
  row[costColumn(ActionKind::Forward)] = {forwardNs, activationBytes, 0};
  row[costColumn(ActionKind::InputGrad)] = {inputGradNs, 0,
                                            inputGradFreesBytes};
  row[costColumn(ActionKind::WeightGrad)] = {
      weightGradNs, 0, within(activationBytes) - within(inputGradFreesBytes)};
  row[costColumn(ActionKind::Backward)] = {
      within(inputGradNs) + within(weightGradNs), 0, activationBytes};
  setCosts(stage, row);
}

int64_t Problem::hostNs(const EdgeTable &table, int32_t replica,
                        ActionKind kind) const {
  if (hosts.empty() || !traitsOf(kind).isTask() ||
      (kind == ActionKind::Recompute && !recomputes(replica)))
    return 0;
  const HostCosts &host = hosts[rankOf(replica)];
  int64_t ns = host.actionNs;
  for (int32_t e : table.inputs(replica, kind))
    if (rankOf(edges[e].from) != rankOf(replica))
      ns += host.receiveNs + host.waitNs;
  for (int32_t e : table.outputs(replica, kind))
    if (rankOf(edges[e].to) != rankOf(replica))
      ns += host.sendNs;
  return ns;
}

void Problem::addHostCosts() {
  if (hosts.empty())
    return;
  const EdgeTable table(*this);
  for (int32_t replica = 0; replica < numReplicas(); ++replica)
    for (const ActionTraits &traits : actionTable.rows)
      if (traits.isTask()) {
        const int64_t ns = hostNs(table, replica, traits.kind);
        cost(replica, traits.kind).ns += ns;
        for (int64_t i = 0; !unevenCosts.empty() && i < microbatches; ++i)
          unevenCosts[(replica * numCostColumns + costColumn(traits.kind)) *
                          int64_t(microbatches) +
                      i]
              .ns += ns;
      }
}
