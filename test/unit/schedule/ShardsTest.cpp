//===- ShardsTest.cpp - Stages whose state is sharded ---------------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "ShardedChain.h"

#include "schedule/simulate/Simulator.h"

#include <random>

using namespace rondo;
using namespace rondo::test;

namespace {

/// The order of one rank, `actions`, and of another that does the same with the
/// second replicas; a stage of two shards on two ranks.
Schedule onBoth(const std::vector<Action> &actions) {
  Schedule schedule;
  for (int32_t replica = 0; replica < 2; ++replica) {
    for (Action action : actions)
      schedule.append(Action(action.kind(), replica, action.index));
    schedule.endRank();
  }
  return schedule;
}

Problem onePair(int32_t microbatches) {
  return shardedChain(1, 1, 2, microbatches);
}

constexpr auto F = ActionKind::Forward, B = ActionKind::Backward,
               U = ActionKind::Unshard, R = ActionKind::Reshard,
               S = ActionKind::ReduceGrad, step = ActionKind::Step;

TEST(Shards, CostsFollowFromLinks) {
  // Half of the bytes pass once.
  const Problem two = onePair(1);
  EXPECT_EQ(two.cost(0, U).ns, 500);
  EXPECT_EQ(two.cost(0, U).acquireBytes, wholeBytes);
  EXPECT_EQ(two.cost(1, R).releaseBytes, wholeBytes);
  EXPECT_EQ(two.cost(1, S).ns, 500);
  // Three quarters.
  EXPECT_EQ(shardedChain(1, 1, 4, 1).cost(3, U).ns, 750);
}

TEST(Shards, FaultsOfProblems) {
  auto faultOf = [](Problem problem) {
    auto found = problem.check();
    return found ? describe(*found) : "";
  };
  Problem problem = onePair(1);
  problem.replicas = Replicas();
  problem.replicas.addStage({{0, 1}, {1, 1}});
  EXPECT_EQ(faultOf(problem), "stage 0 shards its state, but its state is in "
                              "one shard; it needs several replicas");
  problem.replicas = Replicas();
  problem.replicas.addStage({{0, 1}, {1, 1}}, 3);
  EXPECT_EQ(faultOf(problem),
            "stage 0 has its state in 3 shards, but 2 replicas; "
            "groups of 3 must divide them");
  Problem window = onePair(2);
  window.iterations = 2;
  EXPECT_EQ(
      faultOf(window),
      "2 iterations overlap, but stage 0 shards its state; keep the state "
      "whole on each replica, or take a single iteration");
}

TEST(Shards, OrdersThatKeepTheRules) {
  const Problem problem = onePair(2);
  EXPECT_EQ(judge(problem, onBoth({{U, 0, 0},
                                   {F, 0, 0},
                                   {B, 0, 0},
                                   {S, 0, 0},
                                   {F, 0, 1},
                                   {R, 0, 0},
                                   {U, 0, 1},
                                   {B, 0, 1},
                                   {R, 0, 1},
                                   {S, 0, 1},
                                   {step, 0, 0}})),
            "");
}

TEST(Shards, FaultsOfOrders) {
  const Problem problem = onePair(1);
  auto fault = [&](const std::vector<Action> &actions) {
    return judge(problem, onBoth(actions));
  };
  EXPECT_EQ(fault({{F, 0, 0}, {B, 0, 0}, {S, 0, 0}}),
            "0F0 at position 0 of rank 0 reads weights of stage 0 that are not "
            "gathered; unshard them before it [S9]");
  EXPECT_EQ(fault({{U, 0, 0}, {F, 0, 0}, {R, 0, 0}, {B, 0, 0}, {S, 0, 0}}),
            "0B0 at position 3 of rank 0 reads weights of stage 0 that are not "
            "gathered; unshard them before it [S9]");
  EXPECT_EQ(fault({{U, 0, 0}, {U, 0, 1}, {F, 0, 0}, {B, 0, 0}, {S, 0, 0}}),
            "unshard 1 of stage 0 at position 1 of rank 0 gathers weights that "
            "unshard 0 of stage 0 at position 0 of rank 0 has gathered and "
            "nothing has freed; reshard them first [S9]");
  EXPECT_EQ(fault({{U, 0, 3}, {F, 0, 0}, {B, 0, 0}, {R, 0, 0}, {S, 0, 0}}),
            "unshard 3 of stage 0 at position 0 of rank 0 comes where unshard "
            "0 of stage 0 is expected; those of a stage are numbered in their "
            "order, from 0 [S9]");
  EXPECT_EQ(fault({{R, 0, 0}, {U, 0, 0}, {F, 0, 0}, {B, 0, 0}, {S, 0, 0}}),
            "reshard 0 of stage 0 at position 0 of rank 0 frees weights that "
            "are not gathered; leave it out [S9]");
  EXPECT_EQ(
      fault({{U, 0, 0}, {F, 0, 0}, {B, 0, 0}, {S, 0, 0}}),
      "unshard 0 of stage 0 at position 0 of rank 0 gathers weights that "
      "nothing frees; reshard them after the last task that reads them [S9]");
  EXPECT_EQ(fault({{U, 0, 0}, {F, 0, 0}, {B, 0, 0}, {R, 0, 0}}),
            "0B0 at position 2 of rank 0 makes gradients of stage 0 that no "
            "reduce_grad after it adds; write one after it, before the "
            "stage's step [S9]");
  EXPECT_EQ(fault({{U, 0, 0}, {F, 0, 0}, {S, 0, 0}, {B, 0, 0}, {R, 0, 0}}),
            "reduce_grad 0 of stage 0 at position 2 of rank 0 has no gradients "
            "to add: stage 0 has no W or B since the one before; leave it out "
            "[S9]");
  EXPECT_EQ(fault({{U, 0, 0},
                   {F, 0, 0},
                   {B, 0, 0},
                   {R, 0, 0},
                   {step, 0, 0},
                   {S, 0, 0}}),
            "step of stage 0 at position 4 of rank 0 comes before reduce_grad "
            "0 of stage 0 at position 5 of rank 0, which still moves the state "
            "of its stage; move the step after it [S9]");
  EXPECT_EQ(fault({{U, 0, 0},
                   {F, 0, 0},
                   {B, 0, 0},
                   {S, 0, 0},
                   {step, 0, 0},
                   {R, 0, 0}}),
            "step of stage 0 at position 4 of rank 0 comes before reshard 0 of "
            "stage 0 at position 5 of rank 0, which still moves the state of "
            "its stage; move the step after it [S9]");
}

TEST(Shards, FaultsOfGroups) {
  const Problem problem = onePair(2);
  auto both = [&](const std::vector<Action> &first,
                  const std::vector<Action> &second) {
    Schedule schedule;
    for (Action action : first)
      schedule.append(Action(action.kind(), 0, action.index));
    schedule.endRank();
    for (Action action : second)
      schedule.append(Action(action.kind(), 1, action.index));
    schedule.endRank();
    return judge(problem, schedule);
  };
  const std::vector<Action> once = {{U, 0, 0}, {F, 0, 0}, {B, 0, 0}, {F, 0, 1},
                                    {B, 0, 1}, {R, 0, 0}, {S, 0, 0}};
  EXPECT_EQ(both(once, once), "");
  // The same gradients, in other units.
  EXPECT_EQ(
      both(once, {{U, 0, 0},
                  {F, 0, 0},
                  {B, 0, 0},
                  {S, 0, 0},
                  {F, 0, 1},
                  {B, 0, 1},
                  {R, 0, 0},
                  {S, 0, 1}}),
      "reduce_grad 0 of stage 0 at position 3 of rank 1 adds the gradients of "
      "1 micro-batch from 0 on, reduce_grad 0 of stage 0 at position 6 of rank "
      "0 those of 2 from 0 on; the replicas of a group add the same [S9]");
  // One rank gathers twice.
  EXPECT_EQ(both(once, {{U, 0, 0},
                        {F, 0, 0},
                        {F, 0, 1},
                        {R, 0, 0},
                        {U, 0, 1},
                        {B, 0, 0},
                        {B, 0, 1},
                        {R, 0, 1},
                        {S, 0, 0}}),
            "rank 1 issues unshard 1 of stage 0 at position 4 of rank 1, where "
            "rank 0, which shares the state, issues reduce_grad 0 of stage 0; "
            "the ranks of a group gather and reduce in one order, so move one "
            "of them [S9]");
  // One rank gathers once more, for nothing.
  std::vector<Action> more = once;
  more.insert(more.end(), {{U, 0, 1}, {R, 0, 1}});
  EXPECT_EQ(both(once, more),
            "rank 1 issues unshard 1 of stage 0 at position 7 of rank 1, which "
            "rank 0 does not, though it shares the state; the ranks of a group "
            "gather and reduce in one order, so write it on both or on none "
            "[S9]");
}

/// A stage on four ranks in groups of two, gathered and reduced once.
static Problem twoGroups(int64_t bytesPerUs = 1000) {
  Problem problem;
  problem.microbatches = 1;
  problem.samples = 4;
  problem.memoryCaps.assign(4, noMemoryCap);
  problem.replicas.addStage({{0, 1}, {1, 1}, {2, 1}, {3, 1}}, 2);
  problem.link = {0, bytesPerUs};
  problem.setStageCost(0, 400, 400, 400, 0, 0);
  problem.setShards(0, ShardedState::Weights, 1000, 1000);
  problem.makeChain({0});
  EXPECT_FALSE(problem.check());
  return problem;
}

static Schedule onceEach(const Problem &problem, bool hasSteps) {
  Schedule schedule;
  for (int32_t replica = 0; replica < problem.numReplicas(); ++replica) {
    for (Action action :
         {Action(U, replica, 0), Action(F, replica, 0), Action(B, replica, 0),
          Action(R, replica, 0), Action(S, replica, 0)})
      schedule.append(action);
    if (hasSteps)
      schedule.append(Action(ActionKind::Step, replica, 0));
    schedule.endRank();
  }
  return schedule;
}

/// A half of 1000 bytes is gathered, and reduced, in 500 ns at 1 byte/ns; then
/// the groups add their shards of 500, half of which leaves twice.
TEST(Shards, GroupsAddTheirShards) {
  Problem problem = twoGroups();
  const Schedule schedule = onceEach(problem, /*hasSteps=*/false);
  EXPECT_EQ(judge(problem, schedule), "");
  EXPECT_EQ(simulate(problem, schedule).makespanNs, 500 + 300 + 500 + 500);
  // Between groups links are slow.
  problem.links[{1, 3}] = {10, 250};
  EXPECT_EQ(simulate(problem, schedule).makespanNs,
            500 + 300 + 500 + 2000 + 2 * 10);
  const GatherCounts counts = countGathers(problem, schedule.rank(0));
  EXPECT_EQ(counts.gathers, 1);
  EXPECT_EQ(counts.reductions, 1);
  EXPECT_EQ(counts.bytes, 500 + 500 + 2 * 250);
}

/// A step waits for the sum.
TEST(Shards, StepsWaitForTheSumOfGroups) {
  Problem problem = twoGroups();
  for (int32_t replica = 0; replica < 4; ++replica)
    problem.cost(replica, ActionKind::Step).ns = 7;
  EXPECT_EQ(simulate(problem, onceEach(problem, /*hasSteps=*/true)).makespanNs,
            500 + 300 + 500 + 500 + 7);
}

/// Within one group there is nothing to add.
TEST(Shards, OneGroupAddsNothing) {
  const Problem problem = onePair(1);
  const Schedule schedule = onceEach(problem, /*hasSteps=*/false);
  const GatherCounts counts = countGathers(problem, schedule.rank(0));
  const int64_t whole = problem.cost(0, U).acquireBytes;
  EXPECT_EQ(counts.bytes, whole);
}

TEST(Shards, ActionsOfWholeStagesAreRefused) {
  Problem problem;
  problem.microbatches = 1;
  problem.memoryCaps.assign(1, noMemoryCap);
  problem.replicas.addStage(0);
  problem.setStageCost(0, 1, 1, 1, 0, 0);
  Schedule schedule;
  for (Action action : {Action(U, 0, 0), Action(F, 0, 0), Action(B, 0, 0)})
    schedule.append(action);
  schedule.endRank();
  EXPECT_EQ(judge(problem, schedule),
            "unshard 0 of stage 0 at position 0 of rank 0 has nothing to do: "
            "stage 0 keeps its state whole on each of its ranks [S9]");
}

/// Two groups whose ranks gather in opposite orders: a circle over two pairs of
/// ranks that do not share all their groups.
TEST(Shards, GroupsThatWaitForEachOther) {
  Problem problem;
  problem.microbatches = 1;
  problem.samples = 2;
  problem.memoryCaps.assign(3, noMemoryCap);
  problem.replicas.addStage({{0, 1}, {1, 1}}, 2);
  problem.replicas.addStage({{1, 1}, {2, 1}}, 2);
  problem.replicas.addStage({{2, 1}, {0, 1}}, 2);
  for (int32_t stage = 0; stage < 3; ++stage) {
    problem.setStageCost(stage, 10, 10, 10, 0, 0);
    problem.setShards(stage, ShardedState::Weights, 100, 100);
  }
  ASSERT_FALSE(problem.check());
  Schedule schedule;
  // Replicas: 0 and 1 of stage 0, 2 and 3 of stage 1, 4 and 5 of stage 2.
  const int32_t first[3] = {5, 1, 3}, second[3] = {0, 2, 4};
  for (int32_t rank = 0; rank < 3; ++rank) {
    for (int32_t replica : {first[rank], second[rank]})
      schedule.append(Action(U, replica, 0));
    for (int32_t replica : {first[rank], second[rank]})
      for (Action action : {Action(F, replica, 0), Action(B, replica, 0),
                            Action(R, replica, 0), Action(S, replica, 0)})
        schedule.append(action);
    schedule.endRank();
  }
  const Simulation simulation = simulate(problem, schedule);
  EXPECT_FALSE(simulation.complete);
  EXPECT_EQ(simulation.cycle.size(), 3u);
  EXPECT_NE(judge(problem, schedule).find("[S4]"), std::string::npos);
}

TEST(Shards, GathersDelayTheTasksThatReadThem) {
  const Problem problem = onePair(1);
  const Simulation run = simulate(
      problem, onBoth({{U, 0, 0}, {F, 0, 0}, {B, 0, 0}, {R, 0, 0}, {S, 0, 0}}),
      true);
  ASSERT_TRUE(run.complete);
  // 500 to gather, 600 for F, 1200 for B, 500 to reduce.
  EXPECT_EQ(run.startNs[1], 500);
  EXPECT_EQ(run.endNs[2], 2300);
  EXPECT_EQ(run.makespanNs, 2800);
  EXPECT_EQ(run.endNs[4], 2800);
  // The gathered weights, the activations, and the gradients of B.
  EXPECT_EQ(run.peakBytes[0], 1000 + 48 + 1000);
  EXPECT_EQ(run.rankWorkNs[0], 1800);
}

/// Random mutations of a sound order: what S9 accepts is also what a program of
/// it can run, and what it refuses names an action of the order.
TEST(Shards, MutatedOrders) {
  std::mt19937 random(1);
  const Problem problem = shardedChain(2, 2, 2, 3);
  const Schedule placed =
      placeGathers(problem, tasksOf(problem, "blockwise:u=3"), {{1, 1}});
  int refused = 0;
  for (int trial = 0; trial < 2000; ++trial) {
    // The same change on both ranks of a group, or on one only.
    const int32_t group = static_cast<int32_t>(random() % 2);
    const bool isOnBoth = random() % 2;
    const int64_t size = placed.rank(group * 2).size();
    const int64_t from = random() % size, to = random() % size;
    Schedule changed;
    for (int32_t r = 0; r < placed.numRanks(); ++r) {
      std::vector<Action> actions(placed.rank(r).begin(), placed.rank(r).end());
      if (r == group * 2 || (isOnBoth && r == group * 2 + 1)) {
        const Action moved = actions[from];
        actions.erase(actions.begin() + from);
        actions.insert(actions.begin() + to, moved);
      }
      for (Action action : actions)
        changed.append(action);
      changed.endRank();
    }
    const auto fault = checkSchedule(problem, changed);
    refused += fault.has_value();
    if (fault) {
      EXPECT_NE(fault->rule, Rule::None);
      EXPECT_FALSE(describe(*fault, problem).empty());
      continue;
    }
    EXPECT_TRUE(simulate(problem, changed).complete);
  }
  EXPECT_GT(refused, 500);
  EXPECT_LT(refused, 2000);
}

} // namespace
