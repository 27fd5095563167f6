//===- ShortcutsTest.cpp - Rules that look at less than the whole ---------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "test/unit/lowering/Fixture.h"

#include "lowering/Communication.h"
#include "lowering/MemoryPlan.h"
#include "lowering/ReferenceOrders.h"
#include "schedule/order/EqualMicrobatches.h"

#include "gtest/gtest.h"

#include <algorithm>

using namespace rondo;
using namespace rondo::test;

namespace {

/// Without the positions, which differ where an action has been added.
std::string wordsOf(std::optional<Fault> fault) {
  if (!fault)
    return "";
  fault->position = fault->otherPosition = 0;
  return describe(*fault);
}

/// Random slots, now and then of another pool, for some buffers.
void giveOtherSlots(Program &program, std::mt19937 &random, int32_t length) {
  for (Place &place : program.places)
    if (place.pool >= 0 && random() % 3 == 0) {
      if (random() % 8 == 0)
        place.pool = static_cast<int32_t>(random() % program.pools.size());
      place.slotOf.resize(1 + random() % length);
      for (int32_t &slot : place.slotOf)
        slot = static_cast<int32_t>(random() % program.pools[place.pool].slots);
    }
}

/// The norm somewhere among what each rank does, which awaits it at once.
void moveNorms(Program &program, std::mt19937 &random) {
  std::vector<std::vector<Action>> orders;
  for (int32_t rank = 0; rank < program.order.numRanks(); ++rank) {
    std::vector<Action> &order = orders.emplace_back();
    for (Action action : program.order.rank(rank))
      if (action.kind() != ActionKind::AllReduce &&
          action.kind() != ActionKind::Await)
        order.push_back(action);
    const auto at = static_cast<ptrdiff_t>(random() % order.size());
    order.insert(order.begin() + at, {Action(ActionKind::AllReduce, 0, 0),
                                      Action(ActionKind::Await, 0, 0)});
  }
  program.order = Schedule(orders);
}

// How a program runs without places says whether it runs with them, where every
// slot is free by then; where not, it must be simulated.
TEST(Shortcuts, AKnownRunDoesNotChangeWaitCycles) {
  std::mt19937 random(5);
  int sound = 0, stuckAnyway = 0, faulty = 0;
  for (int round = 0; round < 6000; ++round) {
    Problem problem = linearProblem(2 + random() % 4, 2 + random() % 6,
                                    random() % 400, 128, random() % 2 * 500);
    problem.channels.protocol =
        random() % 4 == 0 ? Protocol::Eager : Protocol::Rendezvous;
    problem.channels.queues = random() % 4 ? Queues::PerPair : Queues::PerRank;
    const Schedule schedule = randomOrders(problem, random, /*hasSteps=*/false);
    Program program = lower(problem, schedule);
    if (round % 2 == 0)
      moveNorms(program, random);
    Program bare = program;
    bare.pools.clear();
    bare.places.clear();
    const ProgramSimulation withoutPlaces =
        simulateProgram(problem, bare, /*resident=*/0);
    for (int i = 0; i < 2; ++i) {
      const std::string words = wordsOf(checkWaitCycle(problem, program));
      EXPECT_EQ(wordsOf(checkWaitCycle(problem, program, &withoutPlaces)),
                words);
      ++(words.empty()             ? sound
         : !withoutPlaces.complete ? stuckAnyway
                                   : faulty);
      giveOtherSlots(program, random, problem.microbatches);
    }
  }
  EXPECT_GT(sound, 100);
  EXPECT_GT(stuckAnyway, 100);
  EXPECT_GT(faulty, 50);
}

// What is known is not simulated again, so that it must be of this order.
TEST(Shortcuts, AKnownRunIsBelieved) {
  Problem problem = linearProblem(2, 4, 0, 128, 0);
  Program program = lower(problem, familySchedule("gpipe", problem));
  const ProgramSimulation known = simulateProgram(problem, program);
  std::vector<std::vector<Action>> orders;
  for (int32_t rank = 0; rank < 2; ++rank)
    orders.emplace_back(program.order.rank(rank).begin(),
                        program.order.rank(rank).end());
  // The first F comes before its message.
  auto first = std::find_if(orders[1].begin(), orders[1].end(),
                            [](Action action) { return action.isTask(); });
  ASSERT_EQ(orders[1].front().kind(), ActionKind::Recv);
  std::iter_swap(orders[1].begin(), first);
  program.order = Schedule(orders);
  EXPECT_TRUE(checkWaitCycle(problem, program));
  EXPECT_FALSE(checkWaitCycle(problem, program, &known));
}

// Memory is planned for a run that is known as for one that it simulates, and
// the known one is believed: with sends that end later, slots are free later.
TEST(Shortcuts, MemoryIsPlannedForAKnownRun) {
  std::mt19937 random(7);
  int larger = 0;
  for (int round = 0; round < 200; ++round) {
    const Problem problem = linearProblem(2 + random() % 4, 2 + random() % 6,
                                          random() % 400, 128, 500);
    const Schedule schedule = randomOrders(problem, random, /*hasSteps=*/false);
    const Program bare = insertCommunication(
        problem, schedule, simulate(problem, schedule, true), TrainingNeeds());
    auto plan = [&](ProgramSimulation &run) {
      Program program = bare;
      EXPECT_EQ(planMemory(problem, problem.replicas, problem.numRanks(),
                           replicaBuffers(problem), program, {}, inTurn, &run),
                std::nullopt);
      return program;
    };
    ProgramSimulation simulated, known = simulateWithoutPlaces(problem, bare);
    const Program own = plan(simulated), given = plan(known);
    EXPECT_EQ(simulated.endNs, known.endNs);
    EXPECT_EQ(own.arenaBytes, given.arenaBytes);
    for (size_t buffer = 0; buffer < own.places.size(); ++buffer) {
      EXPECT_EQ(own.places[buffer].pool, given.places[buffer].pool);
      EXPECT_EQ(own.places[buffer].slotOf, given.places[buffer].slotOf);
    }
    if (!known.complete)
      continue;
    for (int64_t &ns : known.endNs)
      ns += 100000;
    larger += plan(known).arenaBytes > own.arenaBytes;
  }
  EXPECT_GT(larger, 50);
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
  EXPECT_EQ(planMemory(sequential, problem.replicas, problem.numRanks(),
                       replicaBuffers(problem), program),
            std::nullopt);
  program.order = Schedule({order});
  if (random() % 3 != 0) {
    for (Pool &pool : program.pools)
      pool.slots = 2;
    giveOtherSlots(program, random, /*length=*/random() % 2 ? 1 : 5);
  }
  return program;
}

// Where a rank does the same for all micro-batches, rules L2 and L3 look at the
// first alone. An action of no micro-batch in front makes them look at all.
TEST(Shortcuts, EqualMicrobatchesHaveTheFaultsOfTheFirst) {
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
