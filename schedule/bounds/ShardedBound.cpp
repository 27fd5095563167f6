//===- ShardedBound.cpp - G1 to G3: gathers and reductions ----------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "schedule/bounds/ShardedBound.h"
#include "schedule/bounds/Arguments.h"
#include "schedule/gathers/PlaceGathers.h"
#include "schedule/model/EdgeTable.h"

#include <algorithm>

using namespace rondo;

static int64_t gatheredBytes(const Problem &problem, int32_t replica) {
  return problem.cost(replica, ActionKind::Unshard).acquireBytes;
}

/// The time of a gather or reduction, in ns; 0 if the rank has all shards.
static int64_t moveNs(const Problem &problem, int32_t replica,
                      ActionKind kind) {
  return problem.replicas[replica].isSharded() && !problem.isGroupLocal(replica)
             ? problem.cost(replica, kind).ns
             : 0;
}
static int64_t gatherNs(const Problem &problem, int32_t replica) {
  return moveNs(problem, replica, ActionKind::Unshard);
}
static int64_t reduceNs(const Problem &problem, int32_t replica) {
  return moveNs(problem, replica, ActionKind::ReduceGrad);
}

Problem rondo::withWholeStateAtMost(const Problem &problem) {
  Problem whole = withWholeState(problem);
  const auto replicas = problem.replicas.byRank(problem.numRanks());
  for (int32_t rank = 0; rank < problem.numRanks(); ++rank) {
    whole.memoryCaps[rank] = problem.memoryCaps[rank];
    if (problem.memoryCaps[rank] == noMemoryCap || replicas[rank].empty())
      continue;
    // While a task runs, the gathered state of its chunk takes part of the cap.
    // Subtract the smallest such part; a chunk with whole state has none.
    int64_t least = problem.memoryCaps[rank];
    for (int32_t replica : replicas[rank])
      least = std::min(least, problem.replicas[replica].isSharded()
                                  ? gatheredBytes(problem, replica)
                                  : 0);
    whole.memoryCaps[rank] -= least;
  }
  return whole;
}

//===----------------------------------------------------------------------===//
// The least moves.
//===----------------------------------------------------------------------===//

