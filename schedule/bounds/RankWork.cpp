//===- RankWork.cpp - LB1: what a rank must do ----------------------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// A rank cannot start before the first micro-batch has reached one of its
// stages, then does all its work. If it ends with I of a stage, the path back
// from there follows. If W can be last, the tail is 0. Problems that cannot be
// flattened (FlatProblem.h) have no tails.
//
//===----------------------------------------------------------------------===//

#include "schedule/bounds/Arguments.h"
#include "schedule/bounds/UnevenBounds.h"
#include "schedule/model/EdgeTable.h"

#include <algorithm>

using namespace rondo;

/// The least time of a replica's tasks for one micro-batch, in ns.
static int64_t workOf(const Problem &problem, int32_t replica) {
  return problem.cost(replica, ActionKind::Forward).ns +
         std::min(problem.cost(replica, ActionKind::InputGrad).ns +
                      problem.cost(replica, ActionKind::WeightGrad).ns,
                  problem.cost(replica, ActionKind::Backward).ns) +
         problem.cost(replica, ActionKind::Recompute).ns;
}

/// The earliest start of each replica: the shortest path to it. A micro-batch
/// may come from any one of the replicas at the other end of a stage edge.
static std::vector<int64_t> quickestHeads(const Problem &problem) {
  std::vector<int64_t> heads(problem.numReplicas(), 0);
  const EdgeTable edges(problem);
  for (int32_t replica = 0; replica < problem.numReplicas(); ++replica) {
    int32_t stageEdge = -1;
    int64_t quickest = 0;
    for (int32_t e : edges.inputs(replica, ActionKind::Forward)) {
      const Edge &edge = problem.edges[e];
      const int32_t from = problem.rankOf(edge.from),
                    to = problem.rankOf(edge.to);
      int64_t arrival =
          heads[edge.from] + problem.cost(edge.from, ActionKind::Forward).ns;
      if (from != to)
        arrival += problem.linkBetween(from, to).latencyNs +
                   problem.linkBetween(from, to).occupancyNs(edge.bytes);
      if (edge.stageEdge != stageEdge)
        heads[replica] = std::max(heads[replica], quickest);
      quickest =
          edge.stageEdge == stageEdge ? std::min(quickest, arrival) : arrival;
      stageEdge = edge.stageEdge;
    }
    heads[replica] = std::max(heads[replica], quickest);
  }
  return heads;
}

/// Bound by head and work of each rank, without tails, for any problem.
static int64_t computeAnyRankWork(const Problem &problem) {
  const std::vector<int64_t> heads = quickestHeads(problem);
  std::vector<int64_t> head(problem.numRanks(), never),
      work(problem.numRanks());
  for (int32_t replica = 0; replica < problem.numReplicas(); ++replica) {
    const int32_t rank = problem.rankOf(replica);
    head[rank] = std::min(head[rank], heads[replica]);
    work[rank] += workOf(problem, replica) *
                  problem.replicas[replica].numTaken(problem.microbatches);
  }
  int64_t best = 0;
  for (int32_t rank = 0; rank < problem.numRanks(); ++rank)
    if (work[rank] > 0)
      best = std::max(
          best,
          work[rank] + (problem.objective == Objective::Span ? 0 : head[rank]));
  return best;
}

/// [stage]: earliest start of F.
static std::vector<int64_t> headsOf(const FlatProblem &flat) {
  std::vector<int64_t> heads(flat.stages, 0);
  for (int32_t s = 0; s < flat.stages; ++s)
    for (int32_t e : flat.inputs(Task::F, s)) {
      const FlatProblem::Message &message = flat.messages[e];
      heads[s] = std::max(heads[s], heads[message.from] +
                                        flat.ns[Task::F][message.from] +
                                        message.transferNs());
    }
  return heads;
}

/// [stage]: the longest path after I, through I of other stages; at the end of
/// a path, the W of its last stage.
static std::vector<int64_t> tailsOf(const FlatProblem &flat) {
  std::vector<int64_t> tails(flat.stages, 0);
  for (int32_t s = 0; s < flat.stages; ++s) {
    if (flat.outputs(Task::I, s).empty())
      tails[s] = flat.ns[Task::W][s];
    for (int32_t e : flat.outputs(Task::I, s)) {
      const FlatProblem::Message &message = flat.messages[e];
      tails[s] = std::max(tails[s], message.transferNs() +
                                        flat.ns[Task::I][message.to] +
                                        tails[message.to]);
    }
  }
  return tails;
}

static int64_t computeRankWork(const Problem &problem, int64_t, int64_t) {
  if (problem.isUneven())
    return unevenRankWork(problem);
  int64_t best = 0;
  std::optional<FlatProblem> flat =
      FlatProblem::of(problem, BackwardCosts::Least);
  if (!flat)
    return computeAnyRankWork(problem);
  const std::vector<int64_t> heads = headsOf(*flat), tails = tailsOf(*flat);
  for (const std::vector<int32_t> &stages : flat->stagesOf) {
    if (stages.empty())
      continue;
    int64_t work = 0, head = never, tail = never;
    for (int32_t s : stages) {
      work += flat->workOf(s) + problem.cost(s, ActionKind::Recompute).ns;
      head = std::min(head, heads[s]);
      // The last task is some stage's W, or its I if W takes no time.
      tail = std::min(tail, flat->ns[Task::W][s] == 0 ? tails[s] : 0);
    }
    if (problem.objective == Objective::Span)
      head = tail = 0;
    best = std::max(best, head + work * flat->microbatches + tail);
  }
  return best;
}

BoundArgument rondo::rankWork() {
  return {"L1", "head, work and tail of each rank", computeRankWork,
          BoundCost::Stages};
}
