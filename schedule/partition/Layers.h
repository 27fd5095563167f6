//===- Layers.h - What cuts of a chain of layers ask ------------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#ifndef RONDO_SCHEDULE_PARTITION_LAYERS_H
#define RONDO_SCHEDULE_PARTITION_LAYERS_H

#include "schedule/Partition.h"

#include <limits>

namespace rondo::partition {

/// More than the work of any rank.
inline constexpr int64_t noLimit = std::numeric_limits<int64_t>::max();

/// Sums over consecutive layers, and bounds that hold for every cut.
class Layers {
public:
  explicit Layers(const PartitionInput &input);

  int32_t count() const { return static_cast<int32_t>(bytesBefore.size()) - 1; }
  /// Of the layers from `begin` to before `end`.
  int64_t work(int32_t rank, int32_t begin, int32_t end) const {
    return workBefore[rank][end] - workBefore[rank][begin];
  }
  int64_t bytes(int32_t begin, int32_t end) const {
    return bytesBefore[end] - bytesBefore[begin];
  }
  bool hasCaps() const { return isCapped; }

  /// The share of all work that the layers from `begin` to before `end` are, on
  /// the scale of capacity().
  double share(int32_t begin, int32_t end) const {
    return shareBefore[end] - shareBefore[begin];
  }
  /// The largest share() of a rank whose work is not above `limit`.
  double capacity(int32_t rank, int64_t limit) const {
    return double(limit) * capacityOfOne[rank];
  }

  /// No cut has less work on its busiest rank.
  int64_t leastBusiest() const;

private:
  /// Whether the layers of the most common kind, which stay whole, have room on
  /// the ranks beside the first and the last layer.
  bool kindFits(int64_t limit) const;
  void findKind();

  const PartitionInput &input;
  bool isCapped = false;
  /// [rank][layer], and by layer: of the layers before it.
  std::vector<std::vector<int64_t>> workBefore;
  std::vector<int64_t> bytesBefore;
  std::vector<double> shareBefore;
  /// By rank: share for a nanosecond.
  std::vector<double> capacityOfOne;
  /// A layer of the most common kind, and how many there are of it.
  int32_t kind = 0;
  int64_t ofKind = 0;
};

} // namespace rondo::partition

#endif // RONDO_SCHEDULE_PARTITION_LAYERS_H
