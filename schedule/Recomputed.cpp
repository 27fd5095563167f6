//===- Recomputed.cpp - Orders of stages that recompute -------------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "schedule/Recomputed.h"

#include "schedule/Simulator.h"

#include <algorithm>
#include <functional>
#include <queue>
#include <tuple>

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

bool needsRecomputation(const Problem &problem, Action action) {
  return (action.traits().makes & inputGradDone) &&
         problem.recomputes(static_cast<int32_t>(action.subject));
}

std::vector<Pending> pendingOf(const Problem &problem,
                               const Schedule &schedule) {
  std::vector<Pending> pending(problem.numHomes());
  for (Action action : schedule.all())
    for (int64_t i = 0;
         needsRecomputation(problem, action) && i < int64_t(action.count); ++i)
      pending[action.subject].microbatches.push_back(action.index + i);
  return pending;
}

/// Writes R of a whole segment at once, in the order of time of a schedule
/// without R: no rank then waits for one that waits for it, whatever stages
/// share a rank.
class SegmentWriter {
public:
  /// `plain` are the times of the schedule in withoutRecomputation(). R of a
  /// segment comes before the first of its backwards, and `lead`
  /// micro-batches earlier where their F have run.
  SegmentWriter(const Problem &problem, const Schedule &schedule,
                const Simulation &plain, int32_t lead)
      : problem(problem), schedule(schedule), plain(plain), lead(lead),
        distances(distancesInSegments(problem)),
        pending(pendingOf(problem, schedule)), feeders(problem.numHomes()),
        orders(schedule.numRanks()), isForwardDone(numTasks()),
        isWritten(numTasks()) {
    for (const Edge &edge : problem.edges)
      if (edge.producer == ActionKind::Recompute)
        feeders[edge.to].push_back(edge.from);
  }

  Schedule run() {
    // Ordered by start; if tasks take no time, F go down the stages before
    // gradients come back.
    using Key = std::tuple<int64_t, bool, int64_t, int32_t>;
    std::priority_queue<Key, std::vector<Key>, std::greater<Key>> fronts;
    std::vector<int64_t> next(schedule.numRanks(), 0);
    auto push = [&](int32_t rank) {
      if (next[rank] == int64_t(schedule.rank(rank).size()))
        return;
      const Action action = schedule.rank(rank)[next[rank]];
      const bool isForward = action.kind() == ActionKind::Forward;
      const auto home = static_cast<int64_t>(action.subject);
      fronts.push({plain.startNs[schedule.rankBegin(rank) + next[rank]],
                   !isForward, isForward ? home : -home, rank});
    };
    for (int32_t rank = 0; rank < schedule.numRanks(); ++rank)
      push(rank);
    while (!fronts.empty()) {
      const int32_t rank = std::get<3>(fronts.top());
      fronts.pop();
      take(rank, schedule.rank(rank)[next[rank]++]);
      push(rank);
    }
    Schedule result;
    for (const std::vector<Action> &order : orders) {
      for (Action action : order)
        result.append(action);
      result.endRank();
    }
    return result;
  }

private:
  int64_t numTasks() const {
    return int64_t(problem.numHomes()) * problem.microbatches;
  }
  int64_t numberOf(int32_t home, int64_t microbatch) const {
    return int64_t(home) * problem.microbatches + microbatch;
  }

  void take(int32_t rank, Action action) {
    const auto home = static_cast<int32_t>(action.subject);
    if (action.kind() == ActionKind::Forward)
      isForwardDone[numberOf(home, int64_t(action.index))] = true;
    const bool isBackward = needsRecomputation(problem, action);
    if (isBackward)
      for (int64_t i = 0; i < int64_t(action.count); ++i)
        write(home, int64_t(action.index) + i);
    orders[rank].push_back(action);
    if (!isBackward)
      return;
    Pending &of = pending[home];
    of.backwards += action.count;
    const bool isLast = problem.recomputesAcross(home) && distances[home] == 0;
    const size_t wanted =
        std::min(of.microbatches.size(), of.backwards + size_t(lead));
    for (size_t i = of.backwards; isLast && i < wanted; ++i) {
      if (!isForwardDone[numberOf(home, of.microbatches[i])])
        break;
      write(home, of.microbatches[i]);
    }
  }

  /// R of a replica, after those that make its input.
  void write(int32_t home, int64_t microbatch) {
    if (isWritten[numberOf(home, microbatch)])
      return;
    isWritten[numberOf(home, microbatch)] = true;
    for (int32_t from : feeders[home])
      write(from, microbatch);
    orders[problem.rankOf(home)].push_back(
        Action(ActionKind::Recompute, home, microbatch));
  }

  const Problem &problem;
  const Schedule &schedule;
  const Simulation &plain;
  const int32_t lead;
  const std::vector<int32_t> distances;
  std::vector<Pending> pending;
  /// For each replica, those whose R makes the input of its own R.
  std::vector<std::vector<int32_t>> feeders;
  std::vector<std::vector<Action>> orders;
  std::vector<bool> isForwardDone, isWritten;
};

/// The fastest of some leads within the caps; without a lead if none is.
Schedule withSegments(const Problem &problem, const Schedule &schedule,
                      const Simulation &plain) {
  const std::vector<int32_t> distances = distancesInSegments(problem);
  const int32_t longest = *std::max_element(distances.begin(), distances.end());
  Schedule best = SegmentWriter(problem, schedule, plain, 0).run();
  auto timeOf = [&](const Schedule &order) {
    const Simulation run = simulate(problem, order);
    bool fits = run.complete;
    for (size_t rank = 0; fits && rank < run.peakBytes.size(); ++rank)
      fits = run.peakBytes[rank] <= problem.memoryCaps[rank];
    return fits ? run.makespanNs : infinite;
  };
  int64_t bestNs = timeOf(best);
  for (int32_t lead = 1; lead <= longest; lead *= 2) {
    Schedule order = SegmentWriter(problem, schedule, plain, lead).run();
    if (const int64_t ns = timeOf(order); ns < bestNs) {
      bestNs = ns;
      best = std::move(order);
    }
  }
  return best;
}

} // namespace

Schedule rondo::withRecomputation(const Problem &problem,
                                  const Schedule &schedule) {
  const Leads leads(problem, schedule);
  std::vector<Pending> pending = pendingOf(problem, schedule);
  auto isBackward = [&](Action action) {
    return needsRecomputation(problem, action);
  };
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
  if (!problem.hasRecomputationAcross()) {
    result.linkOrders = schedule.linkOrders;
    return result;
  }
  if (simulate(problem, result).complete)
    return result;
  const Simulation plain = simulate(withoutRecomputation(problem), schedule,
                                    /*keepTimes=*/true);
  return plain.complete ? withSegments(problem, schedule, plain) : result;
}
