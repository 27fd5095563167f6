//===- Sharded.cpp - G1 to G3: gathers and reductions ---------------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "schedule/bounds/ShardedBound.h"
#include "schedule/gathers/PlaceGathers.h"
#include "schedule/model/EdgeTable.h"

#include <algorithm>

using namespace rondo;

static int64_t gatheredBytes(const Problem &problem, int32_t home) {
  return problem.cost(home, ActionKind::Unshard).acquireBytes;
}

/// What a move takes; nothing where a rank has all pieces.
static int64_t moveNs(const Problem &problem, int32_t home, ActionKind kind) {
  return problem.homes[home].isSharded() && !problem.isGroupLocal(home)
             ? problem.cost(home, kind).ns
             : 0;
}
static int64_t gatherNs(const Problem &problem, int32_t home) {
  return moveNs(problem, home, ActionKind::Unshard);
}
static int64_t reduceNs(const Problem &problem, int32_t home) {
  return moveNs(problem, home, ActionKind::ReduceGrad);
}

static std::vector<std::vector<int32_t>> homesOfRanks(const Problem &problem) {
  std::vector<std::vector<int32_t>> homes(problem.numRanks());
  for (int32_t home = 0; home < problem.numHomes(); ++home)
    homes[problem.rankOf(home)].push_back(home);
  return homes;
}

Problem rondo::withWholeStateAtMost(const Problem &problem) {
  Problem whole = withWholeState(problem);
  const auto homes = homesOfRanks(problem);
  for (int32_t rank = 0; rank < problem.numRanks(); ++rank) {
    whole.memoryCaps[rank] = problem.memoryCaps[rank];
    if (problem.memoryCaps[rank] == noMemoryCap || homes[rank].empty())
      continue;
    // Memory is taken by tasks, which have their chunk; whole ones need none.
    int64_t least = problem.memoryCaps[rank];
    for (int32_t home : homes[rank])
      least = std::min(least, problem.homes[home].isSharded()
                                  ? gatheredBytes(problem, home)
                                  : 0);
    whole.memoryCaps[rank] -= least;
  }
  return whole;
}

//===----------------------------------------------------------------------===//
// The least moves.
//===----------------------------------------------------------------------===//

/// Homes that F of `last` comes behind, for the same micro-batch, and whose
/// backward comes behind its own.
static std::vector<bool> homesAround(const Problem &problem, int32_t last) {
  auto reached = [&](ActionKind producer, bool isBackwards) {
    std::vector<bool> isThere(problem.numHomes());
    std::vector<int32_t> open = {last};
    while (!open.empty()) {
      const int32_t home = open.back();
      open.pop_back();
      for (const Edge &edge : problem.edges) {
        const int32_t from = isBackwards ? edge.to : edge.from,
                      to = isBackwards ? edge.from : edge.to;
        if (from != home || edge.producer != producer || isThere[to] ||
            !problem.carries(edge, 0))
          continue;
        isThere[to] = true;
        open.push_back(to);
      }
    }
    return isThere;
  };
  const std::vector<bool> before = reached(ActionKind::Forward, true),
                          behind = reached(ActionKind::InputGrad, false);
  std::vector<bool> both(problem.numHomes());
  for (int32_t home = 0; home < problem.numHomes(); ++home)
    both[home] = before[home] && behind[home];
  return both;
}

/// Adds what a rank gathers again while its cap has room for few chunks.
static void addAgain(const Problem &problem, const std::vector<bool> &isAround,
                     const std::vector<int32_t> &homes, int32_t last,
                     LeastMoves &moves) {
  int64_t room = problem.memoryCaps[problem.rankOf(last)];
  if (room == noMemoryCap)
    return;
  std::vector<int64_t> bytes, ns;
  for (int32_t home : homes) {
    if (home != last && !isAround[home])
      continue;
    // What recomputes may have freed some of what F takes.
    if (!problem.recomputes(home))
      room -= problem.cost(home, ActionKind::Forward).acquireBytes;
    if (!problem.homes[home].isSharded())
      continue;
    if (home == last)
      room -= gatheredBytes(problem, home);
    if (home == last || problem.shardedState(home) != ShardedState::Weights)
      continue;
    bytes.push_back(gatheredBytes(problem, home));
    ns.push_back(gatherNs(problem, home));
  }
  std::sort(bytes.begin(), bytes.end());
  std::sort(ns.begin(), ns.end());
  size_t whole = 0;
  for (; whole < bytes.size() && bytes[whole] <= room; ++whole)
    room -= bytes[whole];
  // Whichever are not whole, they take at least as long as the quickest.
  for (size_t k = 0; k < bytes.size() - whole; ++k) {
    ++moves.gathers;
    moves.ns += ns[k];
  }
}

