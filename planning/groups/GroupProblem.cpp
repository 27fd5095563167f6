//===- GroupProblem.cpp - A layout as a scheduling problem ----------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "planning/groups/GroupProblem.h"

#include <algorithm>
#include <cassert>
#include <cmath>

namespace rondo::groups {

/// Bytes for fragmentation, a part of the 3 GB that memoryOfRank() assumes for
/// libraries and fragments.
static constexpr double fragments = 1.5e9;

Problem problemOf(const Run &run, const Machines &machines,
                  const Constants &constants, int64_t memoryBytes) {
  const GroupCosts costs(run.model, machines, run.layout, run.execution,
                         constants, run.stageLayers);
  const Layout &layout = run.layout;
  Problem problem;
  problem.name = run.name;
  problem.microbatches = static_cast<int32_t>(layout.microbatches());
  for (int64_t rank = 0; rank < layout.pipeline; ++rank) {
    DeviceMemory memory = costs.memoryOfRank(rank);
    // Fragments are in the arena of a plan, which is placed to the byte.
    const auto rest = int64_t(memory.state + memory.other - fragments);
    problem.memoryCaps.push_back(std::max<int64_t>(0, memoryBytes - rest));
  }
  auto nsOf = [](double seconds) { return std::llround(seconds * 1e9); };
  const std::vector<StageCosts> stages = costs.stageCosts();
  std::vector<int64_t> messages;
  for (size_t stage = 0; stage < stages.size(); ++stage) {
    const StageCosts &cost = stages[stage];
    problem.replicas.addStage(
        static_cast<int32_t>(int64_t(stage) % layout.pipeline));
    problem.costs.resize(problem.costs.size() + numCostColumns);
    problem.setStageCost(static_cast<int32_t>(stage), nsOf(cost.forward),
                         nsOf(cost.inputGrad), nsOf(cost.weightGrad),
                         int64_t(cost.activations), 0);
    const bool isLast = stage + 1 == stages.size();
    messages.push_back(isLast ? 0 : int64_t(costs.messageBytes()));
  }
  problem.makeChain(messages);
  if (layout.pipeline > 1)
    problem.link = {nsOf(costs.messageLatency()),
                    std::max<int64_t>(1, int64_t(costs.messageRate() / 1e6))};
  assert(!problem.check() && "a layout without a fault has a sound problem");
  return problem;
}

} // namespace rondo::groups
