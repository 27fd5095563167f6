//===- Recomputed.cpp - Orders with recomputation -------------------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "schedule/transforms/Recomputed.h"

#include "schedule/simulate/Simulator.h"

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

std::vector<int32_t> rondo::distancesInSegments(const Problem &problem) {
  std::vector<int32_t> distances(problem.numReplicas(), 0);
  if (!problem.hasRecomputationAcross())
    return distances;
  // In reverse order, since edges lead to later replicas.
  std::vector<std::vector<int32_t>> readers(problem.numReplicas());
  for (const Edge &edge : problem.edges)
    if (edge.producer == ActionKind::Recompute)
      readers[edge.from].push_back(edge.to);
  for (int32_t replica = problem.numReplicas(); replica-- > 0;)
    for (int32_t reader : readers[replica])
      distances[replica] = std::max(distances[replica], distances[reader] + 1);
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
  for (int32_t replica = 0; replica < problem.numReplicas(); ++replica) {
    Cost &again = plain.cost(replica, ActionKind::Recompute);
    plain.cost(replica, ActionKind::Forward).acquireBytes += again.acquireBytes;
    for (ActionKind kind : {ActionKind::InputGrad, ActionKind::Backward}) {
      plain.cost(replica, kind).ns += again.ns;
      plain.cost(replica, kind).releaseBytes += again.releaseBytes;
    }
    again = Cost();
  }
  return plain;
}

namespace {

/// [replica]: the number of micro-batches by which its R precedes the backward.
class Leads {
public:
  Leads(const Problem &problem, const Schedule &schedule)
      : leads(distancesInSegments(problem)) {
    if (!problem.hasRecomputationAcross())
      return;
    // [replica]: the number of F before its first backward.
    std::vector<int32_t> depths(problem.numReplicas(), 0);
    std::vector<bool> isDeep(problem.numReplicas());
    for (Action action : schedule.all()) {
      const auto replica = static_cast<int32_t>(action.subject);
      if (action.kind() == ActionKind::Forward && !isDeep[replica])
        ++depths[replica];
      isDeep[replica] =
          isDeep[replica] || (action.traits().makes & inputGradDone);
    }
    // [replica]: the smallest depth in its segment, from the replica on.
    std::vector<int32_t> least = depths;
    for (auto edge = problem.edges.rbegin(); edge != problem.edges.rend();
         ++edge)
      if (edge->producer == ActionKind::Recompute)
        least[edge->from] = std::min(least[edge->from], least[edge->to]);
    for (int32_t replica = 0; replica < problem.numReplicas(); ++replica)
      if (leads[replica] > 0)
        leads[replica] =
            std::max(leads[replica], depths[replica] - least[replica]);
  }

  int32_t of(int32_t replica) const { return leads[replica]; }

private:
  std::vector<int32_t> leads;
};

/// The micro-batches of one replica that need R, and how many are written.
struct Pending {
  /// Micro-batches in the order of their backwards.
  std::vector<int64_t> microbatches;
  /// Number of backwards that have begun, and number of R that are written.
  size_t backwards = 0, written = 0;
};

bool needsRecomputation(const Problem &problem, Action action) {
  return (action.traits().makes & inputGradDone) &&
         problem.recomputes(static_cast<int32_t>(action.subject));
}

std::vector<Pending> pendingOf(const Problem &problem,
                               const Schedule &schedule) {
  std::vector<Pending> pending(problem.numReplicas());
  for (Action action : schedule.all())
    for (int64_t i = 0;
         needsRecomputation(problem, action) && i < int64_t(action.count); ++i)
      pending[action.subject].microbatches.push_back(action.index + i);
  return pending;
}

/// Writes the R of a whole segment together. It visits tasks in the time order
/// of a schedule without R, so that no wait cycle can occur, whatever stages
/// share a rank.
class SegmentWriter {
public:
  /// `plain` has the times of the schedule in withoutRecomputation(). R of a
  /// segment precedes the segment's first backward, by `lead` micro-batches if
  /// their F have run.
  SegmentWriter(const Problem &problem, const Schedule &schedule,
                const Simulation &plain, int32_t lead)
      : problem(problem), schedule(schedule), plain(plain), lead(lead),
        distances(distancesInSegments(problem)),
        pending(pendingOf(problem, schedule)), feeders(problem.numReplicas()),
        orders(schedule.numRanks()), isForwardDone(numTasks()),
        isWritten(numTasks()) {
    for (const Edge &edge : problem.edges)
      if (edge.producer == ActionKind::Recompute)
        feeders[edge.to].push_back(edge.from);
  }

