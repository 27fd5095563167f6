//===- Partition.cpp - Cuts a chain of layers into stages -----------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// A limit on the busiest rank near the lower bound of all cuts leaves few cuts,
// so limits are tried upwards from the bound.
//
//===----------------------------------------------------------------------===//

#include "schedule/partition/Partition.h"

#include "schedule/partition/Labels.h"
#include "schedule/partition/TwoChunks.h"

#include <algorithm>

using namespace rondo;
using namespace rondo::partition;

namespace {

/// Maximum number of labels in the search for a first cut.
constexpr int64_t quickLabels = 64;
/// If labels are cut off, narrow() stops once its interval is below 1/precision
/// of the lower bound.
constexpr int64_t precision = 500;
/// Step budget of TwoChunks for each label of `maxLabels`.
constexpr int64_t stepsPerLabel = 10000;

class Cutter {
public:
  Cutter(const PartitionInput &input, int64_t maxLabels)
      : layers(input), labels(input, layers),
        twoChunks(TwoChunks::of(input, layers)), maxLabels(maxLabels),
        least(layers.leastBusiest()), floor(least) {}

  std::optional<Partition> run() {
    // The ranking of labels depends on the limit, so tight limits are tried
    // first: 1/64, 1/8 and 1 above the bound, then none.
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

  /// Replaces `best` by the answer's cut unless that is worse. The cut is exact
  /// if the answer is.
  template <typename Answer> void keep(Answer answer) {
    if (!answer.best || (best && answer.best->busiestNs > best->busiestNs))
      return;
    best = std::move(answer.best);
    best->isExact = answer.isExact;
  }

  /// Returns whether `best` is final.
  bool tryTwoChunks() {
    int64_t steps = maxLabels * stepsPerLabel;
    // Tries limits upwards from the lower bound: a tight limit leaves little to
    // search, and the first cut found under any limit is the best of all cuts.
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

  /// Bisects the limit. If a run cut off labels, a cut under its limit may
  /// exist although none was found.
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
      // The lower bound itself is usually reached, so it is tried first.
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
  /// Lower bound of the work of the busiest rank over all cuts.
  const int64_t least;
  /// `least`, raised by each limit under which no cut exists.
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
