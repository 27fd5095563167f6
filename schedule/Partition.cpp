//===- Partition.cpp - Cuts a chain of layers into stages -----------------===//

#include "schedule/Partition.h"

#include "schedule/Problem.h"

#include <algorithm>
#include <limits>
#include <map>

using namespace rondo;

namespace {

constexpr int64_t none = std::numeric_limits<int64_t>::max();

/// A cut of the layers before `end` into the stages so far.
struct Label {
  int32_t end = 0;
  int32_t parent = -1;
  /// Work, and bytes where there are caps, of the ranks that get more stages,
  /// by rank. Cuts with equal ends and open ranks are alike.
  std::vector<int64_t> open;
  int64_t busiest = 0;
  /// What no completion's busiest rank is below.
  int64_t bound = 0;
  /// Of the stages' work: less is more even.
  double squares = 0;

  bool isLike(const Label &other) const {
    return end == other.end && open == other.open;
  }
  /// Like ones side by side, the best of them first.
  bool operator<(const Label &other) const {
    if (end != other.end)
      return end < other.end;
    if (open != other.open)
      return open < other.open;
    return isBetterThan(other);
  }
  bool isBetterThan(const Label &other) const {
    return busiest != other.busiest ? busiest < other.busiest
                                    : squares < other.squares;
  }
};

class Cutter {
public:
  explicit Cutter(const PartitionInput &input)
      : input(input), stages(input.rankOfStage.size()),
        layers(input.bytes.size()) {
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
    hasCaps = std::any_of(input.memoryCaps.begin(), input.memoryCaps.end(),
                          [](int64_t cap) { return cap != noMemoryCap; });
    for (int32_t s = 0; s < stages; ++s)
      lastStageOf[input.rankOfStage[s]] = s;
  }

  /// Whether the last run() left nothing out.
  bool lookedAtAll() const { return isExact; }

  /// The best cut whose busiest rank is not above `limit`.
  std::optional<Partition> run(int64_t limit, int64_t maxLabels) {
    std::vector<std::vector<Label>> all(stages + 1);
    all[0].resize(1);
    std::vector<int32_t> openRanks;
    for (const auto &entry : lastStageOf)
      openRanks.push_back(entry.first);
    all[0][0].open.assign(openRanks.size() * (hasCaps ? 2 : 1), 0);
    isExact = true;
    for (int32_t stage = 0; stage < stages; ++stage) {
      std::vector<Label> &next = all[stage + 1];
      for (size_t i = 0; i < all[stage].size(); ++i)
        extend(all[stage][i], static_cast<int32_t>(i), stage, openRanks, limit,
               next);
      // Of what is done only the way back is needed.
      for (Label &label : all[stage])
        label.open = std::vector<int64_t>();
      const int32_t rank = input.rankOfStage[stage];
      if (lastStageOf[rank] == stage)
        openRanks.erase(std::find(openRanks.begin(), openRanks.end(), rank));
      std::sort(next.begin(), next.end());
      next.erase(std::unique(next.begin(), next.end(),
                             [](const Label &x, const Label &y) {
                               return x.isLike(y);
                             }),
                 next.end());
      isExact &= keepBest(next, maxLabels);
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

  /// `openRanks` are those of `label`; the stage's own is among them.
  void extend(const Label &label, int32_t parent, int32_t stage,
              const std::vector<int32_t> &openRanks, int64_t limit,
              std::vector<Label> &next) const {
    const int32_t rank = input.rankOfStage[stage];
    const bool isLast = stage + 1 == stages;
    const bool closes = lastStageOf.at(rank) == stage;
    const size_t width = hasCaps ? 2 : 1;
    const size_t place =
        width * (std::find(openRanks.begin(), openRanks.end(), rank) -
                 openRanks.begin());
    const int64_t before = label.open[place];
    int64_t others = -before;
    for (size_t k = 0; k < label.open.size(); k += width)
      others += label.open[k];
    const int64_t numOpen = int64_t(openRanks.size()) - closes;
    const int32_t last = layers - (stages - stage - 1);
    for (int32_t end = isLast ? layers : label.end + 1; end <= last; ++end) {
      const int64_t own = workBefore[rank][end] - workBefore[rank][label.end];
      const int64_t busiest = std::max(label.busiest, before + own);
      int64_t bytes = 0;
      if (hasCaps) {
        bytes =
            label.open[place + 1] + bytesBefore[end] - bytesBefore[label.end];
        if (bytes > input.memoryCaps[rank])
          return;
      }
      if (busiest > limit)
        return;
      int64_t bound = busiest;
      if (numOpen > 0) {
        int64_t sum = others + leastAfter[end] + (closes ? 0 : before + own);
        bound = std::max(bound, (sum + numOpen - 1) / numOpen);
      }
      if (bound > limit)
        continue;
      Label longer;
      longer.end = end;
      longer.parent = parent;
      longer.open = label.open;
      auto at = longer.open.begin() + place;
      if (closes) {
        longer.open.erase(at, at + width);
      } else {
        at[0] = before + own;
        if (hasCaps)
          at[1] = bytes;
      }
      longer.busiest = busiest;
      longer.bound = bound;
      longer.squares = label.squares + double(own) * double(own);
      next.push_back(std::move(longer));
    }
  }

  const PartitionInput &input;
  const int32_t stages, layers;
  bool hasCaps = false, isExact = true;
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
  // A quick cut is as even as can be seen; then only a better one is looked
  // for.
  const int64_t quickLabels = std::min<int64_t>(maxLabels, 64);
  std::optional<Partition> best = cutter.run(none, quickLabels);
  while (!best || !best->isExact) {
    std::optional<Partition> better =
        cutter.run(best ? best->busiestNs - 1 : none, maxLabels);
    if (better)
      best = better;
    else if (best)
      best->isExact = cutter.lookedAtAll();
    if (!better)
      return best;
  }
  return best;
}
