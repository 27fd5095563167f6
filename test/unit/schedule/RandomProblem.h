//===- RandomProblem.h - Random problems and orders -------------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#ifndef RONDO_TEST_UNIT_SCHEDULE_RANDOMPROBLEM_H
#define RONDO_TEST_UNIT_SCHEDULE_RANDOMPROBLEM_H

#include "Examples.h"

#include "schedule/search/Orders.h"

#include <algorithm>
#include <functional>
#include <random>

namespace rondo::test {

using Engine = std::mt19937;

inline int64_t pick(Engine &random, int64_t least, int64_t most) {
  return least + static_cast<int64_t>(random() % uint64_t(most - least + 1));
}

/// A chain with few enough tasks for Exhaustive. Stages of different cost, caps
/// from the least on, serial links, tasks without time, and backwards that are
/// cheaper fused.
inline Problem drawTiny(Engine &random) {
  const std::vector<std::vector<int32_t>> placements = {
      {0, 1}, {0, 1, 2}, {0, 1, 0}, {0, 1, 1, 0}, {0, 1, 0, 1}, {1, 0}, {0, 0}};
  const auto &ranks = placements[random() % placements.size()];
  const int32_t numRanks = 1 + *std::max_element(ranks.begin(), ranks.end());
  Problem problem = problemOn(ranks, numRanks,
                              int32_t(pick(random, 1,
                                           ranks.size() == 2   ? 4
                                           : ranks.size() == 3 ? 3
                                                               : 2)));
  std::vector<int64_t> least(numRanks), outputs;
  for (int32_t s = 0; s < problem.numStages(); ++s) {
    const int64_t activation = pick(random, 0, 4);
    problem.setStageCost(s, pick(random, 0, 6), pick(random, 0, 6),
                         pick(random, 0, 6), activation,
                         pick(random, 0, activation));
    if (pick(random, 0, 5) == 0) {
      Cost &fused = problem.cost(s, ActionKind::Backward);
      fused.ns -= pick(random, 0, std::min<int64_t>(fused.ns, 3));
    }
    least[ranks[s]] += activation;
    outputs.push_back(pick(random, 0, 4));
  }
  problem.makeChain(outputs);
  for (int32_t r = 0; r < numRanks; ++r)
    if (pick(random, 0, 3))
      problem.memoryCaps[r] = least[r] + pick(random, 0, least[r] + 1);
  problem.link = {pick(random, 0, 3), pick(random, 0, 2) ? 0 : 1000};
  if (pick(random, 0, 1))
    problem.objective = Objective::Span;
  return problem;
}

/// The links of a random problem.
enum class LinkCosts { None, Latency, Serial };

/// A chain on 1 to 4 ranks, several stages per rank, every cost drawn
/// independently: B may take less or more than I and W. Caps hold at least one
/// micro-batch of all stages of the rank, so that some order always keeps them.
inline Problem drawChain(Engine &random, const std::vector<int32_t> &rankOf,
                         int32_t ranks, LinkCosts links, int64_t leastNs = 0) {
  Problem problem = problemOn(rankOf, ranks, int32_t(pick(random, 1, 5)));
  std::vector<int64_t> outputBytes, needed(ranks), all(ranks);
  for (int32_t s = 0; s < problem.numStages(); ++s) {
    const int64_t activation = pick(random, 0, 9);
    problem.setStageCost(s, pick(random, leastNs, 9), pick(random, leastNs, 9),
                         pick(random, leastNs, 9), activation,
                         pick(random, 0, activation));
    if (pick(random, 0, 2) == 0)
      problem.cost(s, ActionKind::Backward).ns = pick(random, leastNs, 18);
    outputBytes.push_back(pick(random, 0, 3) * pick(random, 0, 5));
    needed[problem.rankOf(s)] += activation;
    all[problem.rankOf(s)] += activation * problem.microbatches;
  }
  problem.makeChain(outputBytes);
  auto draw = [&](Link &link) {
    if (links != LinkCosts::None)
      link.latencyNs = pick(random, 0, 6);
    if (links == LinkCosts::Serial)
      link.bytesPerUs = pick(random, 0, 3) * 700;
  };
  draw(problem.link);
  for (int32_t a = 0; a < ranks; ++a)
    for (int32_t b = 0; b < ranks; ++b)
      if (a != b && pick(random, 0, 2) == 0)
        draw(problem.links[{a, b}]);
  for (int32_t r = 0; r < ranks; ++r)
    if (pick(random, 0, 1))
      problem.memoryCaps[r] = pick(random, needed[r], all[r]);
  if (pick(random, 0, 3) == 0)
    problem.objective = Objective::Span;
  return problem;
}

inline Problem drawChain(Engine &random, LinkCosts links = LinkCosts::Serial) {
  const int32_t ranks = int32_t(pick(random, 1, 4));
  std::vector<int32_t> rankOf;
  for (int64_t stages = pick(random, 1, 6); stages > 0; --stages)
    rankOf.push_back(int32_t(pick(random, 0, ranks - 1)));
  return drawChain(random, rankOf, ranks, links);
}

/// Costs, caps and links as drawChain() draws them, of a graph on 1 to 4 ranks:
/// skip connections, forks and joins, sometimes with several ends.
inline Problem drawGraph(Engine &random, LinkCosts links = LinkCosts::Serial) {
  Problem problem = drawChain(random, links);
  const int32_t stages = problem.numStages();
  std::vector<std::vector<int32_t>> inputs(stages);
  std::vector<int64_t> outputBytes;
  std::vector<bool> feeds(stages);
  for (int32_t s = 0; s < stages; ++s) {
    outputBytes.push_back(pick(random, 0, 3) * pick(random, 0, 5));
    for (int32_t from = 0; from < s; ++from)
      if (pick(random, 0, 2) == 0)
        inputs[s].push_back(from);
    std::shuffle(inputs[s].begin(), inputs[s].end(), random);
    for (int32_t from : inputs[s])
      feeds[from] = true;
  }
  if (pick(random, 0, 3))
    for (int32_t s = 0; s + 1 < stages; ++s)
      if (!feeds[s])
        inputs.back().push_back(s);
  problem.makeGraph(inputs, outputBytes);
  return problem;
}

/// Sequences of tasks in an order that some run could have, whatever the caps;
/// if `fused`, every W comes right after its I. In half of the cases, links
/// with several producers get a random order, which may be a deadlock.
inline Orders drawOrders(Engine &random, const FlatProblem &flat, bool fused) {
  Orders orders;
  orders.ranks.resize(flat.ranks);
  std::vector<int32_t> done(numCodes(flat.stages));
  auto mayRun = [&](Task task, int32_t s) {
    const int32_t k = done[codeOf(task, s)];
    if (k == flat.microbatches)
      return false;
    if (task == Task::W)
      return k < done[codeOf(Task::I, s)];
    if (task == Task::I && k >= done[codeOf(Task::F, s)])
      return false;
    for (int32_t e : flat.inputs(task, s))
      if (k >= done[codeOf(task, flat.messages[e].from)])
        return false;
    return true;
  };
  auto run = [&](Task task, int32_t s) {
    orders.ranks[flat.rankOf[s]].push_back(codeOf(task, s));
    ++done[codeOf(task, s)];
  };
  for (int64_t left = flat.tasks(); left > 0;) {
    const Task task = allTasks[pick(random, 0, fused ? 1 : 2)];
    const int32_t s = int32_t(pick(random, 0, flat.stages - 1));
    if (!mayRun(task, s))
      continue;
    run(task, s);
    --left;
    if (fused && task == Task::I) {
      run(Task::W, s);
      --left;
    }
  }
  if (!flat.hasContendedLinks || pick(random, 0, 1))
    return orders;
  orders.links.resize(flat.links);
  for (int32_t link = 0; link < flat.links; ++link) {
    Sequence &order = orders.links[link];
    for (Code code : orders.ranks[flat.linkTable[link].from])
      for (int32_t e : flat.edgesOf[link]) {
        const FlatProblem::Message &message = flat.messages[e];
        if (message.beginsBurst() && code == codeOf(message.task, message.from))
          order.push_back(code);
      }
    for (int64_t swaps = pick(random, 0, 3); swaps > 0; --swaps)
      std::swap(order[pick(random, 0, int64_t(order.size()) - 1)],
                order[pick(random, 0, int64_t(order.size()) - 1)]);
  }
  return orders;
}

/// No rank exceeds its cap.
inline bool keepsCaps(const Problem &problem, const Simulation &simulation) {
  for (int32_t r = 0; r < problem.numRanks(); ++r)
    if (simulation.peakBytes[r] > problem.memoryCaps[r])
      return false;
  return true;
}

/// The simulated start of every code in a rank's sequence; for the W of a B,
/// the end of its I, which is B's end in a flat problem that counts B so.
inline std::vector<int64_t> startsOfCodes(const Schedule &schedule,
                                          const Simulation &simulation,
                                          int32_t rank) {
  std::vector<int64_t> starts;
  ActionRange order = schedule.rank(rank);
  for (int64_t i = 0; i < order.size(); ++i) {
    const int64_t at = schedule.rankBegin(rank) + i;
    starts.push_back(simulation.startNs[at]);
    if (order[i].kind() == ActionKind::Backward)
      starts.push_back(simulation.endNs[at]);
  }
  return starts;
}

/// Uneven stages, messages and caps; a rank holds `room` micro-batches or one
/// more.
inline Problem drawUneven(Engine &random,
                          const std::vector<int32_t> &rankOfStage,
                          int32_t ranks, int32_t microbatches, int64_t room) {
  Problem problem = problemOn(rankOfStage, ranks, microbatches);
  std::vector<int64_t> bytes(ranks);
  for (int32_t s = 0; s < problem.numStages(); ++s) {
    const int64_t takes = pick(random, 0, 4);
    const int64_t frees = pick(random, 0, takes);
    const int64_t ns[] = {pick(random, 0, 8), pick(random, 0, 8),
                          pick(random, 0, 8)};
    problem.setStageCost(s, ns[0], ns[1], ns[2], takes, frees);
    bytes[problem.rankOf(s)] += takes;
  }
  for (int32_t rank = 0; rank < ranks; ++rank)
    problem.memoryCaps[rank] =
        bytes[rank] * room + pick(random, 0, bytes[rank]);
  problem.link.latencyNs = pick(random, 0, 11);
  return problem;
}

/// For a family that respects caps, on uneven problems.
inline void expectEveryCapKept(
    const char *family,
    const std::function<std::vector<int32_t>(int32_t ranks)> &placement) {
  Engine random(7);
  for (int32_t ranks : {1, 2, 3, 5, 8})
    for (int32_t microbatches : {1, 2, 3, 7, 16})
      for (int64_t room : {1, 2, 3, 5, 8, 20})
        for (Objective objective : {Objective::Makespan, Objective::Span}) {
          Problem problem =
              drawUneven(random, placement(ranks), ranks, microbatches, room);
          problem.objective = objective;
          EXPECT_EQ(verdict(problem, generateFamily(family, problem)), "")
              << ranks << " " << microbatches << " " << room;
        }
}

} // namespace rondo::test

#endif // RONDO_TEST_UNIT_SCHEDULE_RANDOMPROBLEM_H
