//===- ProblemCosts.cpp - What tasks cost each home -----------------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "schedule/Problem.h"

#include "kinds/Shares.h"
#include "schedule/CollectiveTime.h"

#include <algorithm>

using namespace rondo;

int64_t Problem::numTasks() const {
  int64_t tasks = 0;
  for (const Home &home : homes)
    tasks += 3 * home.numTaken(microbatches);
  return tasks;
}

void Problem::setCosts(int32_t stage, const CostRow &row) {
  costs.resize(std::max<size_t>(costs.size(), numHomes() * numCostColumns));
  for (const Home &home : homes.of(stage)) {
    const int32_t number = homes.numberOf(stage, home.replica);
    std::copy(row.begin(), row.end(), costs.begin() + number * numCostColumns);
    if (home.samples == samples)
      continue;
    for (const ActionTraits &traits : actionTable.rows) {
      // A step is for weights, which every home has.
      if (!traits.isTask())
        continue;
      int64_t &ns = cost(number, traits.kind).ns;
      ns = partOfUp(ns, home.samples, samples);
    }
    auto bytes = [&](int64_t all) {
      return partBetween(all, home.firstSample, home.firstSample + home.samples,
                         samples);
    };
    int64_t &takes = cost(number, ActionKind::Forward).acquireBytes;
    Cost &again = cost(number, ActionKind::Recompute);
    int64_t &frees = cost(number, ActionKind::InputGrad).releaseBytes;
    takes = bytes(takes);
    again.acquireBytes = bytes(again.acquireBytes);
    int64_t held = takes + again.acquireBytes;
    again.releaseBytes = std::min(held, bytes(again.releaseBytes));
    held -= again.releaseBytes;
    frees = std::min(held, bytes(frees));
    cost(number, ActionKind::WeightGrad).releaseBytes = held - frees;
    cost(number, ActionKind::Backward).releaseBytes = held;
  }
}

void Problem::setRecomputation(int32_t stage, Recomputation how, int64_t ns,
                               int64_t bytes, int64_t checkpointBytes) {
  recomputation.resize(numHomes());
  for (const Home &home : homes.of(stage)) {
    const int32_t number = homes.numberOf(stage, home.replica);
    recomputation[number] = how;
    const int64_t end = home.firstSample + home.samples;
    auto share = [&](int64_t all) {
      return partBetween(all, home.firstSample, end, samples);
    };
    Cost &forward = cost(number, ActionKind::Forward);
    const int64_t moved = std::min(forward.acquireBytes, share(bytes));
    forward.acquireBytes += share(checkpointBytes) - moved;
    cost(number, ActionKind::Recompute) = {partOfUp(ns, home.samples, samples),
                                           moved, share(checkpointBytes)};
  }
}

void Problem::setShards(int32_t stage, ShardedState how, int64_t weightBytes,
                        int64_t gradientBytes) {
  sharded.resize(numStages(), ShardedState::None);
  sharded[stage] = how;
  for (const Home &home : homes.of(stage)) {
    const int32_t number = homes.numberOf(stage, home.replica);
    if (!home.isSharded())
      continue;
    std::vector<int32_t> group;
    for (int32_t piece = 0; piece < home.pieces; ++piece)
      group.push_back(homes.groupOf(number) + piece);
    cost(number,
         ActionKind::Unshard) = {gatherOverHomesNs(*this, group, weightBytes),
                                 weightBytes, 0, Lane::Collective};
    cost(number, ActionKind::Reshard) = {0, 0, weightBytes};
    cost(number, ActionKind::ReduceGrad) = {
        gatherOverHomesNs(*this, group, gradientBytes), 0, gradientBytes,
        Lane::Collective};
  }
}

void Problem::setStageCost(int32_t stage, int64_t forwardNs,
                           int64_t inputGradNs, int64_t weightGradNs,
                           int64_t activationBytes,
                           int64_t inputGradFreesBytes) {
  // check() refuses figures below 0 and near the limit of 64 bits; no sum may
  // overflow before it is asked.
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
