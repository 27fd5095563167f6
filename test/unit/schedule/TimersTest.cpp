//===- TimersTest.cpp - The search's timers against the simulator ---------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The simulator is the only oracle of time. Everything else that computes times
// has to agree with it to the nanosecond, on random problems, orders and caps.
// A case is one problem with its orders.
//
//===----------------------------------------------------------------------===//

#include "RandomProblem.h"

#include "schedule/partial/Propagation.h"
#include "schedule/search/Timer.h"
#include "schedule/simulate/Objective.h"

using namespace rondo;
using namespace rondo::test;

namespace {

/// Counts of the cases in a run, so that no test passes for lack of cases.
struct Met {
  int legal = 0, stuck = 0, overCap = 0, ordered = 0, contended = 0;
};

/// Whether a flat problem computes the objective's times exactly.
bool countsExactly(const Problem &problem, const FlatProblem &flat) {
  return problem.objective == Objective::Makespan || flat.offsetsAreExact;
}

void checkTimer(const Problem &problem, BackwardCosts costs, Engine &random,
                Met &met) {
  const bool fused = costs == BackwardCosts::Fused;
  const std::optional<FlatProblem> flat = FlatProblem::of(problem, costs);
  ASSERT_TRUE(flat);
  const Orders orders = drawOrders(random, *flat, fused);
  const Schedule schedule = toSchedule(*flat, orders, fused);
  const Simulation simulation = simulate(problem, schedule, true);
  met.contended += flat->hasContendedLinks;
  met.ordered += !schedule.linkOrders.empty();
  Timer timer(*flat);
  const int64_t value = timer.run(orders);
  if (!simulation.complete || !keepsCaps(problem, simulation)) {
    (simulation.complete ? met.overCap : met.stuck) += 1;
    EXPECT_EQ(value, never);
    return;
  }
  ++met.legal;
  for (int32_t r = 0; r < flat->ranks; ++r) {
    std::vector<int64_t> starts = timer.starts()[r];
    EXPECT_EQ(starts, startsOfCodes(schedule, simulation, r));
  }
  if (!countsExactly(problem, *flat))
    return;
  EXPECT_EQ(value, objectiveOf(problem, simulation));
  EXPECT_EQ(timer.run(orders, value), value);
  EXPECT_EQ(timer.run(orders, value - 1), never);
}

/// Goes through a partial state by any of the choices that it permits.
void checkPartialState(const Problem &problem, bool holdsMessages,
                       Engine &random) {
  const std::optional<FlatProblem> flat =
      FlatProblem::of(problem, BackwardCosts::Split);
  ASSERT_TRUE(flat);
  PartialState state(*flat, holdsMessages);
  Orders orders;
  orders.ranks.resize(flat->ranks);
  orders.links.resize(flat->links);
  std::vector<std::vector<int64_t>> starts(flat->ranks);
  struct Choice {
    Task task;
    int32_t stage;
    /// The first of a burst; -1 of a task.
    int32_t edge;
    int64_t start;
  };
  int64_t placed = 0;
  for (std::vector<Choice> choices;; choices.clear()) {
    for (int32_t s = 0; s < flat->stages; ++s)
      for (Task task : allTasks) {
        const int64_t start = state.earliest(*flat, task, s);
        if (start < never && (task != Task::F || state.fits(*flat, s)))
          choices.push_back({task, s, -1, start});
      }
    for (size_t e = 0; e < flat->messages.size(); ++e) {
      const FlatProblem::Message &message = flat->messages[e];
      if (!holdsMessages || !message.isContended || !message.beginsBurst())
        continue;
      const int64_t send = state.earliestSend(*flat, int32_t(e));
      if (send < never)
        choices.push_back({message.task, message.from, int32_t(e), send});
    }
    if (choices.empty())
      break;
    const Choice choice = choices[pick(random, 0, int64_t(choices.size()) - 1)];
    const Code code = codeOf(choice.task, choice.stage);
    if (choice.edge >= 0) {
      const int32_t link = flat->messages[choice.edge].link;
      int64_t end = choice.start;
      for (int32_t e = choice.edge; e >= 0; e = flat->messages[e].nextInBurst)
        end += flat->messages[e].occupancyNs;
      state.send(*flat, choice.edge);
      EXPECT_EQ(state.linkFree(link), end);
      orders.links[link].push_back(code);
      continue;
    }
    const int32_t rank = flat->rankOf[choice.stage];
    EXPECT_EQ(state.run(*flat, choice.task, choice.stage, choice.start),
              choice.start + flat->ns[choice.task][choice.stage]);
    orders.ranks[rank].push_back(code);
    starts[rank].push_back(choice.start);
    ++placed;
  }
  // fits() leaves a way to the end if it knows what is held together.
  if (placed < flat->tasks()) {
    EXPECT_FALSE(flat->isSingleEnded);
    return;
  }
  const Schedule schedule = toSchedule(*flat, orders, false);
  const Simulation simulation = simulate(problem, schedule, true);
  ASSERT_TRUE(simulation.complete);
  EXPECT_TRUE(keepsCaps(problem, simulation));
  for (int32_t r = 0; r < flat->ranks; ++r) {
    EXPECT_EQ(starts[r], startsOfCodes(schedule, simulation, r));
    EXPECT_EQ(state.clock(r), simulation.rankEndNs[r]);
    EXPECT_EQ(state.held(r), 0);
  }
}

TEST(Timers, TimeOrdersAsTheSimulatorDoes) {
  Met met;
  for (unsigned seed = 0; seed < 10000 && !HasFailure(); ++seed) {
    SCOPED_TRACE(seed);
    Engine random(seed);
    const Problem problem = drawChain(random);
    ASSERT_EQ(problem.check(), std::nullopt);
    checkTimer(problem, seed % 2 ? BackwardCosts::Fused : BackwardCosts::Split,
               random, met);
  }
  EXPECT_GT(met.legal, 4000);
  EXPECT_GT(met.stuck, 100);
  EXPECT_GT(met.overCap, 1000);
  EXPECT_GT(met.ordered, 500);
  EXPECT_GT(met.contended, 1000);
}

TEST(Timers, PartialStatesAreThoseOfTheSimulator) {
  for (unsigned seed = 0; seed < 10000 && !HasFailure(); ++seed) {
    SCOPED_TRACE(seed);
    Engine random(seed + 20000);
    const Problem problem = drawChain(random);
    checkPartialState(problem, seed % 2, random);
  }
}

TEST(Timers, OfGraphsAreThoseOfTheSimulator) {
  Met met;
  int longBursts = 0, severalEnds = 0;
  for (unsigned seed = 0; seed < 10000 && !HasFailure(); ++seed) {
    SCOPED_TRACE(seed);
    Engine random(seed + 200000);
    const Problem problem = drawGraph(random);
    ASSERT_EQ(problem.check(), std::nullopt);
    checkTimer(problem, seed % 2 ? BackwardCosts::Fused : BackwardCosts::Split,
               random, met);
    checkPartialState(problem, seed % 2, random);
    const FlatProblem flat = *FlatProblem::of(problem, BackwardCosts::Split);
    longBursts += flat.hasLongBursts;
    severalEnds += !flat.isSingleEnded;
  }
  EXPECT_GT(met.legal, 4000);
  EXPECT_GT(met.stuck, 100);
  EXPECT_GT(met.overCap, 1000);
  EXPECT_GT(met.ordered, 500);
  EXPECT_GT(met.contended, 1000);
  EXPECT_GT(longBursts, 300);
  EXPECT_GT(severalEnds, 300);
}

} // namespace
