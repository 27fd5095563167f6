//===- Partition.cpp - Cuts a chain of layers into stages -----------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// A limit on the busiest rank leaves few cuts if it is near the lower bound of
// all cuts, so limits are tried from there upwards.
//
//===----------------------------------------------------------------------===//

#include "schedule/Partition.h"

#include "schedule/partition/Labels.h"
#include "schedule/partition/TwoChunks.h"

#include <algorithm>

using namespace rondo;
using namespace rondo::partition;

namespace {

/// Labels for the first cut, which others must beat.
constexpr int64_t quickLabels = 64;
/// Limits are tried until they are this close, as a part of the lower bound.
constexpr int64_t precision = 500;
/// Ways to give one rank its layers, for each label of the caller.
constexpr int64_t stepsPerLabel = 10000;

class Cutter {
public:
  Cutter(const PartitionInput &input, int64_t maxLabels)
      : layers(input), labels(input, layers),
        twoChunks(TwoChunks::of(input, layers)), maxLabels(maxLabels),
        least(layers.leastBusiest()), floor(least) {}

  std::optional<Partition> run() {
    // What is promising depends on the limit; without one it is hard to say.
    for (int64_t part : {64, 8, 1, 0}) {
      const int64_t limit = part > 0 ? least + least / part : infinite;
      keep(labels.run(limit, std::min(maxLabels, quickLabels)));
      if (best && isProved())
        return finish();
      if (best)
        break;
    }
    if (twoChunks && tryTwoChunks())
      return finish();
    narrow();
    return finish();
  }

private:
  bool isProved() const { return best->isExact || best->busiestNs <= least; }

  std::optional<Partition> finish() {
    if (best) {
      best->isExact = isProved();
      best->leastNs = best->isExact ? best->busiestNs : floor;
    }
    return best;
  }

  /// A run that left out nothing and had no limit from above is exact.
  template <typename Answer> void keep(Answer answer) {
    if (!answer.best || (best && answer.best->busiestNs > best->busiestNs))
      return;
    best = std::move(answer.best);
    best->isExact = answer.isExact;
  }

  /// Whether this gives the answer.
  bool tryTwoChunks() {
    int64_t steps = maxLabels * stepsPerLabel;
    // Close to the bound there is little to search; a cut that this finds under
    // any limit is the best of all.
    const int64_t most = best ? best->busiestNs : infinite;
    for (int64_t over = least / 256 + 1;; over *= 8) {
      const int64_t limit = over < (most - least) / 8 ? least + over : most;
      TwoChunks::Answer answer = twoChunks->run(limit, steps);
      if (!answer.isExact) {
        keep(answer);
        return false;
      }
      if (answer.best) {
        best = std::move(answer.best);
        return true;
      }
      if (limit == most)
        return true;
      floor = std::max(floor, limit + 1);
    }
  }

  /// Bisects the limit. What a run that was cut off does not find may still
  /// exist.
  void narrow() {
    int64_t below = least;
    bool isCertain = true;
    if (!best) {
      Labels::Answer answer = labels.run(infinite, maxLabels);
      isCertain = answer.isExact;
      keep(std::move(answer));
    }
    while (best && below < best->busiestNs) {
      const int64_t most = best->busiestNs - 1;
      // More often than not the bound itself is reached.
      const int64_t limit = below == least ? least : below + (most - below) / 2;
      Labels::Answer answer = labels.run(limit, maxLabels);
      if (answer.best) {
        const bool isExact = answer.isExact;
        keep(std::move(answer));
        if (isExact)
          return;
        continue;
      }
      isCertain &= answer.isExact;
      below = limit + 1;
      if (isCertain)
        floor = std::max(floor, below);
      if (!isCertain && best->busiestNs - below < least / precision)
        return;
    }
    if (best && isCertain)
      best->isExact = true;
  }

  Layers layers;
  Labels labels;
  std::optional<TwoChunks> twoChunks;
  const int64_t maxLabels;
  /// No cut has a busiest rank below this.
  const int64_t least;
  /// The same, raised by limits under which nothing was found.
  int64_t floor;
  std::optional<Partition> best;
};

} // namespace

Result<Partition> rondo::partitionLayers(const PartitionInput &input,
                                         int64_t maxLabels) {
  const size_t stages = input.rankOfStage.size();
  if (stages > input.bytes.size())
    return makeFault<FaultKind::FewLayers>(stages, input.bytes.size());
  if (std::optional<Partition> best = Cutter(input, maxLabels).run())
    return std::move(*best);
  return makeFault<FaultKind::NoCut>(stages);
}
