//===- ShardedChain.h - Chains whose stages are sharded ---------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#ifndef RONDO_TEST_UNIT_SCHEDULE_SHARDEDCHAIN_H
#define RONDO_TEST_UNIT_SCHEDULE_SHARDEDCHAIN_H

#include "schedule/families/Family.h"
#include "schedule/gathers/PlaceGathers.h"
#include "schedule/order/Shards.h"
#include "schedule/rules/Legality.h"

#include <gtest/gtest.h>

#include <string>
#include <vector>

namespace rondo::test {

inline constexpr int64_t wholeBytes = 1000;

/// Groups of `shards` ranks, in a row: group d has stages d, d + groups, and so
/// on, `chunks` in all. A stage gathers and reduces 1000 bytes; a byte takes a
/// ns on every link.
inline Problem shardedChain(int32_t groups, int32_t chunks, int32_t shards,
                            int32_t microbatches,
                            ShardedState how = ShardedState::Weights) {
  Problem problem;
  problem.microbatches = microbatches;
  problem.samples = shards;
  problem.memoryCaps.assign(groups * shards, noMemoryCap);
  for (int32_t stage = 0; stage < groups * chunks; ++stage) {
    std::vector<Share> shares;
    for (int32_t shard = 0; shard < shards; ++shard)
      shares.push_back({stage % groups * shards + shard, 1});
    problem.replicas.addStage(shares, shards);
  }
  problem.link = {0, 1000};
  for (int32_t stage = 0; stage < problem.numStages(); ++stage) {
    // Costs of all samples, which the replicas divide.
    problem.setStageCost(stage, 600 * shards, 800 * shards, 400 * shards,
                         48 * shards, 16 * shards);
    problem.setShards(stage, how, wholeBytes, wholeBytes);
  }
  problem.makeChain(std::vector<int64_t>(problem.numStages(), 0));
  EXPECT_FALSE(problem.check());
  return problem;
}

inline Schedule tasksOf(const Problem &problem, const std::string &family) {
  auto choice = parseFamily(family);
  auto result = generate(*choice, problem);
  if (!result) {
    ADD_FAILURE() << family << ": " << describe(result.fault());
    return {};
  }
  return *result;
}

inline std::string judge(const Problem &problem, const Schedule &schedule) {
  auto fault = checkSchedule(problem, schedule);
  return fault ? describe(*fault, problem) : "";
}

} // namespace rondo::test

#endif // RONDO_TEST_UNIT_SCHEDULE_SHARDEDCHAIN_H