  Schedule run() {
    // Ordered by start. Among tasks that take no time, F come first, by
    // ascending stage, then the others by descending stage.
    using Key = std::tuple<int64_t, bool, int64_t, int32_t>;
    std::priority_queue<Key, std::vector<Key>, std::greater<Key>> fronts;
    std::vector<int64_t> next(schedule.numRanks(), 0);
    auto push = [&](int32_t rank) {
      if (next[rank] == int64_t(schedule.rank(rank).size()))
        return;
      const Action action = schedule.rank(rank)[next[rank]];
      const bool isForward = action.kind() == ActionKind::Forward;
      const auto replica = static_cast<int64_t>(action.subject);
      fronts.push({plain.startNs[schedule.rankBegin(rank) + next[rank]],
                   !isForward, isForward ? replica : -replica, rank});
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
    return int64_t(problem.numReplicas()) * problem.microbatches;
  }
  int64_t numberOf(int32_t replica, int64_t microbatch) const {
    return int64_t(replica) * problem.microbatches + microbatch;
  }

  void take(int32_t rank, Action action) {
    const auto replica = static_cast<int32_t>(action.subject);
    if (action.kind() == ActionKind::Forward)
      isForwardDone[numberOf(replica, int64_t(action.index))] = true;
    const bool isBackward = needsRecomputation(problem, action);
    if (isBackward)
      for (int64_t i = 0; i < int64_t(action.count); ++i)
        write(replica, int64_t(action.index) + i);
    orders[rank].push_back(action);
    if (!isBackward)
      return;
    Pending &of = pending[replica];
    of.backwards += action.count;
    const bool isLast =
        problem.recomputesAcross(replica) && distances[replica] == 0;
    const size_t wanted =
        std::min(of.microbatches.size(), of.backwards + size_t(lead));
    for (size_t i = of.backwards; isLast && i < wanted; ++i) {
      if (!isForwardDone[numberOf(replica, of.microbatches[i])])
        break;
      write(replica, of.microbatches[i]);
    }
  }

  /// Writes R of a replica, preceded by the R that make its input.
  void write(int32_t replica, int64_t microbatch) {
    if (isWritten[numberOf(replica, microbatch)])
      return;
    isWritten[numberOf(replica, microbatch)] = true;
    for (int32_t from : feeders[replica])
      write(from, microbatch);
    orders[problem.rankOf(replica)].push_back(
        Action(ActionKind::Recompute, replica, microbatch));
  }

  const Problem &problem;
  const Schedule &schedule;
  const Simulation &plain;
  const int32_t lead;
  const std::vector<int32_t> distances;
  std::vector<Pending> pending;
  /// [replica]: the replicas whose R makes the input of its R.
  std::vector<std::vector<int32_t>> feeders;
  std::vector<std::vector<Action>> orders;
  std::vector<bool> isForwardDone, isWritten;
};

/// The fastest order within the caps among leads 0, 1, 2, 4, ...; lead 0 if
/// none fits.
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
  std::vector<bool> isForwardDone(size_t(problem.numReplicas()) *
                                  problem.microbatches);
  Schedule result;
  for (int32_t rank = 0; rank < schedule.numRanks(); ++rank) {
    for (Action action : schedule.rank(rank)) {
      const auto replica = static_cast<int32_t>(action.subject);
      const int64_t begin = int64_t(replica) * problem.microbatches;
      if (action.kind() == ActionKind::Forward)
        isForwardDone[begin + int64_t(action.index)] = true;
      if (isBackward(action)) {
        Pending &of = pending[replica];
        of.backwards += action.count;
        const size_t wanted =
            std::min(of.microbatches.size(), of.backwards + leads.of(replica));
        for (; of.written < wanted; ++of.written) {
          const int64_t microbatch = of.microbatches[of.written];
          if (of.written >= of.backwards && !isForwardDone[begin + microbatch])
            break;
          result.append(Action(ActionKind::Recompute, replica, microbatch));
        }
      }
      result.append(action);
    }
    result.endRank();
  }
  // With R across stages there are no link orders, since the given ones do not
  // include R's messages.
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
