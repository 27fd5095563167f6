//===- WorkingPlan.cpp - A plan that changes in small steps ---------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "planning/chain/WorkingPlan.h"

using namespace rondo;

WorkingPlan::WorkingPlan(const ChainProblem &problem, const ChainPlan &plan) {
  std::vector<bool> isUsed(problem.numDevices(), false);
  for (const ChainStage &stage : plan) {
    row.insert(row.end(), stage.devices.begin(), stage.devices.end());
    for (int32_t device : stage.devices)
      isUsed[device] = true;
    Stage added;
    added.end = stage.end;
    added.devicesEnd = static_cast<int32_t>(row.size());
    stages.push_back(added);
  }
  for (int32_t device = 0; device < problem.numDevices(); ++device)
    if (!isUsed[device])
      row.push_back(device);
}

ChainPlan WorkingPlan::plan() const {
  ChainPlan plan;
  for (int32_t n = 0; n < numStages(); ++n)
    plan.push_back(
        {first(n),
         end(n),
         {row.begin() + devicesBegin(n), row.begin() + devicesEnd(n)}});
  return plan;
}

void WorkingPlan::forget(int32_t group) {
  if (group < numStages())
    stages[group].knowsWithin = stages[group].knowsNext = false;
  if (group > 0)
    stages[group - 1].knowsNext = false;
}

void WorkingPlan::moveDevice(int32_t from, int32_t place, int32_t to) {
  const auto at = row.begin() + devicesBegin(from) + place;
  // The device moves past the groups in between.
  if (from < to) {
    std::rotate(at, at + 1, row.begin() + devicesEnd(to));
    for (int32_t n = from; n < to; ++n)
      --stages[n].devicesEnd;
  } else {
    std::rotate(row.begin() + devicesEnd(to), at, at + 1);
    for (int32_t n = to; n < from; ++n)
      ++stages[n].devicesEnd;
  }
  forget(from);
  forget(to);
}

void WorkingPlan::swapDevices(int32_t group, int32_t place, int32_t other,
                              int32_t otherPlace) {
  std::swap(row[devicesBegin(group) + place],
            row[devicesBegin(other) + otherPlace]);
  forget(group);
  forget(other);
}

void WorkingPlan::swapGroups(int32_t stage, int32_t other) {
  const int32_t left = std::min(stage, other), right = std::max(stage, other);
  const auto begin = row.begin() + devicesBegin(left),
             end = row.begin() + devicesEnd(right);
  const int32_t leftCount = numDevices(left), rightCount = numDevices(right);
  // (left, between, right) becomes (right, between, left): reverse the whole,
  // then each part.
  std::reverse(begin, end);
  std::reverse(begin, begin + rightCount);
  std::reverse(begin + rightCount, end - leftCount);
  std::reverse(end - leftCount, end);
  for (int32_t n = left; n < right; ++n)
    stages[n].devicesEnd += rightCount - leftCount;
  forget(left);
  forget(right);
}

void WorkingPlan::split(int32_t stage, int32_t layers, int32_t count,
                        bool toLast) {
  const auto begin = row.begin() + devicesBegin(stage),
             end = row.begin() + devicesEnd(stage);
  if (toLast)
    std::rotate(begin, end - count, end);
  Stage added;
  added.end = first(stage) + layers;
  added.devicesEnd = devicesBegin(stage) + count;
  stages.insert(stages.begin() + stage, added);
  forget(stage);
  forget(stage + 1);
}

void WorkingPlan::merge(int32_t stage) {
  stages.erase(stages.begin() + stage);
  forget(stage);
}

void WorkingPlan::sortDevices(const std::vector<int32_t> &place) {
  for (int32_t n = 0; n <= numStages(); ++n)
    std::sort(row.begin() + devicesBegin(n), row.begin() + devicesEnd(n),
              [&](int32_t a, int32_t b) { return place[a] < place[b]; });
}

void WorkingPlan::times(const ChainProblem &problem, const ChainCosts &costs,
                        std::vector<StageNs> &result) {
  result.resize(stages.size());
  for (int32_t n = 0; n < numStages(); ++n) {
    Stage &stage = stages[n];
    StageNs &ns = result[n];
    const int32_t begin = first(n), r = numDevices(n);
    if (!stage.knowsWithin) {
      stage.within = linkWithin(problem, devices(n), r);
      stage.weakest = weakestOf(problem, devices(n), r);
      stage.knowsWithin = true;
    }
    const int64_t speed = stage.weakest.speedPercent;
    ns.forward = costs.forwardNs(begin, stage.end, r, speed);
    ns.backward = costs.backwardNs(begin, stage.end, r, speed);
    ns.allReduce = costs.allReduceNs(begin, stage.end, r, stage.within);
    ns.send = ns.sendBack = 0;
    if (n + 1 == numStages())
      continue;
    const int32_t other = numDevices(n + 1);
    if (!stage.knowsNext) {
      stage.toNext = linkBetween(problem, devices(n), r, devices(n + 1), other);
      stage.knowsNext = true;
    }
    const GroupLink &link = stage.toNext;
    ns.send = costs.messageNs(stage.end, r, other, link.rate, link.latencyNs,
                              link.inTurn);
    ns.sendBack = costs.messageNs(stage.end, r, other, link.rateBack,
                                  link.latencyNs, link.inTurn);
  }
}

int64_t WorkingPlan::memoryBytes(const ChainCosts &costs) const {
  int64_t most = 0;
  for (int32_t n = 0; n < numStages(); ++n)
    most = std::max(most, costs.memoryBytes(first(n), end(n), numDevices(n),
                                            numStages() - n - 1));
  return most;
}

int64_t WorkingPlan::neededBytes(const ChainProblem &problem,
                                 const ChainCosts &costs) const {
  if (problem.memoryLess.empty())
    return memoryBytes(costs);
  int64_t most = 0;
  for (int32_t n = 0; n < numStages(); ++n)
    most = std::max(
        most, costs.memoryBytes(first(n), end(n), numDevices(n),
                                numStages() - n - 1) +
                  weakestOf(problem, devices(n), numDevices(n)).memoryLess);
  return most;
}

bool WorkingPlan::operator==(const WorkingPlan &other) const {
  if (row != other.row || stages.size() != other.stages.size())
    return false;
  for (size_t n = 0; n < stages.size(); ++n)
    if (stages[n].end != other.stages[n].end ||
        stages[n].devicesEnd != other.stages[n].devicesEnd)
      return false;
  return true;
}
