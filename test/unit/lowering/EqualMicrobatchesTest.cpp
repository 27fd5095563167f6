//===- EqualMicrobatchesTest.cpp - Rules and equal micro-batches ----------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// A rank that does the same for all micro-batches is planned and checked by the
// first. The rules find what they would find if they looked at all.
//
//===----------------------------------------------------------------------===//

#include "test/unit/lowering/SoundPrograms.h"

#include "lowering/ReferenceOrders.h"
#include "schedule/order/EqualMicrobatches.h"

using namespace rondo;
using namespace rondo::test;

namespace {

/// A rank that does the same for all micro-batches, which the planner plans
/// once.
Sound reference(Random &random) {
  const Problem problem =
      linearProblem(2 + random() % 3, 2 + random() % 5, 100, 128, 0);
  Sound sound;
  sound.problem = sequentialProblem(problem);
  sound.schedule = sequentialSchedule(sound.problem, {});
  sound.needs = {{norm(problem)}, true};
  sound.program = insertCommunication(
      sound.problem, sound.schedule,
      simulate(sound.problem, sound.schedule, /*keepTimes=*/true), sound.needs);
  EXPECT_EQ(planMemory({sound.problem, problem.replicas, problem.numRanks(),
                        replicaBuffers(problem)},
                       sound.program),
            std::nullopt);
  return sound;
}

// The rules check all micro-batches, also if the planner has checked the first
// alone: the last ones are changed, and found.
TEST(Mutations, EqualMicrobatchesAreAllChecked) {
  Random random(9);
  int tasks = 0, slots = 0;
  for (int round = 0; round < 200; ++round) {
    const Sound sound = reference(random);
    ProgramDemands demands{&sound.schedule, sound.needs, {}, {}, nullptr};
    ASSERT_EQ(checkProgram(sound.problem, sound.program, demands),
              std::nullopt);
    const int64_t last = sound.problem.microbatches - 1;
    Sound changed = sound;
    const bool isApplied = changeOrder(
        changed, random,
        [&](Action action) {
          return action.isTask() && static_cast<int64_t>(action.index) == last;
        },
        [](auto &order, size_t at) { return swapWithNext(order, at, isTask); });
    if (isApplied) {
      const auto fault =
          checkProgram(changed.problem, changed.program, demands);
      ASSERT_TRUE(fault);
      EXPECT_EQ(fault->rule, Rule::Tasks);
      ++tasks;
    }
    // The last micro-batch has its activation in a slot that the pool lacks.
    changed = sound;
    const auto replica =
        static_cast<int32_t>(random() % sound.problem.numReplicas());
    Place &place =
        changed.program.place(replica, BufferKind::SavedForWeightGrad);
    if (place.pool < 0)
      continue;
    place.slotOf.assign(static_cast<size_t>(last) + 1, place.slot(0));
    place.slotOf.back() = changed.program.pools[place.pool].slots;
    const auto fault = checkProgram(changed.problem, changed.program, demands);
    ASSERT_TRUE(fault);
    EXPECT_EQ(fault->rule, Rule::Buffers);
    ++slots;
  }
  EXPECT_GT(tasks, 100);
  EXPECT_GT(slots, 100);
}

/// Without the positions, which differ where an action has been added.
std::string wordsOf(std::optional<Fault> fault) {
  if (!fault)
    return "";
  fault->position = fault->otherPosition = 0;
  return describe(*fault);
}

/// A program of one rank that does the same for all micro-batches, in any order
/// and perhaps not all that it should, with any slots.
Program randomReference(const Problem &sequential, const Problem &problem,
                        std::mt19937 &random) {
  const Schedule schedule = sequentialSchedule(sequential, {});
  const ActionRange tasks = schedule.rank(0);
  std::vector<Action> first(tasks.begin(), tasks.begin() + tasks.size() / 5);
  for (uint32_t swaps = random() % 3; swaps > 0; --swaps)
    std::swap(first[random() % first.size()], first[random() % first.size()]);
  if (random() % 3 == 0)
    first.erase(first.begin() + random() % first.size());
  std::vector<Action> order;
  for (int32_t i = 0; i < 5; ++i)
    for (Action action : first) {
      action.index = i;
      order.push_back(action);
    }
  Program program = insertCommunication(sequential, schedule,
                                        simulate(sequential, schedule, true),
                                        {{norm(problem)}, true});
  EXPECT_EQ(planMemory({sequential, problem.replicas, problem.numRanks(),
                        replicaBuffers(problem)},
                       program),
            std::nullopt);
  program.order = Schedule({order});
  if (random() % 3 != 0) {
    for (Pool &pool : program.pools)
      pool.slots = 2;
    giveOtherSlots(program, random, random() % 2 ? 1 : 5, /*moveOneIn=*/8);
  }
  return program;
}

// If a program itself shows that a rank does the same for all micro-batches,
// rules L2 and L3 check only the first. An action of no micro-batch before them
// makes the rules check all.
TEST(Mutations, EqualMicrobatchesHaveTheFaultsOfTheFirst) {
  const Problem problem = linearProblem(3, 5, 100, 128, 0);
  const Problem sequential = sequentialProblem(problem);
  std::mt19937 random(6);
  int sound = 0, stuck = 0, overlapping = 0;
  for (int round = 0; round < 600; ++round) {
    const Program program = randomReference(sequential, problem, random);
    ASSERT_FALSE(firstOfEqualMicrobatches(program.order.rank(0), 5).empty());
    Program unequal = program;
    std::vector<Action> order = {Action(ActionKind::AllReduce, 0, 0)};
    for (Action action : program.order.rank(0))
      order.push_back(action);
    unequal.order = Schedule({order});
    ASSERT_TRUE(firstOfEqualMicrobatches(unequal.order.rank(0), 5).empty());
    const std::string cycle = wordsOf(checkWaitCycle(sequential, program)),
                      slots = wordsOf(checkBuffers(sequential, program));
    EXPECT_EQ(cycle, wordsOf(checkWaitCycle(sequential, unequal)));
    EXPECT_EQ(slots, wordsOf(checkBuffers(sequential, unequal)));
    sound += cycle.empty() && slots.empty();
    stuck += !cycle.empty();
    overlapping += cycle.empty() && !slots.empty();
  }
  EXPECT_GT(sound, 50);
  EXPECT_GT(stuck, 50);
  EXPECT_GT(overlapping, 50);
}

} // namespace
