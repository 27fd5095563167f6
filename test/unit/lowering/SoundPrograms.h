//===- SoundPrograms.h - Programs that keep all rules -----------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Tests change them, and see what the rules find.
//
//===----------------------------------------------------------------------===//

#ifndef RONDO_TEST_UNIT_LOWERING_SOUNDPROGRAMS_H
#define RONDO_TEST_UNIT_LOWERING_SOUNDPROGRAMS_H

#include "test/unit/lowering/Fixture.h"

#include "lowering/Communication.h"
#include "lowering/MemoryPlan.h"
#include "schedule/rules/ProgramRules.h"
#include "schedule/rules/Rules.h"

#include "gtest/gtest.h"

#include <functional>
#include <optional>
#include <random>

namespace rondo::test {

using Random = std::mt19937;
using Orders = std::vector<std::vector<Action>>;

inline constexpr int64_t stagedBytes = 128;

/// A program that keeps all rules, and what it is held to.
struct Sound {
  Problem problem;
  Schedule schedule;
  TrainingNeeds needs;
  Program program;
  std::vector<int64_t> devices;

  ProgramDemands demands() const {
    return {&schedule, needs, devices,
            std::vector<int64_t>(problem.numRanks(), stagedBytes), nullptr};
  }
  std::optional<Fault> check() const {
    return checkProgram(problem, program, demands());
  }
};

/// Two sums of weights that the first and the last stage share, and a norm.
inline TrainingNeeds needsOf(const Problem &problem) {
  TrainingNeeds needs;
  for (const char *tensor : {"a", "b"}) {
    Collective sum;
    sum.kind = CollectiveKind::TiedGradients;
    sum.tensor = tensor;
    sum.replicas = {0, problem.numReplicas() - 1};
    needs.collectives.push_back(sum);
  }
  needs.collectives.push_back(norm(problem));
  needs.hasSteps = true;
  return needs;
}

inline void planMemoryOf(Sound &sound,
                         ProgramSimulation *withoutPlaces = nullptr) {
  KeptBytes kept;
  kept.staging.assign(sound.problem.numRanks(), stagedBytes);
  EXPECT_EQ(planMemory({sound.problem, sound.problem.replicas,
                        sound.problem.numRanks(), replicaBuffers(sound.problem),
                        kept},
                       sound.program, inTurn, withoutPlaces),
            std::nullopt);
  sound.devices = sound.program.arenaBytes;
}

inline Problem drawProblem(Random &random) {
  Problem problem = linearProblem(2 + random() % 4, 2 + random() % 6,
                                  random() % 400, 128, random() % 2 * 500);
  return problem;
}

inline Sound drawSound(Random &random) {
  Sound sound;
  sound.problem = drawProblem(random);
  sound.schedule = randomOrders(sound.problem, random, /*hasSteps=*/false);
  sound.needs = needsOf(sound.problem);
  sound.program = insertCommunication(
      sound.problem, sound.schedule,
      simulate(sound.problem, sound.schedule, /*keepTimes=*/true), sound.needs);
  planMemoryOf(sound);
  return sound;
}

/// One order per rank.
inline Orders ordersOf(const Program &program) {
  Orders orders;
  for (int32_t rank = 0; rank < program.order.numRanks(); ++rank)
    orders.emplace_back(program.order.rank(rank).begin(),
                        program.order.rank(rank).end());
  return orders;
}

inline bool isTask(Action action) { return action.isTask(); }

struct Spot {
  size_t rank = 0, position = 0;
};

/// A random action of some kind.
inline Spot drawSpot(const Orders &orders, Random &random,
                     const std::function<bool(Action)> &isWanted) {
  std::vector<Spot> spots;
  for (size_t rank = 0; rank < orders.size(); ++rank)
    for (size_t i = 0; i < orders[rank].size(); ++i)
      if (isWanted(orders[rank][i]))
        spots.push_back({rank, i});
  return spots[random() % spots.size()];
}

/// Changes the orders at a random action of some kind.
template <typename Change>
bool changeOrder(Sound &sound, Random &random,
                 const std::function<bool(Action)> &isWanted, Change change) {
  Orders orders = ordersOf(sound.program);
  const Spot spot = drawSpot(orders, random, isWanted);
  if (!change(orders[spot.rank], spot.position))
    return false;
  sound.program.order = Schedule(orders);
  return true;
}

/// Swaps an action with the next one of the kind, which is another action.
inline bool swapWithNext(std::vector<Action> &order, size_t at,
                         const std::function<bool(Action)> &isWanted) {
  for (size_t i = at + 1; i < order.size(); ++i)
    if (isWanted(order[i])) {
      std::swap(order[at], order[i]);
      return true;
    }
  return false;
}

/// Random slots for some buffers; one in `moveOneIn` of these moves to a random
/// pool of its rank.
inline void giveOtherSlots(Program &program, Random &random, int32_t length,
                           uint32_t moveOneIn = 1) {
  for (Place &place : program.places)
    if (place.pool >= 0 && random() % 3 == 0) {
      if (moveOneIn == 1 || random() % moveOneIn == 0) {
        const auto other =
            static_cast<int32_t>(random() % program.pools.size());
        if (program.pools[other].rank == program.pools[place.pool].rank)
          place.pool = other;
      }
      place.slotOf.resize(1 + random() % length);
      for (int32_t &slot : place.slotOf)
        slot = static_cast<int32_t>(random() % program.pools[place.pool].slots);
    }
}

} // namespace rondo::test

#endif // RONDO_TEST_UNIT_LOWERING_SOUNDPROGRAMS_H
