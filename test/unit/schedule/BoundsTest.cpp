//===- BoundsTest.cpp - No schedule is below a bound ----------------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "CaseCount.h"
#include "Examples.h"

#include "schedule/bounds/Bounds.h"
#include "schedule/bounds/HeldBytes.h"
#include "schedule/bounds/Idle.h"
#include "schedule/search/Search.h"

#include <algorithm>
#include <limits>
#include <random>

using namespace rondo;
using namespace rondo::test;

namespace {

constexpr int64_t unknown = std::numeric_limits<int64_t>::max();

int64_t boundOf(const std::string &name, const Problem &problem) {
  for (const BoundArgument &argument : boundArguments())
    if (argument.name == name)
      return provenBy(argument, problem, 1000000);
  ADD_FAILURE() << "there is no bound " << name;
  return 0;
}

/// Costs (3,4,2), latency 1, 1F1B's memory, half freed at I.
Problem zeroBubbleProblem(int32_t ranks, int32_t microbatches) {
  Problem problem = linearProblem(ranks, microbatches, {3, 4, 2, 2, 1});
  problem.memoryCaps.assign(ranks, 2 * ranks);
  problem.link.latencyNs = 1;
  return problem;
}

TEST(Bounds, HaveThePublishedStrength) {
  Problem eight = zeroBubbleProblem(8, 32), sixteen = zeroBubbleProblem(16, 32);
  EXPECT_GE(quickBound(eight).ns, 337);
  EXPECT_GE(quickBound(sixteen).ns, 393);
  // If a single rank is solved exactly, ZB-H1 is proved optimal.
  Bound bound = bestBound(eight, 351, 4000000);
  EXPECT_EQ(bound.ns, 351);
  EXPECT_STREQ(bound.name, "L5");
  EXPECT_EQ(bestBound(eight, unknown, 4000000).ns, 351);
}

TEST(Bounds, AreNamedInOrder) {
  std::string names;
  for (const BoundArgument &argument : boundArguments())
    names += argument.name;
  EXPECT_EQ(names, "L1L2L3L4L5L8L7L6G1G3G2C1");
}

TEST(Bounds, OfOneStage) {
  Problem problem = linearProblem(1, 5, {3, 4, 2});
  EXPECT_EQ(boundOf("L1", problem), 45);
  EXPECT_EQ(boundOf("L2", problem), 25);
  EXPECT_EQ(boundOf("L3", problem), 45);
  EXPECT_EQ(boundOf("L4", problem), 0);
  EXPECT_EQ(boundOf("L5", problem), 45);
}

TEST(Bounds, SeeThatARankHasNoTimeForItsStagesAtOnce) {
  Problem problem = problemOn(loopedRanks(4, 4), 4, 16, {50, 49, 25});
  problem.link.latencyNs = 6;
  problem.memoryCaps.assign(4, 8);
  EXPECT_LT(boundOf("L4", problem), 9300);
  EXPECT_GE(boundOf("L5", problem), 10300);
  SearchOptions options;
  options.effort = 3000;
  options.timeLimitMs = 0;
  const SearchResult found = search(problem, options);
  EXPECT_GE(found.simulation.makespanNs, boundOf("L5", problem));
  EXPECT_LE(found.simulation.makespanNs, 10400);
}

using Generator = std::mt19937;

int64_t pick(Generator &random, int64_t least, int64_t most) {
  return least + int64_t(random() % uint64_t(most - least + 1));
}

/// Any graph, at times of several ends.
std::vector<std::vector<int32_t>> randomInputs(int32_t stages,
                                               Generator &random) {
  std::vector<std::vector<int32_t>> inputs(stages);
  std::vector<bool> feeds(stages);
  for (int32_t s = 0; s < stages; ++s)
    for (int32_t from = 0; from < s; ++from)
      if (pick(random, 0, 2) == 0) {
        inputs[s].push_back(from);
        feeds[from] = true;
      }
  if (pick(random, 0, 3))
    for (int32_t s = 0; s + 1 < stages; ++s)
      if (!feeds[s])
        inputs.back().push_back(s);
  return inputs;
}

/// Uneven stages, any placement, caps from the least up, serial links.
Problem randomProblem(Generator &random, bool isGraph) {
  const int32_t ranks = int32_t(pick(random, 1, 4));
  const int32_t rows = int32_t(pick(random, 1, 3));
  const int64_t placement = pick(random, 0, 2);
  std::vector<int32_t> rankOfStage;
  for (int32_t s = 0; s < ranks * rows; ++s) {
    int32_t place = s % ranks;
    bool isBack = placement == 1 && (s / ranks) % 2;
    rankOfStage.push_back(placement == 2 ? int32_t(pick(random, 0, ranks - 1))
                          : isBack       ? ranks - 1 - place
                                         : place);
  }
  Problem problem = problemOn(rankOfStage, ranks, int32_t(pick(random, 1, 6)));
  std::vector<int64_t> outputs, least(ranks), all(ranks);
  for (int32_t s = 0; s < problem.numStages(); ++s) {
    int64_t activation = pick(random, 0, 4);
    problem.setStageCost(s, pick(random, 0, 5), pick(random, 0, 5),
                         pick(random, 0, 5), activation,
                         pick(random, 0, activation));
    Cost &fused = problem.cost(s, ActionKind::Backward);
    fused.ns = std::max<int64_t>(0, fused.ns - pick(random, 0, 3));
    outputs.push_back(pick(random, 0, 3));
    least[rankOfStage[s]] += activation;
    all[rankOfStage[s]] += activation * problem.microbatches;
  }
  if (isGraph)
    problem.makeGraph(randomInputs(problem.numStages(), random), outputs);
  else
    problem.makeChain(outputs);
  for (int32_t r = 0; r < ranks; ++r)
    if (pick(random, 0, 3))
      problem.memoryCaps[r] =
          pick(random, least[r], std::max(least[r], all[r]));
  problem.link = {pick(random, 0, 3), pick(random, 0, 1) * 1000};
  return problem;
}

/// A legal order by random choices among what fits; backwards are fused at
/// random. None where these choices end before a graph of several ends does.
Schedule randomSchedule(const Problem &problem, Generator &random) {
  FlatProblem flat = *FlatProblem::of(problem, BackwardCosts::Split);
  PartialState state(flat);
  std::vector<std::vector<Action>> orders(flat.ranks);
  for (int64_t left = flat.tasks(); left > 0;) {
    std::vector<std::pair<Task, int32_t>> choices;
    for (int32_t s = 0; s < flat.stages; ++s)
      for (Task task : allTasks)
        if (state.earliest(flat, task, s) < never &&
            (task != Task::F || state.fits(flat, s)))
          choices.push_back({task, s});
    if (choices.empty()) {
      if (!flat.isSingleEnded)
        return {};
      ADD_FAILURE() << "no way on from a state that counts as safe";
      return {};
    }
    auto [task, s] = choices[random() % choices.size()];
    auto run = [&, s = s](Task task) {
      int64_t k = state.done(task, s);
      state.run(flat, task, s, state.earliest(flat, task, s));
      --left;
      return k;
    };
    int64_t k = run(task);
    bool fuses = task == Task::I && state.done(Task::W, s) == k && random() % 2;
    if (fuses)
      run(Task::W);
    orders[flat.rankOf[s]].push_back(
        {fuses ? ActionKind::Backward : kindOf(task), s, k});
  }
  return Schedule(orders);
}

/// The best bound from the ends of a problem, also with fewer micro-batches.
int64_t boundOfEnds(const Problem &problem) {
  std::optional<FlatProblem> flat =
      FlatProblem::of(problem, BackwardCosts::Least);
  int64_t best = 0;
  if (!flat || !flat->offsetsAreExact)
    return best;
  for (int32_t m = 1; m < problem.microbatches; ++m) {
    flat->microbatches = m;
    Propagation propagation(*flat, true);
    propagation.estimate(PartialState(*flat));
    best = std::max({best, idleBound(*flat, propagation, problem.microbatches),
                     heldBytesBound(*flat, propagation, problem.microbatches)});
  }
  return best;
}

/// Number of problems with a schedule.
int checkRandomSchedules(bool isGraph) {
  Generator random(7);
  int scheduled = 0;
  for (int n = 0; n < caseCount(600); ++n) {
    Problem problem = randomProblem(random, isGraph);
    EXPECT_FALSE(problem.check());
    int64_t makespan = unknown, span = unknown;
    for (int i = 0; i < 30; ++i) {
      Schedule schedule = randomSchedule(problem, random);
      if (schedule.numRanks() == 0)
        continue;
      Simulation simulation;
      auto fault = checkAndSimulate(problem, schedule, simulation);
      EXPECT_FALSE(fault) << describe(*fault, problem);
      makespan = std::min(makespan, simulation.makespanNs);
      span = std::min(span, simulation.spanNs);
    }
    for (Objective objective : {Objective::Makespan, Objective::Span}) {
      problem.objective = objective;
      for (const BoundArgument &argument : boundArguments())
        EXPECT_LE(provenBy(argument, problem, 20000),
                  objective == Objective::Span ? span : makespan)
            << argument.name << " of problem " << n
            << (objective == Objective::Span ? ", span" : ", makespan");
      EXPECT_LE(boundOfEnds(problem),
                objective == Objective::Span ? span : makespan)
          << "ends of problem " << n;
    }
    scheduled += makespan < unknown;
  }
  return scheduled;
}

TEST(Bounds, AreNotAboveRandomSchedules) {
  EXPECT_EQ(checkRandomSchedules(/*isGraph=*/false), caseCount(600));
}

TEST(Bounds, AreNotAboveRandomSchedulesOfGraphs) {
  EXPECT_GT(checkRandomSchedules(/*isGraph=*/true), caseCount(550));
}

TEST(Bounds, AddWhatACapLeavesIdleAtBothEnds) {
  // The last rank's first I starts at 22. Before it the cap allows 5 F of 2 ns,
  // so 12 ns are lost; in the last 23 ns only I and W of 5 activations, 15 ns,
  // can run. Its work is 40 ns.
  Problem problem = problemOn(waveRanks(4, 2), 4, 4, {2, 2, 1, 1, 0});
  problem.memoryCaps.assign(4, 5);
  EXPECT_EQ(boundOf("L3", problem), 46);
  EXPECT_EQ(boundOf("L4", problem), 40 + 12 + 8);
}

int64_t heldBytes(const Problem &problem) {
  std::optional<FlatProblem> flat =
      FlatProblem::of(problem, BackwardCosts::Least);
  Propagation propagation(*flat, true);
  propagation.estimate(PartialState(*flat));
  return heldBytesBound(*flat, propagation, problem.microbatches);
}

TEST(Bounds, CountWhatACapHoldsOverTime) {
  // An activation of rank 0 is held for 33, 25, 17 and 9 ns, from its first to
  // its last stage. For 20 micro-batches that is 1680 bytes times ns. 8 bytes
  // can be held from 7 ns after the start until 7 ns before the end, and at
  // each end 28 are missing: 1736 / 8.
  Problem problem = problemOn(loopedRanks(4, 4), 4, 20, {1, 1, 1, 1, 0});
  problem.memoryCaps.assign(4, 8);
  EXPECT_EQ(heldBytes(problem), 217);
  // Half a unit more holds no more.
  for (int32_t s = 0; s < 16; ++s)
    problem.setStageCost(s, 1, 1, 1, 2, 0);
  problem.memoryCaps.assign(4, 17);
  EXPECT_EQ(heldBytes(problem), 217);
}

TEST(Bounds, OfManyTasksLookAtBothEnds) {
  // In between, all ranks work, so each micro-batch adds its own work.
  Problem problem = zeroBubbleProblem(16, 64);
  const int64_t least = boundOf("L4", problem);
  problem.microbatches = 40000;
  ASSERT_GT(3 * 16 * problem.microbatches, maxDetailedTasks);
  EXPECT_EQ(quickBound(problem).ns, least + (40000 - 64) * (3 + 4 + 2));
}

TEST(Bounds, NameTheCapThatBinds) {
  // One micro-batch at a time: 4 rounds of 2 * (1 + 2), with W after the last.
  Problem problem = linearProblem(2, 4, {1, 1, 1, 1, 0});
  problem.memoryCaps.assign(2, 1);
  EXPECT_LT(boundOf("L3", problem), 20);
  EXPECT_EQ(bestBound(problem, unknown, 10000).ns, 20);
}

} // namespace
