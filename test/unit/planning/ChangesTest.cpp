//===- ChangesTest.cpp - Changes of a run, and uneven cuts ----------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "planning/groups/Changes.h"
#include "test/unit/planning/GroupExamples.h"

#include <gtest/gtest.h>

#include <numeric>

using namespace rondo::groups;

namespace {

Run someRun() {
  Run run;
  run.name = "run";
  run.model = llama(32, 4096, 32, 14336);
  run.layout.tensor = 2;
  run.layout.pipeline = 4;
  run.layout.data = 4;
  run.layout.globalBatch = 256;
  run.layout.sequenceParallel = true;
  run.layout.recompute = Recompute::Full;
  return run;
}

TEST(Changes, AreFasterFitAndKeepTheRules) {
  const auto run = someRun();
  const Machines machines = dgx(Generation::Hopper, 4);
  const Constants constants;
  const double time =
      GroupCosts(run.model, machines, run.layout, run.execution, constants)
          .iterationTime()
          .total;
  const double room = 0.92 * 80e9;
  const std::vector<Change> changes =
      bestChanges(run, machines, constants, room, 10);
  ASSERT_GE(changes.size(), 2u);
  double before = 0;
  for (const Change &change : changes) {
    EXPECT_LT(change.time.total, time) << change.what;
    EXPECT_GE(change.time.total, before) << change.what;
    before = change.time.total;
    EXPECT_LE(change.memory.total(), room) << change.what;
    EXPECT_EQ(fault(run.model, change.run.layout), "") << change.what;
    EXPECT_EQ(change.run.layout.devices(), 32) << change.what;
    EXPECT_EQ(change.run.layout.globalBatch, 256) << change.what;
  }
  EXPECT_TRUE(std::any_of(changes.begin(), changes.end(), [](const Change &c) {
    return c.run.layout.recompute == Recompute::None;
  }));
  EXPECT_EQ(bestChanges(run, machines, constants, room, 1).front().what,
            changes.front().what);
}

TEST(Changes, NothingFitsWithoutRoom) {
  const auto run = someRun();
  EXPECT_TRUE(bestChanges(run, dgx(Generation::Hopper, 4), {}, 1e9, 3).empty());
}

// With a large vocabulary the head takes more than a layer's time, so the last
// rank gets fewer layers; the time is at most that of the even cut.
TEST(StageLayers, AreFewerBesideTheHead) {
  auto run = someRun();
  run.layout.chunks = 2;
  const Machines machines = dgx(Generation::Hopper, 4);
  const Constants constants;
  const GroupCosts even(run.model, machines, run.layout, run.execution,
                        constants);
  EXPECT_EQ(even.stageLayers(), std::vector<int64_t>(8, 4));
  Layout uneven = run.layout;
  uneven.isBalanced = true;
  const GroupCosts costs(run.model, machines, uneven, run.execution, constants);
  const std::vector<int64_t> layers = costs.stageLayers();
  ASSERT_EQ(layers.size(), 8u);
  EXPECT_EQ(std::accumulate(layers.begin(), layers.end(), int64_t(0)), 32);
  EXPECT_LT(layers[3] + layers[7], 8);
  EXPECT_LT(costs.iterationTime().total, even.iterationTime().total);
}

} // namespace
