//===- CopyAreas.cpp - What copies take off a rank's memory ---------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "schedule/bounds/CopyAreas.h"

#include <algorithm>
#include <cmath>
#include <limits>

using namespace rondo;

Problem rondo::withLeastBytes(const Problem &problem) {
  Problem least = problem.withoutCopies();
  std::fill(least.memoryCaps.begin(), least.memoryCaps.end(), noMemoryCap);
  const int64_t rows = least.unevenCosts.empty() ? 1 : least.microbatches;
  for (int32_t s = 0; s < problem.numReplicas(); ++s)
    for (int64_t i = 0; i < rows; ++i) {
      const auto costOf = [&](ActionKind kind) -> Cost & {
        return least.unevenCosts.empty()
                   ? least.cost(s, kind)
                   : least.unevenCosts[(s * numCostColumns + costColumn(kind)) *
                                           rows +
                                       i];
      };
      Cost &forward = costOf(ActionKind::Forward),
           &inputGrad = costOf(ActionKind::InputGrad),
           &weightGrad = costOf(ActionKind::WeightGrad),
           &fused = costOf(ActionKind::Backward);
      const bool mayCopy = problem.hostMemory.mayCopy(s),
                 isSimple =
                     !problem.recomputes(s) && forward.releaseBytes == 0 &&
                     inputGrad.acquireBytes == 0 &&
                     weightGrad.acquireBytes == 0 && fused.acquireBytes == 0;
      const int64_t all = forward.acquireBytes,
                    copied =
                        mayCopy
                            ? problem.cost(s, ActionKind::Save, i).releaseBytes
                            : 0,
                    copiedAfter = mayCopy && *problem.hostMemory.loads[s] ==
                                                 LoadBefore::WeightGrad
                                      ? copied
                                      : 0,
                    held = isSimple ? std::max<int64_t>(0, all - copied) : 0,
                    heldAfter = std::clamp<int64_t>(
                        all - inputGrad.releaseBytes - copiedAfter, 0, held);
      for (const ActionKind kind :
           {ActionKind::Forward, ActionKind::Recompute, ActionKind::InputGrad,
            ActionKind::WeightGrad, ActionKind::Backward})
        costOf(kind).acquireBytes = costOf(kind).releaseBytes = 0;
      forward.acquireBytes = held;
      inputGrad.releaseBytes = held - heldAfter;
      weightGrad.releaseBytes = heldAfter;
      fused.releaseBytes = held;
      const int32_t rank = problem.rankOf(s);
      int64_t &cap = least.memoryCaps[rank];
      if (held > 0 && problem.memoryCaps[rank] != noMemoryCap)
        cap = std::max(cap == noMemoryCap ? 0 : cap,
                       problem.memoryCaps[rank] - all + held);
    }
  return least;
}

CopySupply CopySupply::of(const Problem &problem, const FlatProblem &flat,
                          const Propagation &propagation, int32_t rank,
                          ActionKind copy) {
  CopySupply supply;
  supply.eachNs = never;
  for (const int32_t s : flat.stagesOf[rank]) {
    const int64_t bytes = problem.cost(s, ActionKind::Save).releaseBytes;
    if (!problem.hostMemory.mayCopy(s) || bytes == 0)
      continue;
    const bool isSave = copy == ActionKind::Save;
    const Task task = isSave ? Task::F
                      : *problem.hostMemory.loads[s] == LoadBefore::WeightGrad
                          ? Task::W
                          : Task::I;
    const auto &outside =
        isSave ? propagation.heads(task) : propagation.tails(task);
    for (int32_t k = 0; k < flat.microbatches; ++k)
      supply.firstNs =
          std::min(supply.firstNs, outside[flat.at(s, k)] + flat.ns[task][s]);
    supply.eachNs = std::min(supply.eachNs, problem.cost(s, copy).ns);
    supply.bytes = std::max(supply.bytes, bytes);
    supply.most += bytes * problem.microbatches;
  }
  supply.most = std::min(supply.most, problem.hostMemory.cap(rank));
  return supply;
}

