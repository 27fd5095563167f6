//===- DispatchTest.cpp - Clocks used to write orders ---------------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The dispatcher, the list scheduler and the rounds of zbv-auto each choose by
// their own clock while they write an order. The times they compute must be
// those that the simulator finds for that order.
//
//===----------------------------------------------------------------------===//

#include "RandomProblem.h"

#include "schedule/families/ListScheduler.h"
#include "schedule/families/ZbvRounds.h"
#include "schedule/search/Dispatch.h"
#include "schedule/simulate/EventClock.h"
#include "schedule/simulate/Objective.h"

using namespace rondo;
using namespace rondo::test;

namespace {

/// Starts whatever can start, of what has the earliest target.
Pattern drawPattern(Engine &random, const FlatProblem &flat) {
  Pattern pattern;
  for (auto &column : pattern.targets)
    for (int64_t i = 0; i < int64_t(flat.stages) * flat.microbatches; ++i)
      column.push_back(pick(random, 0, 99));
  // W never waits for a message.
  pattern.patience = 8;
  return pattern;
}

using Discipline = Pattern::Discipline;
using WeightGrad = Pattern::WeightGrad;

TEST(Dispatch, AGreedyPatternRunsAsSimulated) {
  int complete = 0;
  for (unsigned seed = 0; seed < 10000 && !HasFailure(); ++seed) {
    SCOPED_TRACE(seed);
    Engine random(seed + 40000);
    const Problem problem = seed % 2 ? drawGraph(random) : drawChain(random);
    const std::optional<FlatProblem> flat =
        FlatProblem::of(problem, BackwardCosts::Split);
    ASSERT_TRUE(flat);
    Dispatcher dispatcher(*flat, Direction::Forwards);
    const Pattern pattern = drawPattern(random, *flat);
    const int64_t value = dispatcher.run(pattern, never - 1);
    if (value >= never && !flat->isSingleEnded)
      continue;
    ASSERT_LT(value, never);
    const Schedule schedule = toSchedule(*flat, dispatcher.orders(), false);
    const Simulation simulation = simulate(problem, schedule, true);
    ASSERT_TRUE(simulation.complete);
    EXPECT_TRUE(keepsCaps(problem, simulation));
    for (int32_t r = 0; r < flat->ranks; ++r)
      EXPECT_EQ(dispatcher.starts()[r], startsOfCodes(schedule, simulation, r));
    if (problem.objective == Objective::Makespan || flat->offsetsAreExact) {
      EXPECT_EQ(value, objectiveOf(problem, simulation));
    }
    ++complete;
  }
  EXPECT_GT(complete, 9500);
}

/// A pattern that lets a rank wait may start a task later than it could.
TEST(Dispatch, APatternThatWaitsIsNeverEarly) {
  int complete = 0;
  for (unsigned seed = 0; seed < 4000 && !HasFailure(); ++seed) {
    SCOPED_TRACE(seed);
    Engine random(seed + 60000);
    const Problem problem = seed % 2 ? drawGraph(random) : drawChain(random);
    const std::optional<FlatProblem> flat =
        FlatProblem::of(problem, BackwardCosts::Split);
    Dispatcher dispatcher(*flat, Direction::Forwards);
    Pattern pattern = drawPattern(random, *flat);
    pattern.discipline = static_cast<Discipline>(pick(random, 0, 2));
    pattern.weightGrad = static_cast<WeightGrad>(pick(random, 0, 2));
    pattern.patience = int32_t(pick(random, 0, 8));
    if (dispatcher.run(pattern, never - 1) >= never)
      continue;
    ++complete;
    const Schedule schedule = toSchedule(*flat, dispatcher.orders(), false);
    const Simulation simulation = simulate(problem, schedule, true);
    ASSERT_TRUE(simulation.complete);
    EXPECT_TRUE(keepsCaps(problem, simulation));
    for (int32_t r = 0; r < flat->ranks; ++r) {
      const std::vector<int64_t> starts =
          startsOfCodes(schedule, simulation, r);
      for (size_t i = 0; i < starts.size(); ++i)
        EXPECT_GE(dispatcher.starts()[r][i], starts[i]);
    }
  }
  EXPECT_GT(complete, 1500);
}

/// Run backwards, it gives the latest start of each task. These times are a
/// schedule: nothing overlaps, every message has its time, and the last end is
/// the objective. A schedule that starts as early as possible is never later.
TEST(Dispatch, BackwardsTheLatestStartsAreASchedule) {
  int complete = 0;
  for (unsigned seed = 0; seed < 10000 && !HasFailure(); ++seed) {
    SCOPED_TRACE(seed);
    Engine random(seed + 80000);
    Problem problem = seed % 2 ? drawGraph(random, LinkCosts::Latency)
                               : drawChain(random, LinkCosts::Latency);
    problem.objective = Objective::Makespan;
    const std::optional<FlatProblem> flat =
        FlatProblem::of(problem, BackwardCosts::Split);
    Dispatcher dispatcher(*flat, Direction::Backwards);
    const int64_t value = dispatcher.run(drawPattern(random, *flat), never - 1);
    if (value >= never)
      continue;
    ++complete;
    const Orders orders = dispatcher.orders();
    const Schedule schedule = toSchedule(*flat, orders, false);
    const Simulation simulation = simulate(problem, schedule, true);
    ASSERT_TRUE(simulation.complete);
    EXPECT_TRUE(keepsCaps(problem, simulation));
    EXPECT_LE(simulation.makespanNs, value);

    // [task][stage and micro-batch]
    PerTask<std::vector<int64_t>> start;
    for (auto &column : start)
      column.resize(size_t(flat->stages) * flat->microbatches);
    int64_t first = never, last = 0;
    for (int32_t r = 0; r < flat->ranks; ++r) {
      std::vector<int32_t> count(numCodes(flat->stages));
      const std::vector<int64_t> simulated =
          startsOfCodes(schedule, simulation, r);
      int64_t free = 0;
      for (size_t i = 0; i < orders.ranks[r].size(); ++i) {
        const Code code = orders.ranks[r][i];
        const Task task = taskOf(code);
        const int64_t at = dispatcher.starts()[r][i];
        start[task][flat->at(stageOf(code), count[code]++)] = at;
        EXPECT_GE(at, free);
        EXPECT_GE(at, simulated[i]);
        first = std::min(first, at);
        free = at + flat->ns[task][stageOf(code)];
      }
      last = std::max(last, free);
    }
    EXPECT_EQ(last, value);
    EXPECT_EQ(first, 0);
    for (Task task : {Task::F, Task::I})
      for (int32_t s = 0; s < flat->stages; ++s)
        for (int32_t k = 0; k < flat->microbatches; ++k) {
          const int64_t end = start[task][flat->at(s, k)] + flat->ns[task][s];
          EXPECT_LE(end, start[taskAfter(task)][flat->at(s, k)]);
          for (int32_t e : flat->outputs(task, s)) {
            const FlatProblem::Message &message = flat->messages[e];
            EXPECT_LE(end + message.latencyNs,
                      start[task][flat->at(message.to, k)]);
          }
        }
  }
  EXPECT_GT(complete, 9000);
}

TEST(EventClock, AllEventsOfAnInstantComeBeforeAChoice) {
  EventClock<int> clock;
  clock.reset(2);
  clock.touch(0);
  std::vector<int> happened;
  std::vector<std::pair<int64_t, size_t>> choices;
  auto happen = [&](const auto &event) {
    happened.push_back(event.what);
    clock.setBusy(event.resource, false);
    clock.touch(event.resource);
  };
  auto choose = [&](int32_t resource, int64_t now) {
    choices.emplace_back(now, happened.size());
    EXPECT_FALSE(clock.isBusy(resource));
    if (now == 0) {
      clock.add(7, 1, 3);
      clock.add(5, 0, 1);
      clock.add(5, 1, 2);
    }
    return now < 7;
  };
  EXPECT_FALSE(clock.run(happen, choose));
  using Choices = std::vector<std::pair<int64_t, size_t>>;
  EXPECT_EQ(choices, (Choices{{0, 0}, {5, 2}, {5, 2}, {7, 3}}));
  EXPECT_EQ(happened.back(), 3);
  // The rest is gone after a reset.
  clock.add(9, 0, 4);
  clock.reset(1);
  EXPECT_TRUE(clock.run(happen, choose));
  EXPECT_EQ(happened.size(), 3u);
}

/// At each choice of a greedy rule, exactly those messages have been seen that
/// have arrived by then in the simulator.
TEST(Dispatch, TheListSchedulersClockIsTheSimulators) {
  for (unsigned seed = 0; seed < 10000 && !HasFailure(); ++seed) {
    SCOPED_TRACE(seed);
    Engine random(seed + 100000);
    const Problem problem = [&] {
      const int32_t ranks = int32_t(pick(random, 1, 4));
      std::vector<int32_t> rankOf;
      for (int64_t stages = pick(random, 1, 6); stages > 0; --stages)
        rankOf.push_back(int32_t(pick(random, 0, ranks - 1)));
      // Everything at one instant is seen at once, so no task may take zero
      // time.
      return drawChain(random, rankOf, ranks, LinkCosts::Serial, 1);
    }();
    const bool fused = pick(random, 0, 1);
    const int32_t stages = problem.numStages();
    ListTimes times;
    times.taskNs = [&](Action a) {
      return problem.cost(a.subject, a.kind()).ns;
    };
    times.message = [&](const Edge &edge, Action) {
      const int32_t from = problem.rankOf(edge.from),
                    to = problem.rankOf(edge.to);
      if (from == to)
        return MessageTimes();
      const Link link = problem.linkBetween(from, to);
      return MessageTimes{link.occupancyNs(edge.bytes), link.latencyNs};
    };
    // One list per rank: the arrivals that each choice has seen.
    std::vector<std::vector<Arrivals>> seen(problem.numRanks());
    std::vector<int32_t> done(size_t(numCostColumns) * stages);
    ListRule rule = [&](int32_t rank,
                        const Arrivals &arrivals) -> std::optional<Action> {
      for (int32_t s = stages - 1; s >= 0; --s) {
        if (problem.rankOf(s) != rank)
          continue;
        int32_t *count = &done[size_t(numCostColumns) * s];
        auto take = [&](ActionKind kind) {
          seen[rank].push_back(arrivals);
          return Action(kind, s, count[static_cast<int>(kind)]++);
        };
        if (count[1] + count[3] < arrivals.backward[s] &&
            count[1] + count[3] < count[0])
          return take(fused ? ActionKind::Backward : ActionKind::InputGrad);
        if (count[0] < arrivals.forward[s])
          return take(ActionKind::Forward);
        if (count[2] < count[1])
          return take(ActionKind::WeightGrad);
      }
      return std::nullopt;
    };
    const Schedule schedule = listSchedule(problem, times, rule);
    ASSERT_EQ(checkCompleteness(problem, schedule), std::nullopt);
    const Simulation simulation = simulate(problem, schedule, true);
    ASSERT_TRUE(simulation.complete);
    // Arrivals in the simulator, unordered.
    std::vector<std::vector<int64_t>> forward(stages), backward(stages);
    for (size_t e = 0; e < problem.edges.size(); ++e)
      for (int64_t i = 0; i < problem.microbatches; ++i)
        (problem.edges[e].producer == ActionKind::Forward
             ? forward
             : backward)[problem.edges[e].to]
            .push_back(simulation.arrivalNs[e * problem.microbatches + i]);
    for (int64_t i = 0; i < schedule.numActions(); ++i)
      if (const Action action = schedule.all()[i];
          action.kind() == ActionKind::Forward &&
          int32_t(action.subject) + 1 == stages)
        backward[action.subject].push_back(simulation.endNs[i]);
    auto arrivedBy = [](const std::vector<int64_t> &arrivals, int64_t time) {
      return std::count_if(arrivals.begin(), arrivals.end(),
                           [&](int64_t one) { return one <= time; });
    };
    for (int32_t r = 0; r < problem.numRanks(); ++r)
      for (int64_t i = 0; i < schedule.rank(r).size(); ++i) {
        const int64_t now = simulation.startNs[schedule.rankBegin(r) + i];
        for (int32_t s = 0; s < stages; ++s) {
          EXPECT_EQ(seen[r][i].forward[s],
                    s == 0 ? problem.microbatches : arrivedBy(forward[s], now));
          EXPECT_EQ(seen[r][i].backward[s], arrivedBy(backward[s], now));
        }
      }
  }
}

TEST(Dispatch, TheRoundsOfAVTakeTheSimulatedTimes) {
  int complete = 0;
  for (unsigned seed = 0; seed < 10000 && !HasFailure(); ++seed) {
    SCOPED_TRACE(seed);
    Engine random(seed + 120000);
    const int32_t ranks = int32_t(pick(random, 1, 4));
    const Problem problem =
        drawChain(random, waveRanks(ranks, 2), ranks, LinkCosts::Latency);
    const std::optional<FlatProblem> flat =
        FlatProblem::of(problem, BackwardCosts::Split);
    const Chunks chunks{ranks, 2, true};
    const std::vector<int64_t> allowed(ranks, 0);
    const auto made = zbvRounds::layOut(
        *flat, chunks, flat->caps,
        {pick(random, 0, 1) > 0, pick(random, 0, 1) > 0}, allowed);
    if (!made)
      continue;
    ++complete;
    const Schedule schedule(made->orders);
    const Simulation simulation = simulate(problem, schedule);
    ASSERT_TRUE(simulation.complete);
    EXPECT_TRUE(keepsCaps(problem, simulation));
    EXPECT_EQ(made->makespanNs, simulation.makespanNs);
    EXPECT_EQ(made->spanNs, simulation.spanNs);
    // Idle time up to the last I or F: the rest is W without waiting.
    for (int32_t r = 0; r < ranks; ++r)
      EXPECT_EQ(made->idle[r], simulation.rankEndNs[r] -
                                   simulation.rankStartNs[r] -
                                   simulation.rankWorkNs[r]);
  }
  EXPECT_GT(complete, 5000);
}

} // namespace
