//===- ExactPlans.cpp - Enumeration of all plans --------------------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "planning/chain/ExactPlans.h"

#include <map>

using namespace rondo;

ExactPlans::ExactPlans(const ChainProblem &problem, PlanEvaluator evaluator,
                       const CostToGo &rest)
    : problem(problem), evaluator(evaluator), costs(problem), rest(rest),
      timer(problem, evaluator), stages(problem.numDevices()) {
  const PlanMoves moves(problem);
  std::map<int32_t, std::vector<int32_t>> byClass;
  for (int32_t device = 0; device < problem.numDevices(); ++device)
    byClass[moves.classOf(device)].push_back(device);
  for (auto &[first, devices] : byClass)
    classes.push_back(std::move(devices));
}

ExactPlans::Result ExactPlans::find(int64_t known, int64_t maxStages,
                                    const std::function<bool()> &over) {
  best = {};
  knownNs = known;
  stagesLeft = maxStages;
  isOver = &over;
  inUse.assign(classes.size(), 0);
  best.isComplete = place(0, problem.numDevices());
  best.stagesTried = maxStages - stagesLeft;
  return std::move(best);
}

/// Tries all choices of the stage `depth` and of later ones. Returns false if
/// the search was cut short.
bool ExactPlans::place(int32_t depth, int32_t devicesLeft) {
  Stage &stage = stages[depth];
  stage.first = depth == 0 ? 0 : stages[depth - 1].end;
  stage.devices.clear();
  return choose(depth, 0, devicesLeft);
}

/// Tries all numbers of devices of each class from `nextClass` on.
bool ExactPlans::choose(int32_t depth, size_t nextClass, int32_t devicesLeft) {
  Stage &stage = stages[depth];
  if (nextClass == classes.size())
    return stage.devices.empty() || extend(depth, devicesLeft);
  const std::vector<int32_t> &devices = classes[nextClass];
  const int32_t used = inUse[nextClass];
  const size_t before = stage.devices.size();
  bool isComplete = true;
  for (int32_t count = 0;
       isComplete && used + count <= static_cast<int32_t>(devices.size());
       ++count) {
    stage.devices.resize(before);
    stage.devices.insert(stage.devices.end(), devices.begin() + used,
                         devices.begin() + used + count);
    inUse[nextClass] = used + count;
    isComplete = choose(depth, nextClass + 1, devicesLeft - count);
  }
  inUse[nextClass] = used;
  stage.devices.resize(before);
  return isComplete;
}

/// Tries all ends of the stage's layers.
bool ExactPlans::extend(int32_t depth, int32_t devicesLeft) {
  Stage &stage = stages[depth];
  const auto r = static_cast<int32_t>(stage.devices.size());
  stage.both = stage.there = stage.back = 0;
  if (depth > 0) {
    Stage &before = stages[depth - 1];
    const auto other = static_cast<int32_t>(before.devices.size());
    const GroupLink link = linkBetween(problem, before.devices.data(), other,
                                       stage.devices.data(), r);
    before.ns.send = costs.messageNs(stage.first, r, other, link.rate,
                                     link.latencyNs, link.inTurn);
    before.ns.sendBack = costs.messageNs(stage.first, r, other, link.rateBack,
                                         link.latencyNs, link.inTurn);
    stage.there = before.there + before.ns.forward + before.ns.send;
    stage.back = before.back + before.ns.backward + before.ns.sendBack;
    stage.both = stage.there + stage.back;
  }
  const GroupLink within = linkWithin(problem, stage.devices.data(), r);
  stage.weakest = weakestOf(problem, stage.devices.data(), r);
  const int64_t speed = stage.weakest.speedPercent;
  const int32_t L = problem.numLayers();
  for (stage.end = stage.first + 1; stage.end <= L; ++stage.end) {
    if (stagesLeft-- <= 0 || (stagesLeft % 64 == 0 && (*isOver)())) {
      stagesLeft = std::max<int64_t>(stagesLeft, 0);
      return false;
    }
    stage.ns = {costs.forwardNs(stage.first, stage.end, r, speed),
                costs.backwardNs(stage.first, stage.end, r, speed),
                costs.allReduceNs(stage.first, stage.end, r, within), 0, 0};
    // More layers take no less time.
    if (stage.both +
            problem.microbatches * (stage.ns.forward + stage.ns.backward) >=
        knownNs)
      break;
    if (!mayBeBetter(stage, devicesLeft))
      continue;
    if (stage.end == L)
      judge(depth + 1);
    else if (devicesLeft > 0 && !place(depth + 1, devicesLeft))
      return false;
  }
  return true;
}

bool ExactPlans::mayBeBetter(const Stage &stage, int32_t devicesLeft) const {
  const int64_t M = problem.microbatches;
  const auto r = static_cast<int32_t>(stage.devices.size());
  const int64_t own = stage.ns.forward + stage.ns.backward;
  if (stage.there + M * own + std::max(stage.back, stage.ns.allReduce) >=
      knownNs)
    return false;
  if (problem.memoryBytes > 0 &&
      costs.memoryBytes(stage.first, stage.end, r, 0) >
          problem.memoryBytes - stage.weakest.memoryLess)
    return false;
  if (stage.end == problem.numLayers())
    return true;
  return devicesLeft > 0 &&
         stage.both + own + M * rest.longestNs(stage.end, devicesLeft) <
             knownNs &&
         stage.both + stage.ns.forward +
                 rest.wayNs(stage.end, rest.sizes().rangeOf(r)) +
                 M * stage.ns.backward <
             knownNs;
}

void ExactPlans::judge(int32_t count) {
  times.clear();
  for (int32_t n = 0; n < count; ++n) {
    const Stage &stage = stages[n];
    if (problem.memoryBytes > 0 &&
        costs.memoryBytes(
            stage.first, stage.end, static_cast<int32_t>(stage.devices.size()),
            count - 1 - n) > problem.memoryBytes - stage.weakest.memoryLess)
      return;
    times.push_back(stage.ns);
  }
  times.back().send = times.back().sendBack = 0;
  const int64_t ns = timer.run(times, knownNs - 1);
  if (ns >= knownNs)
    return;
  knownNs = best.timeNs = ns;
  best.plan.clear();
  for (int32_t n = 0; n < count; ++n)
    best.plan.push_back({stages[n].first, stages[n].end, stages[n].devices});
}
