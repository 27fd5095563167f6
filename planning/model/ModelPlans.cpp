//===- ModelPlans.cpp - Plans of a model from plans of chains -------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "planning/model/ModelPlans.h"

#include "planning/chain/ChainCosts.h"
#include "planning/chain/StartPlans.h"
#include "schedule/families/Placement.h"
#include "schedule/model/Problem.h"
#include "schedule/partition/Partition.h"

#include <algorithm>
#include <map>

using namespace rondo;

std::vector<int32_t> ModelPlan::firstStages() const {
  std::vector<int32_t> firsts;
  for (int32_t s = 0; s < static_cast<int32_t>(stages.size()); ++s)
    if (std::none_of(firsts.begin(), firsts.end(), [&](int32_t first) {
          return stages[first].devices == stages[s].devices;
        }))
      firsts.push_back(s);
  return firsts;
}

int32_t ModelPlan::numRanks() const {
  int32_t count = 0;
  for (int32_t stage : firstStages())
    count += static_cast<int32_t>(stages[stage].devices.size());
  return count;
}

ModelPlan rondo::modelPlanOf(const ChainPlan &chain, int64_t microbatchSamples,
                             int64_t maxReplicas, KeptLayers layers) {
  ModelPlan plan;
  plan.samples = microbatchSamples;
  plan.recomputes = std::move(layers.recomputes);
  plan.offloads = layers.offloads;
  for (const ChainStage &stage : chain) {
    ChainStage &added = plan.stages.emplace_back();
    added.first = stage.first;
    added.end = stage.end;
    added.devices = stage.devices;
    std::sort(added.devices.begin(), added.devices.end());
    if (static_cast<int64_t>(added.devices.size()) > maxReplicas)
      added.devices.resize(maxReplicas);
  }
  return plan;
}

ModelPlan rondo::planOfCut(const ChainProblem &chain, const CutStages &cut) {
  const auto stages = static_cast<int32_t>(cut.begins.size()),
             groups = stages / cut.chunks;
  const auto ranks = static_cast<int32_t>(
      std::min<int64_t>(chain.numDevices() / groups, chain.samples));
  const std::vector<int32_t> order = deviceOrders(chain).front();
  ModelPlan plan;
  plan.samples = cut.samples;
  plan.recomputes = cut.layers.recomputes;
  plan.offloads = cut.layers.offloads;
  plan.chunks = cut.chunks;
  for (int32_t s = 0; s < stages; ++s) {
    const auto begin = order.begin() + (s % groups) * ranks;
    plan.stages.push_back(
        {cut.begins[s],
         s + 1 < stages ? cut.begins[s + 1] : chain.numLayers(),
         {begin, begin + ranks}});
    std::sort(plan.stages.back().devices.begin(),
              plan.stages.back().devices.end());
  }
  return plan;
}

ModelPlan rondo::evenGroups(const ModelPlan &plan, const ChainProblem &chain) {
  std::map<size_t, int32_t> counts;
  for (int32_t group = 0; group < plan.numGroups(); ++group)
    ++counts[plan.stages[group].devices.size()];
  const auto size =
      static_cast<int32_t>(std::max_element(counts.begin(), counts.end(),
                                            [](const auto &a, const auto &b) {
                                              return a.second < b.second;
                                            })
                               ->first);
  const std::vector<int32_t> order = deviceOrders(chain).front();
  const int32_t layers = chain.numLayers(),
                groups = std::min(chain.numDevices() / size, layers);
  ModelPlan even;
  even.samples = plan.samples;
  for (int32_t group = 0; group < groups; ++group) {
    const auto begin = order.begin() + group * size;
    even.stages.push_back({group * layers / groups,
                           (group + 1) * layers / groups,
                           {begin, begin + size}});
    std::sort(even.stages.back().devices.begin(),
              even.stages.back().devices.end());
  }
  return even;
}

std::optional<ChunkedPlan>
rondo::inChunks(const ModelPlan &plan, const ChainProblem &chain,
                ChunkPlacing placed, const std::vector<double> &inFlight) {
  const int32_t groups = plan.numGroups(), chunks = placed.chunks,
                stages = groups * chunks;
  if (groups < 2 || stages > chain.numLayers())
    return {};
  const Chunks placing{groups, chunks, placed.isV};
  const ChainCosts costs(chain);
  PartitionInput input;
  input.rankOfStage.resize(stages);
  for (int32_t chunk = 0; chunk < chunks; ++chunk)
    for (int32_t group = 0; group < groups; ++group)
      input.rankOfStage[placing.stage(chunk, group)] = group;
  // Activations differ by group; the largest share is an upper bound.
  int32_t fewest = std::numeric_limits<int32_t>::max();
  for (int32_t group = 0; group < groups; ++group) {
    const auto ranks = static_cast<int32_t>(plan.stages[group].devices.size());
    fewest = std::min(fewest, ranks);
    const GroupDevice weakest =
        weakestOf(chain, plan.stages[group].devices.data(), ranks);
    const int64_t speed = weakest.speedPercent;
    std::vector<int64_t> &work = input.workNs.emplace_back();
    for (int32_t layer = 0; layer < chain.numLayers(); ++layer)
      work.push_back(costs.forwardNs(layer, layer + 1, ranks, speed) +
                     costs.backwardNs(layer, layer + 1, ranks, speed));
    input.memoryCaps.push_back(chain.memoryBytes == 0
                                   ? noMemoryCap
                                   : chain.memoryBytes - weakest.memoryLess);
  }
  for (int32_t layer = 0; layer < chain.numLayers(); ++layer)
    input.bytes.push_back(
        costs.stateBytes(layer, layer + 1) +
        (inFlight.empty()
             ? costs.stashBytes(layer, layer + 1, fewest)
             : costs.workingBytes(layer, layer + 1, fewest) +
                   static_cast<int64_t>(
                       inFlight[layer] *
                       double(costs.stashBytes(layer, layer + 1, fewest)))));
  const Result<Partition> cut = partitionLayers(input, 200);
  if (!cut)
    return {};
  ChunkedPlan chunked;
  chunked.busiestNs = cut->busiestNs;
  ModelPlan &result = chunked.plan;
  result.samples = plan.samples;
  result.recomputes = plan.recomputes;
  result.offloads = plan.offloads;
  result.chunks = chunks;
  result.isV = placed.isV;
  for (int32_t stage = 0; stage < stages; ++stage)
    result.stages.push_back({cut->begins[stage], cut->begins[stage + 1],
                             plan.stages[input.rankOfStage[stage]].devices});
  return chunked;
}
