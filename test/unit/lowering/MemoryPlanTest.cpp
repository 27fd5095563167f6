//===- MemoryPlanTest.cpp - Slots of programs -----------------------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "test/unit/lowering/Fixture.h"

#include "lowering/BufferLives.h"
#include "lowering/Communication.h"
#include "lowering/MemoryPlan.h"
#include "lowering/ReferenceOrders.h"
#include "schedule/order/EqualMicrobatches.h"

#include "gtest/gtest.h"

using namespace rondo;
using namespace rondo::test;

namespace {

TEST(MemoryPlan, SequentialReferenceNeedsOneSlotABuffer) {
  Problem problem = linearProblem(4, 6, 100, 128, 0);
  Problem sequential = sequentialProblem(problem);
  Schedule schedule = sequentialSchedule(sequential, {});
  Simulation simulation = simulate(sequential, schedule, true);
  ASSERT_TRUE(simulation.complete);
  Program program = insertCommunication(sequential, schedule, simulation,
                                        {{norm(problem)}, true});
  ASSERT_EQ(
      planMemory({sequential, problem.replicas, 4, replicaBuffers(problem)},
                 program),
      std::nullopt);
  EXPECT_EQ(broken(sequential, schedule, program, problem.memoryCaps), "");
  for (int32_t s = 0; s < 4; ++s) {
    const Place &saved = program.place(s, BufferKind::SavedForWeightGrad);
    EXPECT_EQ(saved.slotOf, std::vector<int32_t>{0});
    EXPECT_EQ(program.pools[saved.pool].rank, s);
  }
  // No messages on one rank.
  for (Action a : program.order.rank(0)) {
    EXPECT_NE(a.kind(), ActionKind::Send);
    EXPECT_NE(a.kind(), ActionKind::Recv);
  }
}

TEST(MemoryPlan, OnlyMicrobatchesThatDoTheSameAreEqual) {
  using Kind = ActionKind;
  const std::vector<Action> equal = {
      {Kind::Forward, 0, 0}, {Kind::Forward, 1, 0},  {Kind::Backward, 1, 0},
      {Kind::Forward, 0, 1}, {Kind::Forward, 1, 1},  {Kind::Backward, 1, 1},
      {Kind::Step, 0, 0},    {Kind::AllReduce, 0, 0}};
  auto sizeOfFirst = [](const std::vector<Action> &actions,
                        int32_t microbatches = 2) {
    return firstOfEqualMicrobatches(
               {actions.data(), actions.data() + actions.size()}, microbatches)
        .size();
  };
  EXPECT_EQ(sizeOfFirst(equal), 3);
  // Messages of another rank may arrive at any time.
  std::vector<Action> other = equal;
  other[0] = {Kind::Recv, 0, 0};
  EXPECT_EQ(sizeOfFirst(other), 0);
  other = equal;
  std::swap(other[3], other[4]);
  EXPECT_EQ(sizeOfFirst(other), 0);
  other = equal;
  other[5].index = 0;
  EXPECT_EQ(sizeOfFirst(other), 0);
  other = equal;
  other.push_back({Kind::WeightGrad, 0, 0});
  EXPECT_EQ(sizeOfFirst(other), 0);
  EXPECT_EQ(sizeOfFirst(equal, 3), 0);
  EXPECT_EQ(sizeOfFirst({equal.begin() + 6, equal.end()}), 0);
}

TEST(MemoryPlan, ActivationSlotsAreThePeakOfTheSchedule) {
  Problem problem = linearProblem(4, 16, 0, 128, 0);
  for (const char *family : {"gpipe", "1f1b", "kfkb:k=2", "zb-h1"}) {
    Schedule schedule = familySchedule(family, problem);
    Simulation simulation = simulate(problem, schedule);
    Program program = lower(problem, schedule);
    for (int32_t r = 0; r < 4; ++r) {
      const Place &saved = program.place(r, BufferKind::SavedForWeightGrad);
      // The problem counts 100 bytes for an activation.
      EXPECT_EQ(program.pools[saved.pool].slots, simulation.peakBytes[r] / 100)
          << family << " rank " << r;
    }
  }
}

TEST(MemoryPlan, StagesOfARankShareTheLargestWorkspace) {
  Problem problem = linearProblem(4, 4, 0, 128, 0);
  layInChunks(problem, 2, /*isWave=*/false);
  std::vector<ReplicaBuffers> buffers = replicaBuffers(problem);
  buffers[2][static_cast<int>(BufferKind::Workspace)] = 1000;
  Schedule schedule = familySchedule("interleaved-1f1b", problem);
  Program program = insertCommunication(problem, schedule,
                                        simulate(problem, schedule, true), {});
  ASSERT_EQ(planMemory({problem, problem.replicas, 2, buffers}, program),
            std::nullopt);
  auto poolOf = [&](int32_t stage) {
    return program.place(stage, BufferKind::Workspace).pool;
  };
  EXPECT_EQ(poolOf(0), poolOf(2));
  EXPECT_EQ(poolOf(1), poolOf(3));
  EXPECT_EQ(program.pools[poolOf(0)].slotBytes, 1024);
  EXPECT_EQ(program.pools[poolOf(0)].slots, 1);
  EXPECT_EQ(program.pools[poolOf(1)].slotBytes, 256);
}

TEST(MemoryPlan, AbsurdSizesAreAnError) {
  Problem problem = linearProblem(2, 4, 0, 128, 0);
  std::vector<ReplicaBuffers> buffers = replicaBuffers(problem);
  buffers[1][static_cast<int>(BufferKind::Weights)] = int64_t(1) << 60;
  Schedule schedule = familySchedule("1f1b", problem);
  Program program = insertCommunication(problem, schedule,
                                        simulate(problem, schedule, true), {});
  std::optional<Fault> wrong =
      planMemory({problem, problem.replicas, 2, buffers}, program);
  ASSERT_TRUE(wrong.has_value());
  EXPECT_EQ(describe(*wrong),
            "stage 1 asks for 1152921504606846976 bytes of weights; an arena "
            "has 0 to 1125899906842624");
}

TEST(MemoryPlan, MoreDataSlotsThanATableNamesAreAnError) {
  Problem problem = linearProblem(1, maxSlots + 1, 0, 0, 0);
  Schedule schedule = familySchedule("1f1b", problem);
  Program program = insertCommunication(problem, schedule,
                                        simulate(problem, schedule, true), {});
  std::vector<ReplicaBuffers> buffers = replicaBuffers(problem);
  std::optional<Fault> wrong =
      planMemory({problem, problem.replicas, 1, buffers}, program);
  ASSERT_TRUE(wrong.has_value());
  EXPECT_NE(describe(*wrong).find("65536 slots at most"), std::string::npos)
      << describe(*wrong);
}

} // namespace
