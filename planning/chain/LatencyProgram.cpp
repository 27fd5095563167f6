//===- LatencyProgram.cpp - Plans of the least path latency ---------------===//
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

/// A lower bound of an iteration's time beyond the path latency of one
/// micro-batch, from one stage and the boundary after it. PlanTimer::leastNs()
/// has the same bounds with the path latency included. `below`: the time from
/// the end of the stage's F to the begin of its B.
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

/// Adds stages of these layers before all known plans of the layers after them.
void LatencyProgram::extend(const Layers &layers, const Limits &limits) {
  const double M = problem.microbatches;
  const int32_t last = layers.next == C ? U : U - 1;
  for (int32_t count = 1; count <= U; ++count) {
    const double share = costs.share(count * groups.devicesPerUnit());
    // Skip: exceeds a limit even on the fastest device.
    if (share * fastest * (layers.forward + M * layers.backward) >
            limits.timeNs ||
        share * fastest * (M - 1) * layers.backward > limits.steadyNs)
      continue;
    for (int32_t end = last; end >= count; --end)
      addStage(layers, end - count, end, share, limits);
  }
}

void LatencyProgram::addStage(const Layers &layers, int32_t first, int32_t end,
                              double share, const Limits &limits) {
  const double M = problem.microbatches;
  const double scaled =
      share * 100 /
      static_cast<double>(groups.weakest(first, end).speedPercent);
  const Part part = {layers.forward * scaled, layers.backward * scaled};
  const double own = part.forward + part.backward;
  // Skip the division of allReduceNs() for stages that are too long anyway.
  if (own + (M - 1) * part.backward > limits.timeNs ||
      (M - 1) * part.backward > limits.steadyNs || M * own > limits.timeNs)
    return;
  const auto allReduce = static_cast<double>(costs.allReduceNs(
      cuts[layers.cut], cuts[layers.next],
      (end - first) * groups.devicesPerUnit(), groups.within(first, end)));
  if (M * own + allReduce > limits.timeNs)
    return;
  const Stage stage = {layers, first,     end,
                       part,   allReduce, layers.backwardsBefore * share};
  if (layers.next == C)
    addLast(stage, limits);
  else
    addBefore(stage, limits);
}

void LatencyProgram::addLast(const Stage &stage, const Limits &limits) {
  const int32_t cut = stage.layers.cut, next = stage.layers.next;
  Rest &best = rest[at(cut, stage.first, stage.end - stage.first)];
  const double own = stage.part.forward + stage.part.backward,
               length = stage.lengthOf(own, stage.allReduce),
               steady = steadyNs(stage.part, 0, 1);
  if (stage.end == U && length < best.length && steady <= limits.steadyNs &&
      fits(cut, next, stage.first, stage.end, 1)) {
    best.length = length;
    best.way = own;
    best.steady = steady;
    best.late = stage.allReduce;
    best.setNext(next, /*units=*/0, /*others=*/0);
  }
}

/// Adds a stage before each known plan of the layers after it.
void LatencyProgram::addBefore(const Stage &stage, const Limits &limits) {
  const Layers &layers = stage.layers;
  const int32_t first = stage.first, end = stage.end;
  const int32_t unit = groups.devicesPerUnit(), devices = (end - first) * unit;
  const double own = stage.part.forward + stage.part.backward;
  Rest &best = rest[at(layers.cut, first, end - first)];
  Part part = stage.part;
  for (int32_t other = 1; other <= U - end; ++other) {
    const Rest &behind = rest[at(layers.next, end, other)];
    if (own + behind.way >= best.length)
      continue;
    const GroupLink &link = groups.across(first, end, end + other);
    const double sent = layers.milliBytes *
                        costs.messageShare(devices, other * unit, link.inTurn),
                 latency = static_cast<double>(link.latencyNs);
    part.send = latency + sent / static_cast<double>(link.rate);
    part.sendBack = latency + sent / static_cast<double>(link.rateBack);
    const double below = part.send + part.sendBack + behind.way,
                 late = std::max(stage.allReduce,
                                 behind.late - part.backward - part.sendBack),
                 length = stage.lengthOf(own + below, late);
    if (length >= best.length)
      continue;
    const double steady =
        std::max(behind.steady, steadyNs(part, below, behind.stages + 1));
    if (steady > limits.steadyNs || length + steady > limits.timeNs ||
        !fits(layers.cut, layers.next, first, end, behind.stages + 1))
      continue;
    best.length = length;
    best.way = own + below;
    best.steady = steady;
    best.late = late;
    best.setNext(layers.next, other, behind.stages);
  }
}

std::vector<ChainPlan> LatencyProgram::solve(const Limits &limits,
                                             int32_t most) {
  std::fill(rest.begin(), rest.end(), Rest());
  for (int32_t cut = C - 1; cut >= 0; --cut)
    for (int32_t next = cut + 1; next <= C; ++next) {
      const int32_t first = cuts[cut], end = cuts[next];
      extend({cut, next, static_cast<double>(costs.forwardNs(first, end)),
              static_cast<double>(costs.backwardNs(first, end)),
              static_cast<double>(costs.backwardNs(0, first)),
              next == C
                  ? 0
                  : 1000. * static_cast<double>(costs.boundaryBytes(end))},
             limits);
    }
  struct End {
    double estimate;
    int32_t first, count;
  };
  std::vector<End> ends;
  for (int32_t first = 0; first < U; ++first)
    for (int32_t count = 1; first + count <= U; ++count) {
      const Rest &all = rest[at(0, first, count)];
      if (all.stages > 0)
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