/// Replicas whose forward runs before F of `last`, and whose backward runs
/// after its backward, for the same micro-batch.
static std::vector<bool> replicasAround(const Problem &problem, int32_t last) {
  auto reached = [&](ActionKind producer, bool isBackwards) {
    std::vector<bool> isThere(problem.numReplicas());
    std::vector<int32_t> open = {last};
    while (!open.empty()) {
      const int32_t replica = open.back();
      open.pop_back();
      for (const Edge &edge : problem.edges) {
        const int32_t from = isBackwards ? edge.to : edge.from,
                      to = isBackwards ? edge.from : edge.to;
        if (from != replica || edge.producer != producer || isThere[to] ||
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
  std::vector<bool> both(problem.numReplicas());
  for (int32_t replica = 0; replica < problem.numReplicas(); ++replica)
    both[replica] = before[replica] && behind[replica];
  return both;
}

/// Adds the gathers that a rank must repeat because its cap does not hold all
/// its chunks.
static void addAgain(const Problem &problem, const std::vector<bool> &isAround,
                     const std::vector<int32_t> &replicas, int32_t last,
                     LeastMoves &moves) {
  int64_t room = problem.memoryCaps[problem.rankOf(last)];
  if (room == noMemoryCap)
    return;
  std::vector<int64_t> bytes, ns;
  for (int32_t replica : replicas) {
    if (replica != last && !isAround[replica])
      continue;
    // A replica that recomputes may have freed some of the bytes of its F.
    if (!problem.recomputes(replica))
      room -= problem.cost(replica, ActionKind::Forward).acquireBytes;
    if (!problem.replicas[replica].isSharded())
      continue;
    if (replica == last)
      room -= gatheredBytes(problem, replica);
    if (replica == last ||
        problem.shardedState(replica) != ShardedState::Weights)
      continue;
    bytes.push_back(gatheredBytes(problem, replica));
    ns.push_back(gatherNs(problem, replica));
  }
  std::sort(bytes.begin(), bytes.end());
  std::sort(ns.begin(), ns.end());
  size_t whole = 0;
  for (; whole < bytes.size() && bytes[whole] <= room; ++whole)
    room -= bytes[whole];
  // The gathers of the chunks that do not fit take at least as long as the same
  // number of the quickest gathers.
  for (size_t k = 0; k < bytes.size() - whole; ++k) {
    ++moves.gathers;
    moves.ns += ns[k];
  }
}

std::vector<LeastMoves> rondo::leastMoves(const Problem &problem) {
  std::vector<LeastMoves> least(problem.numRanks());
  const auto replicas = problem.replicas.byRank(problem.numRanks());
  for (int32_t rank = 0; rank < problem.numRanks(); ++rank) {
    LeastMoves &moves = least[rank];
    for (int32_t replica : replicas[rank]) {
      if (!problem.replicas[replica].isSharded())
        continue;
      ++moves.gathers;
      ++moves.reductions;
      moves.ns += gatherNs(problem, replica) + reduceNs(problem, replica);
    }
    LeastMoves most = moves;
    for (int32_t last : replicas[rank]) {
      LeastMoves again = moves;
      if (problem.replicas[last].takes(0))
        addAgain(problem, replicasAround(problem, last), replicas[rank], last,
                 again);
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

/// Arrival of all inputs of a task. A micro-batch may come from any one of the
/// replicas at the other end of a stage edge, so the quickest counts.
static int64_t behindInputs(const Problem &problem, const EdgeTable &edges,
                            int32_t replica, ActionKind kind,
                            const std::vector<int64_t> &ends) {
  int64_t begin = 0, quickest = 0;
  int32_t stageEdge = -1;
  for (int32_t e : edges.inputs(replica, kind)) {
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

/// The path of one micro-batch with its gathers.
struct GatheredPath {
  explicit GatheredPath(const Problem &problem);

  /// [replica]: start and end of F, and start of I.
  std::vector<int64_t> heads, ends, gradientHeads;
};

} // namespace

GatheredPath::GatheredPath(const Problem &problem)
    : heads(problem.numReplicas()), ends(problem.numReplicas()),
      gradientHeads(problem.numReplicas()) {
  const EdgeTable edges(problem);
  for (int32_t replica = 0; replica < problem.numReplicas(); ++replica) {
    heads[replica] = std::max(
        gatherNs(problem, replica),
        behindInputs(problem, edges, replica, ActionKind::Forward, ends));
    ends[replica] =
        heads[replica] + problem.cost(replica, ActionKind::Forward).ns;
  }
  std::vector<int64_t> gradientEnds(problem.numReplicas());
  for (int32_t replica = problem.numReplicas(); replica-- > 0;) {
    gradientHeads[replica] = std::max(
        ends[replica], behindInputs(problem, edges, replica,
                                    ActionKind::InputGrad, gradientEnds));
    gradientEnds[replica] =
        gradientHeads[replica] +
        std::min(problem.cost(replica, ActionKind::InputGrad).ns,
                 problem.cost(replica, ActionKind::Backward).ns);
  }
}

static int64_t backwardNs(const Problem &problem, int32_t replica) {
  return std::min(problem.cost(replica, ActionKind::InputGrad).ns +
                      problem.cost(replica, ActionKind::WeightGrad).ns,
                  problem.cost(replica, ActionKind::Backward).ns);
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
  for (int32_t replica = 0; replica < problem.numReplicas(); ++replica)
    most = std::max(most, path.gradientHeads[replica] +
                              backwardNs(problem, replica) +
                              reduceNs(problem, replica));
  return most;
}

static int64_t computeWorkAfterGathers(const Problem &problem, int64_t,
                                       int64_t) {
  const GatheredPath path(problem);
  int64_t most = 0;
  for (const std::vector<int32_t> &replicas :
       problem.replicas.byRank(problem.numRanks())) {
    if (replicas.empty())
      continue;
    int64_t head = path.heads[replicas.front()],
            tail = reduceNs(problem, replicas.front()), work = 0;
    for (int32_t replica : replicas) {
      head = std::min(head, path.heads[replica]);
      // The last task of a rank is a W or a B.
      tail = std::min(tail, reduceNs(problem, replica));
      work += (problem.cost(replica, ActionKind::Forward).ns +
               backwardNs(problem, replica) +
               problem.cost(replica, ActionKind::Recompute).ns) *
              problem.replicas[replica].numTaken(problem.microbatches);
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
