//===- Recomputed.cpp - Orders of stages that recompute -------------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "schedule/Recomputed.h"

#include <algorithm>

using namespace rondo;

bool rondo::hasRecomputation(const Problem &problem) {
  return std::any_of(
      problem.recomputation.begin(), problem.recomputation.end(),
      [](Recomputation how) { return how != Recomputation::None; });
}

bool Problem::hasRecomputationAcross() const {
  return std::find(recomputation.begin(), recomputation.end(),
                   Recomputation::FromStage) != recomputation.end();
}

void Problem::addRecomputedEdges() {
  const std::vector<Edge> before = edges;
  int32_t of = -1;
  for (const Edge &edge : before) {
    if (edge.producer != ActionKind::Forward || !recomputesAcross(edge.to))
      continue;
    // Parts of a stage edge follow each other.
    const bool isNext = edge.stageEdge != of;
    of = edge.stageEdge;
    Edge again = edge;
    again.producer = ActionKind::Recompute;
    again.stageEdge = edges.back().stageEdge + isNext;
    edges.push_back(again);
  }
}

std::optional<Fault> rondo::checkRecomputation(const Problem &problem) {
  std::vector<int32_t> fed(problem.numHomes(), 0), fedAgain = fed;
  auto stageOf = [&](int32_t home) { return problem.homes[home].stage; };
  for (size_t e = 0; e < problem.edges.size(); ++e) {
    const Edge &edge = problem.edges[e];
    if (edge.producer == ActionKind::Forward)
      ++fed[edge.to];
    if (edge.producer != ActionKind::Recompute)
      continue;
    ++fedAgain[edge.to];
    const int32_t from = stageOf(edge.from), to = stageOf(edge.to);
    if (!problem.recomputesAcross(edge.to))
      return makeFault<FaultKind::RecomputedForNone>(e, from, to);
    if (!problem.recomputes(edge.from))
      return makeFault<FaultKind::RecomputedByNone>(to, from);
    for (int32_t stage : {from, to})
      if (problem.homes.of(stage).size() > 1)
        return makeFault<FaultKind::RecomputedReplicas>(to, from, stage);
  }
  for (int32_t home = 0; home < problem.numHomes(); ++home) {
    if (!problem.recomputesAcross(home))
      continue;
    if (fed[home] == 0)
      return makeFault<FaultKind::RecomputedFromNone>(stageOf(home));
    if (fed[home] == fedAgain[home])
      continue;
    auto isFedAgainBy = [&](int32_t from) {
      return std::any_of(problem.edges.begin(), problem.edges.end(),
                         [&](const Edge &edge) {
                           return edge.producer == ActionKind::Recompute &&
                                  edge.from == from && edge.to == home;
                         });
    };
    for (const Edge &edge : problem.edges)
      if (edge.producer == ActionKind::Forward && edge.to == home &&
          !isFedAgainBy(edge.from))
        return makeFault<FaultKind::RecomputedInPart>(stageOf(home),
                                                      stageOf(edge.from));
  }
  return std::nullopt;
}

std::vector<int32_t> rondo::distancesInSegments(const Problem &problem) {
  std::vector<int32_t> distances(problem.numHomes(), 0);
  if (!problem.hasRecomputationAcross())
    return distances;
  // Edges lead to later homes.
  std::vector<std::vector<int32_t>> readers(problem.numHomes());
  for (const Edge &edge : problem.edges)
    if (edge.producer == ActionKind::Recompute)
      readers[edge.from].push_back(edge.to);
  for (int32_t home = problem.numHomes(); home-- > 0;)
    for (int32_t reader : readers[home])
      distances[home] = std::max(distances[home], distances[reader] + 1);
  return distances;
}

