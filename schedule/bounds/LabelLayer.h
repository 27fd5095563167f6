//===- LabelLayer.h - Labels of equal depth ---------------------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#ifndef RONDO_SCHEDULE_BOUNDS_LABELLAYER_H
#define RONDO_SCHEDULE_BOUNDS_LABELLAYER_H

#include "schedule/bounds/RankChain.h"

#include <unordered_map>

namespace rondo {

/// How often each operation has run, then W: per stage, or for all together if
/// they are alike. All labels of one sum are made before the next.
using LabelCounts = std::array<int32_t, 3 * RankChain::maxStages>;

struct LabelCountsHash {
  size_t operator()(const LabelCounts &counts) const {
    uint64_t hash = 0;
    for (int32_t count : counts)
      hash = (hash ^ uint64_t(count)) * 0x9e3779b97f4a7c15u;
    return size_t(hash ^ (hash >> 32));
  }
};

/// What the numbers of a label are: its clock, the least cost of any
/// continuation, by operation when each micro-batch in flight can take it, the
/// oldest first, and when each returned slot can be used again.
struct LabelAt {
  enum : size_t { clock, cost, ready };
};

/// The labels of the same counts, with what follows from the counts alone.
struct LabelGroup {
  LabelCounts counts = {};
  /// The work that is left and the idle time beside it.
  int64_t left = 0;
  int64_t held = 0;
  /// By operation: from when on its next task can start, and what is left of
  /// the objective then; `never` and 0 if all have run.
  std::array<int64_t, 2 * RankChain::maxStages> head = {}, rest = {};
  /// How many slots have been returned and not taken, and whether there are
  /// some that nobody has taken yet.
  size_t slots = 0;
  bool hasNewSlot = true;
  /// How many numbers a label has.
  size_t stride = LabelAt::ready;
  /// One label after another.
  std::vector<int64_t> labels;
};

/// Groups in the order in which they are made. Their memory is used again.
class LabelLayer {
public:
  void clear() {
    numUsed = 0;
    numberOf.clear();
  }
  size_t numLabels() const {
    size_t sum = 0;
    for (size_t g = 0; g < numUsed; ++g)
      sum += groups[g].labels.size() / groups[g].stride;
    return sum;
  }
  size_t size() const { return numUsed; }
  LabelGroup &operator[](size_t number) { return groups[number]; }
  /// The group of these counts, and whether it is new and has only them.
  std::pair<LabelGroup &, bool> at(const LabelCounts &counts) {
    auto [place, isNew] = numberOf.try_emplace(counts, numUsed);
    if (!isNew)
      return {groups[place->second], false};
    if (numUsed == groups.size())
      groups.emplace_back();
    LabelGroup &group = groups[numUsed++];
    group.counts = counts;
    group.labels.clear();
    return {group, true};
  }

private:
  std::vector<LabelGroup> groups;
  size_t numUsed = 0;
  std::unordered_map<LabelCounts, size_t, LabelCountsHash> numberOf;
};

} // namespace rondo

#endif // RONDO_SCHEDULE_BOUNDS_LABELLAYER_H
