//===- StepsTest.cpp - Programs of schedules with steps -------------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "test/unit/lowering/Fixture.h"

#include "schedule/rules/Legality.h"
#include "schedule/rules/ProgramRules.h"
#include "gtest/gtest.h"

#include <algorithm>

using namespace rondo;
using namespace rondo::test;

namespace {

using Random = std::mt19937;

int64_t upTo(Random &random, int64_t n) {
  return std::uniform_int_distribution<int64_t>(0, n)(random);
}

/// A chain on random ranks, whose steps take random times.
Problem randomChain(Random &random, int64_t latencyNs, int64_t bytesPerUs) {
  Problem problem = linearProblem(2 + upTo(random, 3), 1 + upTo(random, 6),
                                  latencyNs, 128, bytesPerUs);
  const int32_t ranks = 1 + upTo(random, problem.numStages() - 1);
  problem.memoryCaps.assign(ranks, noMemoryCap);
  for (int32_t replica = 0; replica < problem.replicas.size(); ++replica)
    problem.replicas.moveTo(replica, int32_t(upTo(random, ranks - 1)));
  for (int32_t s = 0; s < problem.numStages(); ++s)
    problem.cost(s, ActionKind::Step).ns = upTo(random, 3000);
  problem.channels.protocol =
      upTo(random, 1) ? Protocol::Eager : Protocol::Rendezvous;
  return problem;
}

std::vector<Action> stepsOf(const Schedule &schedule) {
  std::vector<Action> steps;
  for (int32_t r = 0; r < schedule.numRanks(); ++r)
    for (Action action : schedule.rank(r))
      if (action.kind() == ActionKind::Step)
        steps.push_back(action);
  return steps;
}

/// The two simulators agree on steps that wait for gradients alone.
TEST(Steps, AreAsFastInAProgramAsInItsSchedule) {
  Random random(11);
  for (int round = 0; round < 400; ++round) {
    SCOPED_TRACE(round);
    const int64_t latencyNs = upTo(random, 400);
    Problem problem = randomChain(random, latencyNs, upTo(random, 1) * 500);
    const Schedule schedule = randomOrders(problem, random, /*hasSteps=*/true);
    ASSERT_EQ(checkSchedule(problem, schedule), std::nullopt);
    const Program program = lower(problem, schedule, {{}, true});
    ASSERT_EQ(broken(problem, schedule, program, problem.memoryCaps), "");
    EXPECT_EQ(stepsOf(program.order), stepsOf(schedule));
    const int64_t makespan = simulateProgram(problem, program).makespanNs;
    const int64_t free = simulate(problem, schedule).makespanNs;
    EXPECT_GE(makespan, free);
    EXPECT_LE(makespan, free + free / 100);
  }
}

/// Moves the steps of each rank after its last gradient, if a norm lets them be
/// there.
Schedule withStepsLast(const Schedule &schedule) {
  Schedule moved;
  for (int32_t r = 0; r < schedule.numRanks(); ++r) {
    std::vector<Action> order(schedule.rank(r).begin(), schedule.rank(r).end());
    std::stable_partition(order.begin(), order.end(),
                          [](Action action) { return action.isTask(); });
    for (Action action : order)
      moved.append(action);
    moved.endRank();
  }
  return moved;
}

/// Steps after a norm begin when all ranks have their gradients and the norm
/// has taken its time.
TEST(Steps, WaitForTheNorm) {
  Random random(12);
  for (int round = 0; round < 200; ++round) {
    SCOPED_TRACE(round);
    const Problem problem = randomChain(random, 0, 0);
    const Schedule schedule =
        withStepsLast(randomOrders(problem, random, /*hasSteps=*/true));
    TrainingNeeds needs{{norm(problem)}, true};
    needs.collectives[0].ns = upTo(random, 5000);
    ASSERT_EQ(checkSteps(problem, schedule, needs.collectives), std::nullopt);
    const Program program = lower(problem, schedule, needs);
    ASSERT_EQ(broken(problem, schedule, program, problem.memoryCaps), "");
    const Simulation free = simulate(problem, schedule, /*keepTimes=*/true);
    int64_t normNs = 0, stepsNs = 0;
    for (int32_t r = 0; r < schedule.numRanks(); ++r) {
      int64_t ownNs = 0;
      for (int64_t i = 0; i < schedule.rank(r).size(); ++i) {
        const Action action = schedule.rank(r)[i];
        if (action.isTask())
          normNs = std::max(normNs, free.endNs[schedule.rankBegin(r) + i]);
        else
          ownNs += problem.cost(action.subject, ActionKind::Step).ns;
      }
      stepsNs = std::max(stepsNs, ownNs);
    }
    EXPECT_EQ(simulateProgram(problem, program).makespanNs,
              normNs + needs.collectives[0].ns + stepsNs);
  }
}

/// Positions of an action and of the two ends of collective 0 on a rank.
struct Found {
  int64_t action = -1, issued = -1, awaited = -1;
};
Found find(const Program &program, int32_t rank, Action wanted) {
  Found found;
  ActionRange order = program.order.rank(rank);
  for (int64_t i = 0; i < order.size(); ++i) {
    if (order[i] == wanted)
      found.action = i;
    if (order[i] == Action(ActionKind::AllReduce, 0, 0))
      found.issued = i;
    if (order[i] == Action(ActionKind::Await, 0, 0))
      found.awaited = i;
  }
  return found;
}

// Stages 0 and 3 are on rank 0. The sum over stages 0 and 2 runs while both
// ranks work on others.
TEST(Steps, CollectivesAreIssuedEarlyAndAwaitedLate) {
  Problem problem = linearProblem(4, 1, 0, 128, 0);
  problem.memoryCaps.assign(2, noMemoryCap);
  for (auto [stage, rank] : {std::pair(0, 0), {1, 1}, {2, 1}, {3, 0}})
    problem.replicas.moveTo(stage, rank);
  Schedule schedule;
  auto add = [&](ActionKind kind, int32_t stage) {
    schedule.append(Action(kind, stage, 0));
  };
  using K = ActionKind;
  add(K::Forward, 0);
  add(K::Forward, 3);
  add(K::InputGrad, 3);
  add(K::Backward, 0);
  add(K::WeightGrad, 3);
  add(K::Step, 3);
  add(K::Step, 0);
  schedule.endRank();
  add(K::Forward, 1);
  add(K::Forward, 2);
  add(K::Backward, 2);
  add(K::Backward, 1);
  add(K::Step, 1);
  add(K::Step, 2);
  schedule.endRank();
  const Collective tied{CollectiveKind::TiedGradients, "w", {0, 2}, 500};
  ASSERT_EQ(checkSchedule(problem, schedule), std::nullopt);
  ASSERT_EQ(checkSteps(problem, schedule, {tied}), std::nullopt);
  const Program program = lower(problem, schedule, {{tied}, true});
  ASSERT_EQ(broken(problem, schedule, program, problem.memoryCaps), "");
  const Found first = find(program, 0, Action(K::Step, 0, 0));
  EXPECT_LT(first.issued, find(program, 0, Action(K::WeightGrad, 3, 0)).action);
  EXPECT_LT(find(program, 0, Action(K::Step, 3, 0)).action, first.awaited);
  EXPECT_EQ(first.action, first.awaited + 1);
  const Found second = find(program, 1, Action(K::Step, 2, 0));
  EXPECT_LT(second.issued, find(program, 1, Action(K::Backward, 1, 0)).action);
  EXPECT_LT(find(program, 1, Action(K::Step, 1, 0)).action, second.awaited);
  EXPECT_EQ(second.action, second.awaited + 1);
}

} // namespace
