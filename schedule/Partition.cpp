//===- Partition.cpp - Cuts a chain of layers into stages -----------------===//

#include "schedule/Partition.h"

#include <algorithm>
#include <limits>
#include <map>

using namespace rondo;

namespace {

constexpr int64_t none = std::numeric_limits<int64_t>::max();

/// A cut of the layers before `end` into the stages so far.
struct Label {
  int32_t end = 0;
  /// By rank; 0 for ranks that get no further stage.
  std::vector<int64_t> work, bytes;
  int64_t busiest = 0;
  /// What no completion's busiest rank is below.
  int64_t bound = 0;
  /// Of the stages' work: less is more even.
  double squares = 0;
  int32_t parent = -1;

  bool isBetterThan(const Label &other) const {
    return busiest != other.busiest ? busiest < other.busiest
                                    : squares < other.squares;
  }
};

class Cutter {
public:
  explicit Cutter(const PartitionInput &input)
      : input(input), stages(input.rankOfStage.size()),
        layers(input.bytes.size()), ranks(input.memoryCaps.size()) {
    for (const std::vector<int64_t> &row : input.workNs) {
      workBefore.emplace_back(1, 0);
      for (int64_t ns : row)
        workBefore.back().push_back(workBefore.back().back() + ns);
    }
    bytesBefore.push_back(0);
    for (int64_t bytes : input.bytes)
      bytesBefore.push_back(bytesBefore.back() + bytes);
    leastAfter.assign(layers + 1, 0);
    for (int32_t layer = layers; layer-- > 0;) {
      int64_t least = none;
      for (const std::vector<int64_t> &row : input.workNs)
        least = std::min(least, row[layer]);
      leastAfter[layer] = leastAfter[layer + 1] + least;
    }
    for (int32_t s = 0; s < stages; ++s)
      lastStageOf[input.rankOfStage[s]] = s;
  }

  /// The best cut whose busiest rank is not above `limit`.
  std::optional<Partition> run(int64_t limit, int64_t maxLabels) {
    std::vector<std::vector<Label>> all(stages + 1);
    all[0].resize(1);
    all[0][0].work.assign(ranks, 0);
    all[0][0].bytes.assign(ranks, 0);
    bool isExact = true;
    for (int32_t stage = 0; stage < stages; ++stage) {
      std::map<std::vector<int64_t>, Label> next;
      for (size_t i = 0; i < all[stage].size(); ++i)
        extend(all[stage][i], static_cast<int32_t>(i), stage, limit, next);
      for (auto &entry : next)
        all[stage + 1].push_back(std::move(entry.second));
      isExact &= keepBest(all[stage + 1], maxLabels);
    }
    if (all[stages].empty())
      return std::nullopt;
    const Label *best = &all[stages].front();
    for (const Label &label : all[stages])
      if (label.isBetterThan(*best))
        best = &label;
    Partition result;
    result.busiestNs = best->busiest;
    result.isExact = isExact;
    result.begins.assign(stages + 1, 0);
    for (int32_t stage = stages; stage > 0; --stage) {
      result.begins[stage] = best->end;
      best = &all[stage - 1][best->parent];
    }
    return result;
  }

private:
  /// False where labels were cut off.
  static bool keepBest(std::vector<Label> &labels, int64_t maxLabels) {
    if (static_cast<int64_t>(labels.size()) <= maxLabels)
      return true;
    std::stable_sort(
        labels.begin(), labels.end(), [](const Label &a, const Label &b) {
          return a.bound != b.bound ? a.bound < b.bound : a.squares < b.squares;
        });
    labels.resize(maxLabels);
    return false;
  }

  void extend(const Label &label, int32_t parent, int32_t stage, int64_t limit,
              std::map<std::vector<int64_t>, Label> &next) const {
    const int32_t rank = input.rankOfStage[stage];
    const int32_t isLast = stage + 1 == stages;
    const int32_t first = isLast ? layers : label.end + 1;
    const int32_t last = layers - (stages - stage - 1);
    for (int32_t end = std::max(first, label.end + 1); end <= last; ++end) {
      const int64_t own = workBefore[rank][end] - workBefore[rank][label.end];
      Label longer = label;
      longer.end = end;
      longer.parent = parent;
      longer.work[rank] += own;
      longer.bytes[rank] += bytesBefore[end] - bytesBefore[label.end];
      longer.busiest = std::max(label.busiest, longer.work[rank]);
      longer.squares += double(own) * double(own);
      if (longer.busiest > limit || longer.bytes[rank] > input.memoryCaps[rank])
        return;
      std::vector<int64_t> key = {end};
      int64_t open = 0, sum = leastAfter[end];
      for (const auto &[other, lastStage] : lastStageOf) {
        if (lastStage <= stage) {
          longer.work[other] = longer.bytes[other] = 0;
          continue;
        }
        ++open;
        sum += longer.work[other];
        key.push_back(longer.work[other]);
        key.push_back(longer.bytes[other]);
      }
      longer.bound = longer.busiest;
      if (open > 0)
        longer.bound = std::max(longer.bound, (sum + open - 1) / open);
      if (longer.bound > limit)
        continue;
      auto [it, isNew] = next.try_emplace(std::move(key), longer);
      if (!isNew && longer.isBetterThan(it->second))
        it->second = std::move(longer);
    }
  }

  const PartitionInput &input;
  const int32_t stages, layers, ranks;
  /// [rank][layer]: of the layers before it.
  std::vector<std::vector<int64_t>> workBefore;
  std::vector<int64_t> bytesBefore;
  /// By layer: the least work of it and all behind it.
  std::vector<int64_t> leastAfter;
  std::map<int32_t, int32_t> lastStageOf;
};

} // namespace

std::optional<Partition> rondo::partitionLayers(const PartitionInput &input,
                                                int64_t maxLabels) {
  if (input.rankOfStage.size() > input.bytes.size())
    return std::nullopt;
  Cutter cutter(input);
  // A quick cut limits the exact one.
  std::optional<Partition> quick =
      cutter.run(none, std::min<int64_t>(maxLabels, 64));
  std::optional<Partition> best =
      cutter.run(quick ? quick->busiestNs : none, maxLabels);
  return best ? best : quick;
}