Problem rondo::withoutRecomputation(const Problem &problem) {
  Problem plain = problem;
  plain.recomputation.clear();
  plain.edges.erase(std::remove_if(plain.edges.begin(), plain.edges.end(),
                                   [](const Edge &edge) {
                                     return edge.producer ==
                                            ActionKind::Recompute;
                                   }),
                    plain.edges.end());
  for (int32_t home = 0; home < problem.numHomes(); ++home) {
    Cost &again = plain.cost(home, ActionKind::Recompute);
    plain.cost(home, ActionKind::Forward).acquireBytes += again.acquireBytes;
    for (ActionKind kind : {ActionKind::InputGrad, ActionKind::Backward}) {
      plain.cost(home, kind).ns += again.ns;
      plain.cost(home, kind).releaseBytes += again.releaseBytes;
    }
    again = Cost();
  }
  return plain;
}

namespace {

/// How many micro-batches earlier than the backward each home recomputes.
class Leads {
public:
  Leads(const Problem &problem, const Schedule &schedule)
      : leads(distancesInSegments(problem)) {
    if (!problem.hasRecomputationAcross())
      return;
    // By home: the F in front of the first backward.
    std::vector<int32_t> depths(problem.numHomes(), 0);
    std::vector<bool> isDeep(problem.numHomes());
    for (Action action : schedule.all()) {
      const auto home = static_cast<int32_t>(action.subject);
      if (action.kind() == ActionKind::Forward && !isDeep[home])
        ++depths[home];
      isDeep[home] = isDeep[home] || (action.traits().makes & inputGradDone);
    }
    // The last ones of a home's segment.
    std::vector<int32_t> least = depths;
    for (auto edge = problem.edges.rbegin(); edge != problem.edges.rend();
         ++edge)
      if (edge->producer == ActionKind::Recompute)
        least[edge->from] = std::min(least[edge->from], least[edge->to]);
    for (int32_t home = 0; home < problem.numHomes(); ++home)
      if (leads[home] > 0)
        leads[home] = std::max(leads[home], depths[home] - least[home]);
  }

  int32_t of(int32_t home) const { return leads[home]; }

private:
  std::vector<int32_t> leads;
};

/// The R of one home, in the order of its backwards.
struct Pending {
  /// Micro-batches in the order in which their backwards come.
  std::vector<int64_t> microbatches;
  /// Of these: whose backward has begun, and whose R is written.
  size_t backwards = 0, written = 0;
};

} // namespace

Schedule rondo::withRecomputation(const Problem &problem,
                                  const Schedule &schedule) {
  const Leads leads(problem, schedule);
  std::vector<Pending> pending(problem.numHomes());
  auto isBackward = [&](Action action) {
    return (action.traits().makes & inputGradDone) &&
           problem.recomputes(static_cast<int32_t>(action.subject));
  };
  for (Action action : schedule.all())
    for (int64_t i = 0; isBackward(action) && i < int64_t(action.count); ++i)
      pending[action.subject].microbatches.push_back(action.index + i);
  std::vector<bool> isForwardDone(size_t(problem.numHomes()) *
                                  problem.microbatches);
  Schedule result;
  for (int32_t rank = 0; rank < schedule.numRanks(); ++rank) {
    for (Action action : schedule.rank(rank)) {
      const auto home = static_cast<int32_t>(action.subject);
      const int64_t begin = int64_t(home) * problem.microbatches;
      if (action.kind() == ActionKind::Forward)
        isForwardDone[begin + int64_t(action.index)] = true;
      if (isBackward(action)) {
        Pending &of = pending[home];
        of.backwards += action.count;
        const size_t wanted =
            std::min(of.microbatches.size(), of.backwards + leads.of(home));
        for (; of.written < wanted; ++of.written) {
          const int64_t microbatch = of.microbatches[of.written];
          if (of.written >= of.backwards && !isForwardDone[begin + microbatch])
            break;
          result.append(Action(ActionKind::Recompute, home, microbatch));
        }
      }
      result.append(action);
    }
    result.endRank();
  }
  // Orders of links that do not name what R sends are none.
  if (!problem.hasRecomputationAcross())
    result.linkOrders = schedule.linkOrders;
  return result;
}
