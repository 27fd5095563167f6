//===- PlannedProblem.cpp - Whether a plan can express a problem ----------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "formats/PlannedProblem.h"

#include "formats/PlannedCosts.h"
#include "formats/StageEdges.h"

#include "llvm/ADT/STLExtras.h"

#include <tuple>
#include <vector>

using namespace rondo;

static std::string nameOf(const Problem &problem, int32_t from, int32_t to) {
  return "from stage " + std::to_string(problem.replicas[from].stage) +
         " to stage " + std::to_string(problem.replicas[to].stage);
}

/// Edges by task and receiving rank: only the order of what a task sends to
/// another rank matters.
static std::vector<Edge> inOrderOfSends(const Problem &problem,
                                        std::vector<Edge> edges) {
  auto key = [&](const Edge &edge) {
    const int32_t rank = problem.rankOf(edge.to);
    const bool isSent = rank != problem.rankOf(edge.from);
    return std::tuple(edge.producer, edge.from, isSent ? rank : -1,
                      isSent ? 0 : edge.to);
  };
  llvm::stable_sort(
      edges, [&](const Edge &a, const Edge &b) { return key(a) < key(b); });
  return edges;
}

/// In a plan, copies take what the host links say.
static std::string whyNoCopies(const Problem &problem) {
  Problem planned = problem;
  for (int32_t s = 0; s < problem.numStages(); ++s) {
    const std::optional<StageCopies> copies = wholeCopies(problem, s);
    if (!copies)
      continue;
    planned.setCopies(s, *copies);
    for (const Replica &replica : problem.replicas.of(s)) {
      const int32_t number = problem.replicas.numberOf(s, replica.index);
      bool isEqual = problem.hostMemory.link(replica.rank) != nullptr;
      for (ActionKind kind : {ActionKind::Save, ActionKind::Load}) {
        const Cost &own = problem.cost(number, kind),
                   &made = planned.cost(number, kind);
        isEqual &= own.ns == made.ns && own.acquireBytes == made.acquireBytes &&
                   own.releaseBytes == made.releaseBytes;
      }
      if (!isEqual)
        return "the copies of stage " + std::to_string(s) + " on rank " +
               std::to_string(replica.rank) +
               " state their times or bytes; in a plan, these follow from the "
               "rank's host_link and from the stage";
    }
  }
  return "";
}

std::vector<Problem> rondo::problemsByMicrobatch(const Problem &problem) {
  Problem even = problem;
  even.unevenCosts.clear();
  even.unevenBytes.clear();
  std::vector<Problem> each(problem.isUneven() ? problem.microbatches : 1,
                            even);
  for (int64_t i = 0; problem.isUneven() && i < problem.microbatches; ++i) {
    for (int32_t replica = 0; replica < problem.numReplicas(); ++replica)
      for (const ActionTraits &traits : actionTable.rows)
        if (traits.hasCost())
          each[i].cost(replica, traits.kind) =
              problem.cost(replica, traits.kind, i);
    for (size_t e = 0; !problem.unevenBytes.empty() && e < even.edges.size();
         ++e)
      each[i].edges[e].bytes =
          problem.unevenBytes[e * problem.microbatches + i];
  }
  return each;
}

std::string rondo::whyNoPlan(const Problem &problem) {
  if (problem.isUneven()) {
    const std::vector<Problem> each = problemsByMicrobatch(problem);
    for (size_t i = 0; i < each.size(); ++i)
      if (std::string why = whyNoPlan(each[i]); !why.empty())
        return "micro-batch " + std::to_string(i) + ": " + why;
    return "";
  }
  if (problem.iterations > 1 || !problem.versions.empty())
    return "it spans iterations that may overlap, which a plan does not; "
           "`rondo search PLAN.mlir --iterations " +
           std::to_string(problem.iterations) +
           " --policy NAME -o OUT.mlir` writes such a schedule of a plan";
  if (!problem.hosts.empty())
    return "it states costs of the host, which a plan does not have";
  if (std::string why = whyNoCopies(problem); !why.empty())
    return why;
  for (int32_t s = 0; s < problem.numStages(); ++s)
    if (std::string why = whyNoCosts(problem, s); !why.empty())
      return why;
  const std::vector<int64_t> outputBytes = outputBytesOf(problem);
  for (const StageEdge &edge : stageEdgesOf(problem)) {
    const bool isForward = edge.producer != ActionKind::InputGrad;
    const int64_t bytes = outputBytes[isForward ? edge.from : edge.to];
    if (edge.bytes != bytes)
      return (isForward ? "the activation from stage "
                        : "the gradient from stage ") +
             std::to_string(edge.from) + " to stage " +
             std::to_string(edge.to) + " has " + std::to_string(edge.bytes) +
             " bytes, another of the same output " + std::to_string(bytes) +
             "; in a plan, all have the same size";
  }
  Problem planned = problem;
  planned.makeGraph(inputsOf(problem), outputBytes);
  planned.addRecomputedEdges();
  const std::vector<Edge> given = inOrderOfSends(problem, problem.edges),
                          made = inOrderOfSends(problem, planned.edges);
  for (auto [a, b] : llvm::zip_equal(given, made))
    if (a.from != b.from || a.to != b.to)
      return "the edge " + nameOf(problem, a.from, a.to) +
             " comes before the edge " + nameOf(problem, b.from, b.to) +
             "; in a plan, a task sends to the stages of a rank in the order "
             "of "
             "the stages";
  if (problem.channels.queues == Queues::PerRank)
    return "its ranks have one queue each (channels.queues), and those of a "
           "plan one for each other rank";
  return "";
}
