//===- RandomScheduleTest.cpp - The simulator against a naive one ---------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The reference below is written from the timing rules only: it visits every
// rank and link again and again until nothing moves.
//
//===----------------------------------------------------------------------===//

#include "Examples.h"

#include <algorithm>
#include <map>
#include <random>
#include <set>

using namespace rondo;
using namespace rondo::test;

namespace {

using Random = std::mt19937;

int64_t pick(Random &random, int64_t least, int64_t most) {
  return least + static_cast<int64_t>(random() % (most - least + 1));
}

/// A task, step or message by (stage, what it makes, micro-batch).
using Key = std::tuple<int64_t, char, int64_t>;

struct Naive {
  bool complete = false;
  std::map<Key, int64_t> ends;
  int64_t makespan = 0;
  std::vector<int64_t> peaks;
};

char letterOfResult(ActionKind kind) {
  return kind == ActionKind::Forward      ? 'F'
         : kind == ActionKind::WeightGrad ? 'W'
         : kind == ActionKind::Step       ? 'S'
                                          : 'I';
}

Key keyOf(Action action) {
  return {int64_t(action.subject), letterOfResult(action.kind()),
          int64_t(action.index)};
}

Naive runNaively(const Problem &problem, const Schedule &schedule) {
  Naive run;
  struct Message {
    int64_t edge, index;
  };
  std::map<std::pair<int, int>, std::vector<Message>> queues;
  auto forEachOutput = [&](Action action, auto body) {
    if (action.kind() == ActionKind::WeightGrad ||
        action.kind() == ActionKind::Step)
      return;
    for (size_t e = 0; e < problem.edges.size(); ++e) {
      const Edge &edge = problem.edges[e];
      bool isForward = action.kind() == ActionKind::Forward;
      if (edge.from == static_cast<int>(action.subject) &&
          (edge.producer == ActionKind::Forward) == isForward)
        body(static_cast<int64_t>(e), edge);
    }
  };
  auto enqueue = [&](Action action, auto accept) {
    forEachOutput(action, [&](int64_t e, const Edge &edge) {
      std::pair<int, int> link{problem.rankOf(edge.from),
                               problem.rankOf(edge.to)};
      if (link.first != link.second && accept(link))
        queues[link].push_back({e, static_cast<int64_t>(action.index)});
    });
  };
  for (int r = 0; r < schedule.numRanks(); ++r)
    for (Action action : schedule.rank(r))
      enqueue(action,
              [&](auto link) { return !schedule.linkOrders.count(link); });
  for (const auto &[ordered, actions] : schedule.linkOrders)
    for (Action action : actions)
      enqueue(action, [&, name = ordered](auto link) { return link == name; });

  std::map<std::pair<int64_t, int64_t>, int64_t> arrivals;
  std::map<std::pair<int, int>, size_t> nextMessage;
  std::map<std::pair<int, int>, int64_t> linkFree;
  std::vector<int64_t> position(schedule.numRanks()), clock(position),
      held(position);
  run.peaks.resize(schedule.numRanks());
  for (bool moved = true; moved;) {
    moved = false;
    for (int r = 0; r < schedule.numRanks(); ++r) {
      ActionRange order = schedule.rank(r);
      if (position[r] == order.size())
        continue;
      Action action = order[position[r]];
      const int64_t stage = action.subject, index = action.index;
      const ActionKind kind = action.kind();
      int64_t start = clock[r];
      bool isReady = true;
      auto need = [&](const std::map<Key, int64_t> &from, Key key) {
        auto it = from.find(key);
        if (it == from.end())
          isReady = false;
        else
          start = std::max(start, it->second);
      };
      if (kind == ActionKind::WeightGrad) {
        need(run.ends, {stage, 'I', index});
      } else if (kind == ActionKind::Step) {
        for (int64_t i = 0; i < problem.microbatches; ++i)
          need(run.ends, {stage, 'W', i});
      } else {
        if (kind != ActionKind::Forward)
          need(run.ends, {stage, 'F', index});
        for (size_t e = 0; e < problem.edges.size(); ++e) {
          const Edge &edge = problem.edges[e];
          if (edge.to != stage || (edge.producer == ActionKind::Forward) !=
                                      (kind == ActionKind::Forward))
            continue;
          if (problem.rankOf(edge.from) == r) {
            need(run.ends, {edge.from, letterOfResult(edge.producer), index});
            continue;
          }
          auto it = arrivals.find({static_cast<int64_t>(e), index});
          if (it == arrivals.end())
            isReady = false;
          else
            start = std::max(start, it->second);
        }
      }
      if (!isReady)
        continue;
      const Cost &cost = problem.cost(stage, kind);
      clock[r] = start + cost.ns;
      run.ends[{stage, letterOfResult(kind), index}] = clock[r];
      if (kind == ActionKind::Backward)
        run.ends[{stage, 'W', index}] = clock[r];
      held[r] += cost.acquireBytes;
      run.peaks[r] = std::max(run.peaks[r], held[r]);
      held[r] -= cost.releaseBytes;
      ++position[r];
      moved = true;
    }
    for (const auto &[link, queue] : queues) {
      size_t &next = nextMessage[link];
      if (next == queue.size())
        continue;
      const Edge &edge = problem.edges[queue[next].edge];
      auto ready = run.ends.find(
          {edge.from, letterOfResult(edge.producer), queue[next].index});
      if (ready == run.ends.end())
        continue;
      const Link &speed = problem.linkBetween(link.first, link.second);
      int64_t occupancy =
          speed.bytesPerUs == 0
              ? 0
              : (1000 * edge.bytes + speed.bytesPerUs - 1) / speed.bytesPerUs;
      int64_t &free = linkFree[link];
      free = std::max(free, ready->second) + occupancy;
      arrivals[{queue[next].edge, queue[next].index}] = free + speed.latencyNs;
      ++next;
      moved = true;
    }
  }
  run.complete = true;
  for (int r = 0; r < schedule.numRanks(); ++r) {
    run.complete &= position[r] == schedule.rank(r).size();
    run.makespan = std::max(run.makespan, clock[r]);
  }
  return run;
}

Problem randomProblem(Random &random) {
  const int32_t ranks = pick(random, 1, 4), stages = pick(random, 1, 6);
  std::vector<int32_t> rankOfStage;
  for (int32_t s = 0; s < stages; ++s)
    rankOfStage.push_back(pick(random, 0, ranks - 1));
  Problem problem = problemOn(rankOfStage, ranks, pick(random, 1, 6));
  std::vector<int64_t> outputBytes;
  for (int32_t s = 0; s < stages; ++s) {
    int64_t activation = pick(random, 0, 9);
    problem.setStageCost(s, pick(random, 0, 9), pick(random, 0, 9),
                         pick(random, 0, 9), activation,
                         pick(random, 0, activation));
    problem.cost(s, ActionKind::Step).ns = pick(random, 0, 9);
    outputBytes.push_back(pick(random, 0, 3) * pick(random, 0, 5));
  }
  problem.makeChain(outputBytes);
  if (stages > 2 && pick(random, 0, 3) == 0) { // an edge that skips stages
    int32_t to = pick(random, 2, stages - 1);
    problem.edges.push_back({0, to, ActionKind::Forward, pick(random, 0, 10)});
    problem.edges.push_back(
        {to, 0, ActionKind::InputGrad, pick(random, 0, 10)});
  }
  problem.link = {pick(random, 0, 4), pick(random, 0, 2) * 1000};
  for (int32_t a = 0; a < ranks; ++a)
    for (int32_t b = 0; b < ranks; ++b)
      if (a != b && pick(random, 0, 2) == 0)
        problem.links[{a, b}] = {pick(random, 0, 9), pick(random, 0, 3) * 700};
  return problem;
}

/// Writes tasks, and half of the time steps, one by one, choosing among those
/// whose needs are met, so that the order can always run.
Schedule randomSchedule(const Problem &problem, Random &random) {
  const int32_t stages = problem.numStages();
  std::set<Key> done;
  std::vector<Action> open;
  for (int32_t s = 0; s < stages; ++s)
    for (int32_t i = 0; i < problem.microbatches; ++i) {
      open.emplace_back(ActionKind::Forward, s, i);
      if (pick(random, 0, 1)) {
        open.emplace_back(ActionKind::Backward, s, i);
      } else {
        open.emplace_back(ActionKind::InputGrad, s, i);
        open.emplace_back(ActionKind::WeightGrad, s, i);
      }
    }
  const bool hasSteps = pick(random, 0, 1);
  for (int32_t s = 0; hasSteps && s < stages; ++s)
    open.emplace_back(ActionKind::Step, s, 0);
  auto isReady = [&](Action action) {
    if (action.kind() == ActionKind::Step)
      return std::none_of(open.begin(), open.end(), [&](Action other) {
        return other.subject == action.subject && other != action;
      });
    const int64_t stage = action.subject, index = action.index;
    if (action.kind() == ActionKind::WeightGrad)
      return done.count({stage, 'I', index}) > 0;
    if (action.kind() != ActionKind::Forward &&
        !done.count({stage, 'F', index}))
      return false;
    for (const Edge &edge : problem.edges)
      if (edge.to == stage &&
          (edge.producer == ActionKind::Forward) ==
              (action.kind() == ActionKind::Forward) &&
          !done.count({edge.from, letterOfResult(edge.producer), index}))
        return false;
    return true;
  };
  std::vector<std::vector<Action>> orders(problem.numRanks());
  while (!open.empty()) {
    size_t i = pick(random, 0, open.size() - 1);
    if (!isReady(open[i]))
      continue;
    Action action = open[i];
    orders[problem.rankOf(action.subject)].push_back(action);
    done.insert(keyOf(action));
    open.erase(open.begin() + i);
  }
  return Schedule(orders);
}

/// Gives some links a random order, which may be a deadlock.
void orderSomeLinks(const Problem &problem, Schedule &schedule,
                    Random &random) {
  for (int32_t a = 0; a < problem.numRanks(); ++a)
    for (int32_t b = 0; b < problem.numRanks(); ++b) {
      if (a == b || pick(random, 0, 2) != 0)
        continue;
      std::vector<Action> messages;
      for (Action action : schedule.rank(a))
        for (const Edge &edge : problem.edges)
          if (edge.from == static_cast<int>(action.subject) &&
              problem.rankOf(edge.to) == b &&
              letterOfResult(edge.producer) == letterOfResult(action.kind())) {
            messages.push_back(action);
            break;
          }
      // A few swaps leave many orders that can run.
      for (int64_t swaps = pick(random, 0, 3);
           swaps-- > 0 && !messages.empty();)
        std::swap(messages[pick(random, 0, messages.size() - 1)],
                  messages[pick(random, 0, messages.size() - 1)]);
      schedule.linkOrders[{a, b}] = messages;
    }
}

void expectSame(const Problem &problem, const Schedule &schedule,
                const Naive &naive) {
  Simulation simulation = simulate(problem, schedule, /*keepTimes=*/true);
  ASSERT_EQ(simulation.complete, naive.complete);
  if (!naive.complete)
    return;
  EXPECT_EQ(simulation.makespanNs, naive.makespan);
  EXPECT_EQ(simulation.peakBytes, naive.peaks);
  for (int32_t r = 0; r < schedule.numRanks(); ++r) {
    ActionRange order = schedule.rank(r);
    for (int64_t i = 0; i < order.size(); ++i) {
      Action action = order[i];
      int64_t at = schedule.rankBegin(r) + i;
      EXPECT_EQ(simulation.endNs[at], naive.ends.at(keyOf(action)));
      EXPECT_EQ(simulation.startNs[at],
                simulation.endNs[at] -
                    problem.cost(action.subject, action.kind()).ns);
    }
  }
}

TEST(RandomSchedules, LegalOnesTakeTheReferenceTimes) {
  for (unsigned seed = 0; seed < 400; ++seed) {
    SCOPED_TRACE(seed);
    Random random(seed);
    Problem problem = randomProblem(random);
    ASSERT_EQ(problem.check(), std::nullopt);
    Schedule schedule = randomSchedule(problem, random);
    ASSERT_EQ(verdict(problem, schedule), "");
    Naive naive = runNaively(problem, schedule);
    ASSERT_TRUE(naive.complete);
    expectSame(problem, schedule, naive);
  }
}

TEST(RandomSchedules, LinkOrdersAgreeWithTheReference) {
  int complete = 0;
  for (unsigned seed = 0; seed < 600; ++seed) {
    SCOPED_TRACE(seed);
    Random random(seed + 1000);
    Problem problem = randomProblem(random);
    Schedule schedule = randomSchedule(problem, random);
    orderSomeLinks(problem, schedule, random);
    ASSERT_EQ(checkLinkOrder(problem, schedule), std::nullopt);
    Naive naive = runNaively(problem, schedule);
    complete += naive.complete;
    expectSame(problem, schedule, naive);
  }
  // Both outcomes occur often enough to mean something.
  EXPECT_GT(complete, 100);
  EXPECT_LT(complete, 590);
}

/// After random swaps an order may be impossible: then the reference gets stuck
/// too, and each rank of the cycle waits for the next.
TEST(RandomSchedules, StuckOnesAreStuckInACycle) {
  int stuck = 0;
  for (unsigned seed = 0; seed < 600; ++seed) {
    SCOPED_TRACE(seed);
    Random random(seed + 2000);
    Problem problem = randomProblem(random);
    Schedule legal = randomSchedule(problem, random);
    Schedule schedule;
    for (int32_t r = 0; r < legal.numRanks(); ++r) {
      std::vector<Action> order(legal.rank(r).begin(), legal.rank(r).end());
      for (int64_t swaps = pick(random, 0, 2); swaps-- > 0 && !order.empty();)
        std::swap(order[pick(random, 0, order.size() - 1)],
                  order[pick(random, 0, order.size() - 1)]);
      for (Action action : order)
        schedule.append(action);
      schedule.endRank();
    }
    Naive naive = runNaively(problem, schedule);
    expectSame(problem, schedule, naive);
    auto fault = checkSchedule(problem, schedule);
    EXPECT_EQ(fault.has_value(), !naive.complete);
    if (naive.complete)
      continue;
    ++stuck;
    EXPECT_TRUE(fault->rule == Rule::Dependence ||
                fault->rule == Rule::Deadlock);
    Simulation simulation = simulate(problem, schedule);
    ASSERT_FALSE(simulation.cycle.empty());
    for (size_t i = 0; i < simulation.cycle.size(); ++i)
      EXPECT_EQ(simulation.cycle[i].onRank,
                simulation.cycle[(i + 1) % simulation.cycle.size()].rank);
    // S3 is broken exactly if a rank waits for itself.
    EXPECT_EQ(fault->rule == Rule::Dependence,
              checkDependence(problem, schedule).has_value());
    if (simulation.cycle.size() == 1) {
      EXPECT_EQ(fault->rule, Rule::Dependence);
    }
  }
  EXPECT_GT(stuck, 100);
  EXPECT_LT(stuck, 590);
}

} // namespace