CopyAreas::CopyAreas(const Problem &problem, const FlatProblem &flat,
                     const std::vector<int64_t> &roundTrips,
                     const std::vector<int64_t> &heads, int64_t microbatches)
    : problem(problem), microbatches(microbatches), ranks(flat.ranks) {
  for (int32_t r = 0; r < flat.ranks; ++r) {
    Rank &rank = ranks[r];
    rank.isHalf = problem.hostMemory.isHalf(r);
    rank.hostCap = problem.hostMemory.cap(r);
    int64_t firstNs = never, lastNs = never, leastSaveNs = never,
            leastLoadNs = never;
    for (const int32_t s : flat.stagesOf[r]) {
      if (!problem.hostMemory.mayCopy(s))
        continue;
      const bool isLate =
          *problem.hostMemory.loads[s] == LoadBefore::WeightGrad;
      Stage stage;
      stage.bytes = problem.cost(s, ActionKind::Save).releaseBytes;
      stage.saveNs = problem.cost(s, ActionKind::Save).ns;
      stage.loadNs = problem.cost(s, ActionKind::Load).ns;
      const int64_t inputGradNs = flat.ns[Task::I][s];
      stage.awayNs =
          std::max<int64_t>(0, roundTrips[s] + (isLate ? inputGradNs : 0) -
                                   stage.saveNs - stage.loadNs);
      rank.applies &=
          stage.bytes <= flat.takes[s] - (isLate ? flat.inputGradFrees[s] : 0);
      if (stage.bytes > 0)
        rank.stages.push_back(stage);
      firstNs = std::min(firstNs, heads[s] + flat.ns[Task::F][s]);
      lastNs = std::min(lastNs, isLate ? flat.ns[Task::W][s] : inputGradNs);
      leastSaveNs = std::min(leastSaveNs, stage.saveNs);
      leastLoadNs = std::min(leastLoadNs, stage.loadNs);
    }
    if (rank.stages.empty())
      continue;
    rank.outsideSave = firstNs + leastLoadNs + lastNs;
    rank.outsideLoad = firstNs + leastSaveNs + lastNs;
    rank.outsideBoth = firstNs + lastNs;
  }
}

/// The most area of copies whose costs are within a limit: a knapsack whose
/// items can be cut, or with one stage a number of copies.
template <typename Cost>
double CopyAreas::within(const Rank &rank, double limit,
                         const Cost &costOf) const {
  if (limit <= 0)
    return 0;
  std::vector<std::pair<double, double>> items; // cost, area
  double free = 0;
  for (const Stage &stage : rank.stages) {
    const double cost = costOf(stage);
    if (cost <= 0)
      free += double(microbatches) * stage.area();
    else
      items.push_back({cost, stage.area()});
  }
  if (items.size() == 1)
    return free +
           std::min(double(microbatches), std::floor(limit / items[0].first)) *
               items[0].second;
  std::sort(items.begin(), items.end(), [](const auto &a, const auto &b) {
    return a.second * b.first > b.second * a.first;
  });
  for (const auto &[cost, area] : items) {
    const double copies = std::min(double(microbatches), limit / cost);
    free += copies * area;
    limit -= copies * cost;
  }
  return free;
}

double CopyAreas::most(int32_t number, int64_t horizon) const {
  const Rank &rank = ranks[number];
  if (rank.stages.empty())
    return 0;
  const auto lane = [&](int64_t outside) { return double(horizon - outside); };
  double area =
      rank.isHalf
          ? within(rank, lane(rank.outsideBoth),
                   [](const Stage &stage) {
                     return double(stage.saveNs + stage.loadNs);
                   })
          : std::min(
                within(rank, lane(rank.outsideSave),
                       [](const Stage &stage) { return double(stage.saveNs); }),
                within(rank, lane(rank.outsideLoad), [](const Stage &stage) {
                  return double(stage.loadNs);
                }));
  if (rank.hostCap == infinite)
    return area;
  // A copy that is away for a shorter time saves no more per byte on the host.
  double ratio = 0;
  for (const Stage &stage : rank.stages)
    if (stage.hostArea() > 0)
      ratio = std::max(ratio, stage.area() / stage.hostArea());
    else
      return area;
  return std::min(area,
                  ratio * double(rank.hostCap) *
                      double(std::max<int64_t>(0, horizon - rank.outsideBoth)));
}
