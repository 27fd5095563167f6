//===- ShardedPlan.h - Figures of plans with sharded stages -----*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#ifndef RONDO_TEST_UNIT_PLANNING_SHARDEDPLAN_H
#define RONDO_TEST_UNIT_PLANNING_SHARDEDPLAN_H

#include "lowering/Lowering.h"
#include "test/unit/schedule/ShardedChain.h"

namespace rondo::test {

/// Buffers and collectives of a shardedChain(). Devices have no limit.
inline PlanFigures shardedFigures(const Problem &problem) {
  PlanFigures plan;
  plan.declaresWeights = true;
  plan.hasNorm = false;
  plan.devices.assign(problem.numRanks(), noMemoryCap);
  for (const Replica &replica : problem.replicas) {
    const bool isFirst = replica.stage == 0,
               isLast = replica.stage + 1 == problem.numStages();
    ReplicaBuffers buffers{};
    auto set = [&](BufferKind kind, int64_t bytes) {
      buffers[static_cast<int>(kind)] = bytes;
    };
    set(BufferKind::Weights, wholeBytes / 2);
    set(BufferKind::Gradients, wholeBytes / 2);
    set(BufferKind::Control, 64);
    set(BufferKind::Data, isFirst || isLast ? 64 : 0);
    set(BufferKind::GatheredWeights, wholeBytes);
    set(BufferKind::UnreducedGradients, wholeBytes);
    set(BufferKind::Input, isFirst ? 0 : 64);
    set(BufferKind::InputGrad, isFirst ? 0 : 64);
    set(BufferKind::Output, isLast ? 0 : 64);
    set(BufferKind::OutputGrad, isLast ? 0 : 64);
    set(BufferKind::SavedForInputGrad, 64);
    set(BufferKind::SavedForWeightGrad, 64);
    plan.buffers.push_back(buffers);
  }
  for (const auto &[kind, action] :
       {std::pair(CollectiveKind::GatherWeights, ActionKind::Unshard),
        std::pair(CollectiveKind::ScatterGradients, ActionKind::ReduceGrad)})
    for (int32_t replica = 0; replica < problem.numReplicas(); ++replica) {
      if (problem.replicas[replica].shard > 0)
        continue;
      Collective collective;
      collective.kind = kind;
      collective.ns = problem.cost(replica, action).ns;
      for (int32_t piece = 0; piece < problem.replicas[replica].shards; ++piece)
        collective.replicas.push_back(replica + piece);
      plan.collectives.push_back(std::move(collective));
    }
  return plan;
}

/// The arenas of an order with gathers, in bytes by rank.
inline std::vector<int64_t> arenasOf(const PlanFigures &plan,
                                     const Problem &problem,
                                     const Schedule &placed) {
  const auto arenas = arenaOf(plan, problem, placed);
  EXPECT_TRUE(arenas);
  return arenas.value_or(std::vector<int64_t>(problem.numRanks(), 0));
}

} // namespace rondo::test

#endif // RONDO_TEST_UNIT_PLANNING_SHARDEDPLAN_H
