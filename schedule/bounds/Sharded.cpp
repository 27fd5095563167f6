//===- Sharded.cpp - G1 to G3: gathers and reductions ---------------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "schedule/EdgeTable.h"
#include "schedule/PlaceGathers.h"
#include "schedule/ShardedBound.h"
#include "schedule/bounds/Arguments.h"

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
// The arguments.
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

namespace {

/// The path of a micro-batch with the gathers on it, by home.
struct GatheredPath {
  explicit GatheredPath(const Problem &problem);

  /// When F starts and ends, and when I starts.
  std::vector<int64_t> heads, ends, gradientHeads;
};

} // namespace

GatheredPath::GatheredPath(const Problem &problem)
    : heads(problem.numHomes()), ends(problem.numHomes()),
      gradientHeads(problem.numHomes()) {
  const EdgeTable edges(problem);
  for (int32_t home = 0; home < problem.numHomes(); ++home) {
    heads[home] =
        std::max(gatherNs(problem, home),
                 behindInputs(problem, edges, home, ActionKind::Forward, ends));
    ends[home] = heads[home] + problem.cost(home, ActionKind::Forward).ns;
  }
  std::vector<int64_t> gradientEnds(problem.numHomes());
  for (int32_t home = problem.numHomes(); home-- > 0;) {
    gradientHeads[home] =
        std::max(ends[home], behindInputs(problem, edges, home,
                                          ActionKind::InputGrad, gradientEnds));
    gradientEnds[home] = gradientHeads[home] +
                         std::min(problem.cost(home, ActionKind::InputGrad).ns,
                                  problem.cost(home, ActionKind::Backward).ns);
  }
}

static int64_t backwardNs(const Problem &problem, int32_t home) {
  return std::min(problem.cost(home, ActionKind::InputGrad).ns +
                      problem.cost(home, ActionKind::WeightGrad).ns,
                  problem.cost(home, ActionKind::Backward).ns);
}

static int64_t computeMoves(const Problem &problem, int64_t, int64_t) {
  int64_t most = 0;
  if (problem.objective != Objective::Span)
    for (const LeastMoves &moves : leastMoves(problem))
      most = std::max(most, moves.ns);
  return most;
}

static int64_t computeGatheredPath(const Problem &problem, int64_t, int64_t) {
  if (problem.objective == Objective::Span)
    return 0;
  const GatheredPath path(problem);
  int64_t most = 0;
  for (int32_t home = 0; home < problem.numHomes(); ++home)
    most = std::max(most, path.gradientHeads[home] + backwardNs(problem, home) +
                              reduceNs(problem, home));
  return most;
}

static int64_t computeWorkAfterGathers(const Problem &problem, int64_t,
                                       int64_t) {
  const GatheredPath path(problem);
  int64_t most = 0;
  for (const std::vector<int32_t> &homes : homesOfRanks(problem)) {
    if (homes.empty())
      continue;
    int64_t head = path.heads[homes.front()],
            tail = reduceNs(problem, homes.front()), work = 0;
    for (int32_t home : homes) {
      head = std::min(head, path.heads[home]);
      // The last task of a rank is a W or a B.
      tail = std::min(tail, reduceNs(problem, home));
      work += (problem.cost(home, ActionKind::Forward).ns +
               backwardNs(problem, home) +
               problem.cost(home, ActionKind::Recompute).ns) *
              problem.homes[home].numTaken(problem.microbatches);
    }
    most = std::max(most, (problem.objective == Objective::Span ? 0 : head) +
                              work + tail);
  }
  return most;
}

BoundArgument rondo::gathersOfOneRank() {
  return {"G1",         "gathers and reductions of each rank",
          computeMoves, BoundCost::Stages,
          false,        true};
}

BoundArgument rondo::pathOfGathers() {
  return {"G3",
          "the path of one micro-batch with gathers and a reduction",
          computeGatheredPath,
          BoundCost::Stages,
          false,
          true};
}

BoundArgument rondo::workAfterGathers() {
  return {"G2",
          "work of each rank between its gathers and reductions",
          computeWorkAfterGathers,
          BoundCost::Stages,
          false,
          true};
}

Bound rondo::shardedBound(const Problem &problem) {
  Bound best = quickBound(withWholeStateAtMost(problem));
  for (const BoundArgument &argument : boundArguments()) {
    if (!argument.isOfShards)
      continue;
    const int64_t ns = argument.compute(problem, never, 0);
    if (ns > best.ns)
      best = {ns, argument.name};
  }
  return best;
}
