//===- TimersTest.cpp - The search's timers against the simulator ---------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The simulator is the only oracle of time. Everything else that computes times
// has to agree with it to the nanosecond, on random problems, orders and caps.
// A case is one problem with its orders.
//
//===----------------------------------------------------------------------===//

#include "RandomChain.h"

#include "schedule/Objective.h"
#include "schedule/bounds/Propagation.h"

using namespace rondo;
using namespace rondo::test;

namespace {

/// What the cases of a run contained, so that no test passes for lack of cases.
struct Met {
  int legal = 0, stuck = 0, overCap = 0, ordered = 0, contended = 0;
};

/// Whether a chain computes the objective's times exactly.
bool countsExactly(const Problem &problem, const Chain &chain) {
  return problem.objective == Objective::Makespan || chain.offsetsAreExact;
}

/// Whatever made a task start ended at that time, or its message arrived then.
void expectCauses(const Chain &chain, const Orders &orders,
                  const Timer &timer) {
  for (int32_t rank = 0; rank < chain.ranks; ++rank)
    for (int64_t i = 0; i < int64_t(orders[rank].size()); ++i) {
      const int64_t start = timer.starts()[rank][i];
      const Timer::Place cause = timer.cause(orders, {rank, i});
      if (cause.rank < 0) {
        EXPECT_EQ(start, 0);
        continue;
      }
      if (cause.rank >= chain.ranks)
        continue; // a message, whose time is not known here
      const Code by = orders[cause.rank][cause.position];
      const int64_t end = timer.starts()[cause.rank][cause.position] +
                          chain.ns[kindOf(by)][stageOf(by)];
      if (cause.rank == rank) {
        EXPECT_EQ(end, start);
        continue;
      }
      const Chain::Message &message = chain.messages[kindOf(by)][stageOf(by)];
      // A serial link may have been busy with the message before, or an order
      // may have put another message first.
      const size_t string = size_t(chain.ranks) + size_t(message.link);
      const bool hasOrder = string < orders.size() && !orders[string].empty();
      if (message.occupancyNs > 0 || hasOrder) {
        EXPECT_LE(end + message.transferNs(), start);
      } else {
        EXPECT_EQ(end + message.transferNs(), start);
      }
    }
}

void checkTimer(const Problem &problem, BackwardCosts costs, Engine &random,
                Met &met) {
  const bool fused = costs == BackwardCosts::Fused;
  const std::optional<Chain> chain = Chain::of(problem, costs);
  ASSERT_TRUE(chain);
  const Orders orders = drawOrders(random, *chain, fused);
  const Schedule schedule = toSchedule(*chain, orders, fused);
  const Simulation simulation = simulate(problem, schedule, true);
  met.contended += chain->hasContendedLinks;
  met.ordered += !schedule.linkOrders.empty();
  Timer timer(*chain);
  const int64_t value = timer.run(orders);
  if (!simulation.complete || !keepsCaps(problem, simulation)) {
    (simulation.complete ? met.overCap : met.stuck) += 1;
    EXPECT_EQ(value, never);
    return;
  }
  ++met.legal;
  for (int32_t r = 0; r < chain->ranks; ++r) {
    std::vector<int64_t> starts = timer.starts()[r];
    EXPECT_EQ(starts, startsOfCodes(schedule, simulation, r));
  }
  expectCauses(*chain, orders, timer);
  if (!countsExactly(problem, *chain))
    return;
  EXPECT_EQ(value, objectiveOf(problem, simulation));
  EXPECT_EQ(timer.run(orders, value), value);
  EXPECT_EQ(timer.run(orders, value - 1), never);
}

/// Goes through a partial state by any of the choices that it permits.
void checkPartialState(const Problem &problem, bool holdsMessages,
                       Engine &random) {
  const std::optional<Chain> chain = Chain::of(problem, BackwardCosts::Split);
  ASSERT_TRUE(chain);
  PartialState state(*chain, holdsMessages);
  Orders orders(chain->ranks + chain->links);
  std::vector<std::vector<int64_t>> starts(chain->ranks);
  struct Choice {
    int letter;
    int32_t stage;
    bool isMessage;
    int64_t start;
  };
  int64_t placed = 0;
  for (std::vector<Choice> choices;; choices.clear()) {
    for (int32_t s = 0; s < chain->stages; ++s)
      for (int letter : {0, 1, 2}) {
        const int64_t start = state.earliest(*chain, letter, s);
        if (start < never && (letter != 0 || state.fits(*chain, s)))
          choices.push_back({letter, s, false, start});
        if (!holdsMessages || letter == 2 ||
            !chain->messages[letter][s].isContended)
          continue;
        const int64_t send = state.earliestSend(*chain, letter, s);
        if (send < never)
          choices.push_back({letter, s, true, send});
      }
    if (choices.empty())
      break;
    const Choice choice = choices[pick(random, 0, int64_t(choices.size()) - 1)];
    const Code code = codeOf(choice.letter, choice.stage);
    if (choice.isMessage) {
      const Chain::Message &message =
          chain->messages[choice.letter][choice.stage];
      state.send(*chain, choice.letter, choice.stage);
      EXPECT_EQ(state.linkFree(message.link),
                choice.start + message.occupancyNs);
      orders[chain->ranks + message.link].push_back(code);
      continue;
    }
    const int32_t rank = chain->rankOf[choice.stage];
    EXPECT_EQ(state.run(*chain, choice.letter, choice.stage, choice.start),
              choice.start + chain->ns[choice.letter][choice.stage]);
    orders[rank].push_back(code);
    starts[rank].push_back(choice.start);
    ++placed;
  }
  // fits() leaves a way to the end.
  ASSERT_EQ(placed, chain->tasks());
  const Schedule schedule = toSchedule(*chain, orders, false);
  const Simulation simulation = simulate(problem, schedule, true);
  ASSERT_TRUE(simulation.complete);
  EXPECT_TRUE(keepsCaps(problem, simulation));
  for (int32_t r = 0; r < chain->ranks; ++r) {
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

/// The search's timers are for chains, and report other graphs.
TEST(Timers, OtherGraphsAreNoChains) {
  Problem problem = linearProblem(3, 2);
  problem.edges.push_back({0, 2, ActionKind::Forward, 0});
  problem.edges.push_back({2, 0, ActionKind::InputGrad, 0});
  for (BackwardCosts costs :
       {BackwardCosts::Split, BackwardCosts::Fused, BackwardCosts::Least})
    EXPECT_FALSE(Chain::of(problem, costs));
}

} // namespace
