//===- LabelLayer.h - Labels of equal depth ---------------------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#ifndef RONDO_SCHEDULE_BOUNDS_LABELLAYER_H
#define RONDO_SCHEDULE_BOUNDS_LABELLAYER_H

#include "schedule/bounds/RankChain.h"
#include "schedule/model/HashIndex.h"

#include <array>
#include <cstdint>
#include <utility>
#include <vector>

namespace rondo {

/// The number of tasks run so far: of each operation, then of W, per stage or
/// for all stages together if their W are alike. All labels with one sum are
/// made before those with the next sum.
using LabelCounts =
    std::array<int32_t, tasksPerMicrobatch * RankChain::maxStages>;

/// The numbers of a label: its clock; the least cost of any continuation; for
/// each operation, when each waiting micro-batch is ready for it, oldest first;
/// and when each returned slot can be used again. No time is before the clock.
struct LabelAt {
  enum : size_t { clock, cost, ready };
};

/// The labels of the same counts, and data that depends on the counts alone.
struct LabelGroup {
  LabelCounts counts = {};
  /// Hash of `counts`.
  uint64_t hash = 0;
  /// The remaining work plus the idle time that the cap forces, in ns.
  int64_t left = 0;
  int64_t held = 0;
  /// The number of slots that were returned and not taken again, and whether
  /// some slots have never been taken.
  size_t slots = 0;
  bool hasNewSlot = true;
  /// Number of values of one label.
  size_t stride = LabelAt::ready;
  /// The values of all labels, one label after another.
  std::vector<int64_t> labels;
};

/// Groups in the order in which they are made. Their memory is used again.
class LabelLayer {
public:
  /// Leaves only the group whose counts are all 0, and returns it. It has no
  /// labels, and only its counts and hash are set.
  LabelGroup &restart() {
    clear();
    return groups[numberOf(LabelCounts{}, 0).first];
  }
  void clear() {
    numUsed = 0;
    index.clear();
  }
  size_t numLabels() const {
    size_t sum = 0;
    for (size_t g = 0; g < numUsed; ++g)
      sum += groups[g].labels.size() / groups[g].stride;
    return sum;
  }
  size_t size() const { return numUsed; }
  LabelGroup &operator[](size_t number) { return groups[number]; }
  /// Finds or creates the group whose counts are those of `group`, which is in
  /// another layer, with one more of `counted`. Returns its number and whether
  /// it is new; a new group is empty as after restart().
  std::pair<size_t, bool> after(const LabelGroup &group, size_t counted) {
    LabelCounts counts = group.counts;
    ++counts[counted];
    return numberOf(counts, group.hash + hashOf(counted));
  }

private:
  /// The hash of counts is the sum of hashOf(i) * counts[i].
  static uint64_t hashOf(size_t counted) {
    const uint64_t number = (counted + 1) * 0x9e3779b97f4a7c15u;
    return (number ^ (number >> 29)) * 0xbf58476d1ce4e5b9u;
  }
  std::pair<size_t, bool> numberOf(const LabelCounts &counts, uint64_t hash) {
    const size_t number =
        index.findOrAdd(hash, uint32_t(numUsed), [&](uint32_t known) {
          return groups[known].counts == counts;
        });
    if (number < numUsed)
      return {number, false};
    if (numUsed++ == groups.size())
      groups.emplace_back();
    LabelGroup &made = groups[number];
    made.counts = counts;
    made.hash = hash;
    made.labels.clear();
    return {number, true};
  }

  std::vector<LabelGroup> groups;
  size_t numUsed = 0;
  HashIndex index;
};

} // namespace rondo

#endif // RONDO_SCHEDULE_BOUNDS_LABELLAYER_H
