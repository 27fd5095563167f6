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

void CopyAreas::add(int32_t rank, const Copy &copy, int64_t limit) {
  ranks[rank].applies &= copy.bytes <= limit;
  if (copy.bytes > 0)
    ranks[rank].copies.push_back(copy);
}

void CopyAreas::add(const FlatProblem &flat,
                    const std::vector<int64_t> &roundTrips,
                    const std::vector<int64_t> &heads, int64_t microbatches) {
  for (int32_t s = 0; s < flat.stages; ++s) {
    if (!problem.hostMemory.mayCopy(s))
      continue;
    const Cost &save = problem.cost(s, ActionKind::Save);
    const bool isLate = *problem.hostMemory.loads[s] == LoadBefore::WeightGrad;
    const int64_t inputGradNs = flat.ns[Task::I][s];
    add(flat.rankOf[s],
        {save.releaseBytes, save.ns, problem.cost(s, ActionKind::Load).ns,
         roundTrips[s] + (isLate ? inputGradNs : 0),
         heads[s] + flat.ns[Task::F][s],
         isLate ? flat.ns[Task::W][s] : inputGradNs, microbatches},
        flat.takes[s] - (isLate ? flat.inputGradFrees[s] : 0));
  }
}

int64_t CopyAreas::leastHorizon(double least, double cap, int32_t rank) const {
  int64_t low = 0, high = int64_t(std::ceil(least));
  while (low < high) {
    const int64_t middle = low + (high - low) / 2;
    if (double(middle) >= least - most(rank, middle) / cap * (1 + 1e-9))
      high = middle;
    else
      low = middle + 1;
  }
  return low;
}

/// The most area of copies whose costs are within a limit: a knapsack whose
/// items can be cut, or with one stage a number of copies.
template <typename Cost>
double CopyAreas::within(const Rank &rank, double limit,
                         const Cost &costOf) const {
  if (limit <= 0)
    return 0;
  /// Cost and area of each, and their number.
  struct Item {
    double cost, area, count;
  };
  std::vector<Item> items;
  double free = 0;
  for (const Copy &copy : rank.copies) {
    const double cost = costOf(copy), count = double(copy.count);
    if (cost <= 0)
      free += count * copy.area();
    else
      items.push_back({cost, copy.area(), count});
  }
  if (items.size() == 1)
    return free + std::min(items[0].count, std::floor(limit / items[0].cost)) *
                      items[0].area;
  std::sort(items.begin(), items.end(), [](const Item &a, const Item &b) {
    return a.area * b.cost > b.area * a.cost;
  });
  for (const Item &item : items) {
    const double copies = std::min(item.count, limit / item.cost);
    free += copies * item.area;
    limit -= copies * item.cost;
  }
  return free;
}

/// The most that copies of a rank can save within `horizon` ns from the rank's
/// begin to its end, in bytes times ns.
double CopyAreas::most(int32_t number, int64_t horizon) const {
  const Rank &rank = ranks[number];
  if (rank.copies.empty())
    return 0;
  int64_t firstNs = never, lastNs = never, saveNs = never, loadNs = never;
  // A copy that is away for a shorter time saves no more per byte on the host.
  double ratio = 0;
  for (const Copy &copy : rank.copies) {
    firstNs = std::min(firstNs, copy.firstNs);
    lastNs = std::min(lastNs, copy.lastNs);
    saveNs = std::min(saveNs, copy.saveNs);
    loadNs = std::min(loadNs, copy.loadNs);
    if (copy.hostArea() > 0)
      ratio = std::max(ratio, copy.area() / copy.hostArea());
  }
  const double both = double(horizon - firstNs - lastNs);
  const double area =
      problem.hostMemory.isHalf(number)
          ? within(rank, both,
                   [](const Copy &copy) {
                     return double(copy.saveNs + copy.loadNs);
                   })
          : std::min(
                within(rank, both - double(loadNs),
                       [](const Copy &copy) { return double(copy.saveNs); }),
                within(rank, both - double(saveNs),
                       [](const Copy &copy) { return double(copy.loadNs); }));
  const int64_t hostCap = problem.hostMemory.cap(number);
  return hostCap == infinite
             ? area
             : std::min(area, ratio * double(hostCap) * std::max(0.0, both));
}
