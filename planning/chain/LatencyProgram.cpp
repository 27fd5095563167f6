//===- LatencyProgram.cpp - Plans of the shortest way ---------------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "planning/chain/LatencyProgram.h"

#include <algorithm>

using namespace rondo;

LatencyProgram::LatencyProgram(const ChainProblem &problem,
                               const OrderedGroups &groups,
                               PlanEvaluator evaluator,
                               std::vector<int32_t> cutList)
    : problem(problem), groups(groups), evaluator(evaluator),
      cuts(std::move(cutList)), costs(problem),
      C(static_cast<int32_t>(cuts.size()) - 1), U(groups.numUnits()),
      rest(at(C, U, U) + 1) {
  for (int64_t speed : problem.speedPercent)
    fastest = std::min(fastest, 100 / static_cast<double>(speed));
}

bool LatencyProgram::fits(int32_t cut, int32_t next, int32_t first, int32_t end,
                          int32_t stages) const {
  if (problem.memoryBytes == 0)
    return true;
  return costs.memoryBytes(cuts[cut], cuts[next],
                           (end - first) * groups.devicesPerUnit(),
                           stages - 1) <=
         problem.memoryBytes - groups.weakest(first, end).memoryLess;
}

/// What an iteration takes beyond the way of one micro-batch, as far as one
/// stage and the boundary behind it say; see PlanTimer::leastNs(), which has
/// the same bounds with the way included. `below`: the way behind the stage's F
/// until its B.
double LatencyProgram::steadyNs(const Part &part, double below,
                                int32_t stages) const {
  const double M = problem.microbatches, own = part.forward + part.backward;
  double steady = std::max((M - 1) * part.backward, (M - 1) * own - below);
  if (evaluator == PlanEvaluator::OneFOneB) {
    const int32_t underWay = std::min(problem.microbatches, stages);
    steady = std::max(
        {steady, (M - 1) * part.backward + (M - underWay) * part.forward,
         ((problem.microbatches - 1) / underWay) * (own + below)});
  }
  const double there = part.send, back = part.sendBack;
  return std::max(steady,
                  evaluator == PlanEvaluator::Spp
                      ? (M - 1) * (there + back) - (below - there - back)
                      : (M - 1) * std::max(there, back));
}

/// Puts a stage [cut, next) in front of all that is known of the layers behind
/// it.
void LatencyProgram::extend(int32_t cut, int32_t next, const Limits &limits) {
  const double M = problem.microbatches;
  const int32_t unit = groups.devicesPerUnit();
  const auto forward =
                 static_cast<double>(costs.forwardNs(cuts[cut], cuts[next])),
             backward =
                 static_cast<double>(costs.backwardNs(cuts[cut], cuts[next]));
  const auto backBefore = static_cast<double>(costs.backwardNs(0, cuts[cut]));
  const auto parameters =
      static_cast<double>(costs.parameterBytes(cuts[cut], cuts[next]));
  const bool isLast = next == C;
  const double bytes =
      isLast ? 0 : 1000. * static_cast<double>(costs.boundaryBytes(cuts[next]));
  for (int32_t count = 1; count <= U; ++count) {
    const int32_t devices = count * unit;
    const double share = costs.share(devices);
    // Too much even for the fastest device.
    if (share * fastest * (forward + M * backward) > limits.timeNs ||
        share * fastest * (M - 1) * backward > limits.steadyNs)
      continue;
    // Backwards of the layers in front hide sums.
    const double hidden = backBefore * share;
    auto lengthOf = [hidden](double way, double late) {
      return way + std::max(0., late - hidden);
    };
    for (int32_t end = isLast ? U : U - 1; end >= count; --end) {
      const int32_t first = end - count;
      const double scaled =
          share * 100 /
          static_cast<double>(groups.weakest(first, end).speedPercent);
      Part part = {forward * scaled, backward * scaled};
      const double own = part.forward + part.backward;
      if (own + (M - 1) * part.backward > limits.timeNs ||
          (M - 1) * part.backward > limits.steadyNs)
        continue;
      double allReduce = 0;
      if (devices > 1) {
        const GroupLink &link = groups.within(first, end);
        allReduce =
            2. * (devices - 1) *
            (static_cast<double>(link.latencyNs) +
             1000. * parameters / (devices * static_cast<double>(link.rate)));
      }
      if (M * own + allReduce > limits.timeNs)
        continue;
      Rest &best = rest[at(cut, first, count)];
      if (isLast) {
        const double length = lengthOf(own, allReduce),
                     steady = steadyNs(part, 0, 1);
        if (end == U && length < best.length && steady <= limits.steadyNs &&
            fits(cut, next, first, end, 1))
          best = {length, own, steady, allReduce, static_cast<int16_t>(next),
                  0,      1};
        continue;
      }
      for (int32_t other = 1; other <= U - end; ++other) {
        const Rest &behind = rest[at(next, end, other)];
        if (own + behind.way >= best.length)
          continue;
        const GroupLink &link = groups.across(first, end, end + other);
        const double sent = bytes * costs.messageShare(devices, other * unit,
                                                       link.inTurn),
                     latency = static_cast<double>(link.latencyNs);
        part.send = latency + sent / static_cast<double>(link.rate);
        part.sendBack = latency + sent / static_cast<double>(link.rateBack);
        const double below = part.send + part.sendBack + behind.way,
                     late = std::max(allReduce, behind.late - part.backward -
                                                    part.sendBack),
                     length = lengthOf(own + below, late);
        if (length >= best.length)
          continue;
        const double steady =
            std::max(behind.steady, steadyNs(part, below, behind.stages + 1));
        if (steady > limits.steadyNs || length + steady > limits.timeNs ||
            !fits(cut, next, first, end, behind.stages + 1))
          continue;
        best = {length,
                own + below,
                steady,
                late,
                static_cast<int16_t>(next),
                static_cast<int16_t>(other),
                static_cast<int16_t>(behind.stages + 1)};
      }
    }
  }
}

std::vector<ChainPlan> LatencyProgram::solve(const Limits &limits,
                                             int32_t most) {
  std::fill(rest.begin(), rest.end(), Rest());
  for (int32_t cut = C - 1; cut >= 0; --cut)
    for (int32_t next = cut + 1; next <= C; ++next)
      extend(cut, next, limits);
  struct End {
    double estimate;
    int32_t first, count;
  };
  std::vector<End> ends;
  for (int32_t first = 0; first < U; ++first)
    for (int32_t count = 1; first + count <= U; ++count) {
      const Rest &all = rest[at(0, first, count)];
      if (all.length < infinite)
        ends.push_back({all.length + all.steady, first, count});
    }
  std::sort(ends.begin(), ends.end(),
            [](const End &a, const End &b) { return a.estimate < b.estimate; });
  ends.resize(std::min<size_t>(ends.size(), most));
  std::vector<ChainPlan> found;
  for (const End &end : ends)
    found.push_back(planFrom(end.first, end.count));
  return found;
}

ChainPlan LatencyProgram::planFrom(int32_t first, int32_t count) const {
  ChainPlan plan;
  for (int32_t cut = 0; cut < C;) {
    const Rest &here = rest[at(cut, first, count)];
    plan.push_back(
        {cuts[cut], cuts[here.nextCut], groups.devices(first, first + count)});
    cut = here.nextCut;
    first += count;
    count = here.nextUnits;
  }
  return plan;
}
