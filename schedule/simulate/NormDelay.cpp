//===- NormDelay.cpp - Delay of the norm of all gradients -----------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "schedule/simulate/NormDelay.h"

#include "schedule/order/LastGradients.h"
#include "schedule/order/Repeating.h"

#include <algorithm>
#include <numeric>

using namespace rondo;

int64_t rondo::normNs(const Problem &problem) {
  if (problem.numReplicas() == 0)
    return 0;
  const int32_t root = problem.rankOf(0);
  int64_t to = 0, from = 0;
  for (int32_t replica = 0; replica < problem.numReplicas(); ++replica)
    if (const int32_t rank = problem.rankOf(replica); rank != root) {
      to = std::max(to, problem.linkBetween(rank, root).latencyNs);
      from = std::max(from, problem.linkBetween(root, rank).latencyNs);
    }
  return to + from;
}

namespace {

/// Positions of a rank's steps and of their gradients, indexed by iteration.
struct RankSteps {
  std::vector<int64_t> firstStep, lastStep, lastGradient;
};

class Finder {
public:
  Finder(const Problem &problem, const Schedule &schedule,
         const Simulation &simulation, const std::vector<int32_t> &replicas)
      : problem(problem), iterations(problem.iterations),
        isMember(problem.numReplicas(), false),
        firstStartNs(iterations, infinite), lastStepNs(iterations, 0),
        lastGradientNs(iterations, 0) {
    for (int32_t replica : replicas)
      isMember[replica] = true;
    for (int32_t r = 0; r < schedule.numRanks(); ++r)
      addRank(schedule, simulation, r);
  }

  bool isThere(int64_t delay, int64_t ns, MadeBy madeBy) const {
    for (int64_t t = 0; t + delay < counted(); ++t)
      if (!isMade(t, delay, ns, madeBy))
        return false;
    return true;
  }
  /// Iterations before the drain at the window's end. Delays of up to half of
  /// them can be determined.
  int64_t counted() const { return iterations - underWay; }

private:
  void addRank(const Schedule &schedule, const Simulation &simulation,
               int32_t r) {
    const ActionRange order = schedule.rank(r);
    if (order.empty())
      return;
    const int64_t begin = schedule.rankBegin(r),
                  each = problem.microbatchesEach();
    const LastGradients gradients(problem, order);
    RankSteps rank;
    rank.firstStep.assign(iterations, order.size());
    rank.lastStep.assign(iterations, -1);
    rank.lastGradient.assign(iterations, -1);
    int64_t begun = 0, ended = 0;
    for (int64_t i = 0; i < order.size(); ++i) {
      const int64_t t = iterationOf(order[i], each);
      begun = std::max(begun, t + 1);
      underWay = std::max(underWay, begun - ended);
      if (order[i].kind() != ActionKind::Step)
        continue;
      ended = std::max(ended, t);
      if (!isMember[order[i].subject])
        continue;
      rank.firstStep[t] = std::min(rank.firstStep[t], i);
      rank.lastStep[t] = i;
      const int64_t gradient = gradients.of(order[i].subject, t);
      rank.lastGradient[t] = std::max(rank.lastGradient[t], gradient);
      firstStartNs[t] =
          std::min(firstStartNs[t], simulation.startNs[begin + i]);
      lastStepNs[t] = std::max(lastStepNs[t], simulation.endNs[begin + i]);
      if (gradient >= 0)
        lastGradientNs[t] =
            std::max(lastGradientNs[t], simulation.endNs[begin + gradient]);
    }
    ranks.push_back(std::move(rank));
  }

  /// Whether no step of iteration t + delay waits for the sum of iteration t.
  bool isMade(int64_t t, int64_t delay, int64_t ns, MadeBy madeBy) const {
    const bool bySteps = madeBy == MadeBy::Steps;
    const int64_t madeNs = bySteps ? lastStepNs[t] : lastGradientNs[t];
    return madeNs + ns <= firstStartNs[t + delay] &&
           std::all_of(ranks.begin(), ranks.end(), [&](const RankSteps &rank) {
             const std::vector<int64_t> &made =
                 bySteps ? rank.lastStep : rank.lastGradient;
             return made[t] < rank.firstStep[t + delay];
           });
  }

  const Problem &problem;
  const int64_t iterations;
  /// Maximum number of iterations that a rank has begun and not ended.
  int64_t underWay = 1;
  std::vector<bool> isMember;
  /// [iteration]: first start and last end of the members' steps, and end of
  /// their last gradient, in ns.
  std::vector<int64_t> firstStartNs, lastStepNs, lastGradientNs;
  std::vector<RankSteps> ranks;
};

} // namespace

std::optional<int64_t> rondo::lateness(const Problem &problem,
                                       const Schedule &schedule,
                                       const Simulation &simulation,
                                       const std::vector<int32_t> &replicas,
                                       int64_t ns, MadeBy madeBy) {
  const Finder finder(problem, schedule, simulation, replicas);
  for (int64_t delay = 0; 2 * delay < finder.counted(); ++delay)
    if (finder.isThere(delay, ns, madeBy))
      return delay;
  return std::nullopt;
}

std::optional<int64_t> rondo::normDelay(const Problem &problem,
                                        const Schedule &schedule,
                                        const Simulation &simulation) {
  std::vector<int32_t> all(problem.numReplicas());
  std::iota(all.begin(), all.end(), 0);
  const Finder finder(problem, schedule, simulation, all);
  const int64_t ns = normNs(problem);
  for (int64_t delay = 0; 2 * delay < finder.counted(); ++delay)
    if (finder.isThere(delay, ns,
                       delay == 0 ? MadeBy::Gradients : MadeBy::Steps))
      return delay;
  return std::nullopt;
}