std::vector<LeastMoves> rondo::leastMoves(const Problem &problem) {
  std::vector<LeastMoves> least(problem.numRanks());
  const auto homes = homesOfRanks(problem);
  for (int32_t rank = 0; rank < problem.numRanks(); ++rank) {
    LeastMoves &moves = least[rank];
    for (int32_t home : homes[rank]) {
      if (!problem.homes[home].isSharded())
        continue;
      ++moves.gathers;
      ++moves.reductions;
      moves.ns += gatherNs(problem, home) + reduceNs(problem, home);
    }
    LeastMoves most = moves;
    for (int32_t last : homes[rank]) {
      LeastMoves again = moves;
      if (problem.homes[last].takes(0))
        addAgain(problem, homesAround(problem, last), homes[rank], last, again);
      if (again.ns > most.ns)
        most = again;
    }
    moves = most;
  }
  return least;
}

//===----------------------------------------------------------------------===//
// Times.
//===----------------------------------------------------------------------===//

/// When a task has all that its stage edges bring: of the homes that
/// one comes from, a micro-batch may need any one.
static int64_t behindInputs(const Problem &problem, const EdgeTable &edges,
                            int32_t home, ActionKind kind,
                            const std::vector<int64_t> &ends) {
  int64_t begin = 0, quickest = 0;
  int32_t stageEdge = -1;
  for (int32_t e : edges.inputs(home, kind)) {
    const Edge &edge = problem.edges[e];
    const int32_t from = problem.rankOf(edge.from),
                  to = problem.rankOf(edge.to);
    int64_t arrival = ends[edge.from];
    if (from != to)
      arrival += problem.linkBetween(from, to).latencyNs +
                 problem.linkBetween(from, to).occupancyNs(edge.bytes);
    if (edge.stageEdge != stageEdge)
      begin = std::max(begin, quickest);
    quickest =
        edge.stageEdge == stageEdge ? std::min(quickest, arrival) : arrival;
    stageEdge = edge.stageEdge;
  }
  return std::max(begin, quickest);
}

Bound rondo::shardedBound(const Problem &problem) {
  Bound best = quickBound(withWholeStateAtMost(problem));
  auto take = [&](int64_t ns, const char *name) {
    if (ns > best.ns)
      best = {ns, name};
  };
  const bool isSpan = problem.objective == Objective::Span;
  if (!isSpan)
    for (const LeastMoves &moves : leastMoves(problem))
      take(moves.ns, "G1");

  const EdgeTable edges(problem);
  auto nsOf = [&](int32_t home, ActionKind kind) {
    return problem.cost(home, kind).ns;
  };
  auto backwardNs = [&](int32_t home) {
    return std::min(nsOf(home, ActionKind::InputGrad) +
                        nsOf(home, ActionKind::WeightGrad),
                    nsOf(home, ActionKind::Backward));
  };
  std::vector<int64_t> heads(problem.numHomes()), ends(problem.numHomes()),
      gradientEnds(problem.numHomes());
  for (int32_t home = 0; home < problem.numHomes(); ++home) {
    heads[home] =
        std::max(gatherNs(problem, home),
                 behindInputs(problem, edges, home, ActionKind::Forward, ends));
    ends[home] = heads[home] + nsOf(home, ActionKind::Forward);
  }
  for (int32_t home = problem.numHomes(); home-- > 0;) {
    const int64_t begin =
        std::max(ends[home], behindInputs(problem, edges, home,
                                          ActionKind::InputGrad, gradientEnds));
    gradientEnds[home] = begin + std::min(nsOf(home, ActionKind::InputGrad),
                                          nsOf(home, ActionKind::Backward));
    if (!isSpan)
      take(begin + backwardNs(home) + reduceNs(problem, home), "G3");
  }

  for (const std::vector<int32_t> &homes : homesOfRanks(problem)) {
    if (homes.empty())
      continue;
    int64_t head = heads[homes.front()],
            tail = reduceNs(problem, homes.front()), work = 0;
    for (int32_t home : homes) {
      head = std::min(head, heads[home]);
      // The last task of a rank is a W or a B.
      tail = std::min(tail, reduceNs(problem, home));
      work += (nsOf(home, ActionKind::Forward) + backwardNs(home) +
               nsOf(home, ActionKind::Recompute)) *
              problem.homes[home].numTaken(problem.microbatches);
    }
    take((isSpan ? 0 : head) + work + tail, "G2");
  }
  return best;
}
