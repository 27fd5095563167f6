//===- Layers.h - Sums and bounds for cuts of a chain -----------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#ifndef RONDO_SCHEDULE_PARTITION_LAYERS_H
#define RONDO_SCHEDULE_PARTITION_LAYERS_H

#include "schedule/Infinity.h"
#include "schedule/Partition.h"

namespace rondo::partition {

/// Sums over consecutive layers, and bounds that hold for every cut.
class Layers {
public:
  explicit Layers(const PartitionInput &input);

  int32_t count() const { return static_cast<int32_t>(bytesBefore.size()) - 1; }
  /// For the layers from `begin` to before `end`.
  int64_t work(int32_t rank, int32_t begin, int32_t end) const {
    return workBefore[rank][end] - workBefore[rank][begin];
  }
  int64_t bytes(int32_t begin, int32_t end) const {
    return bytesBefore[end] - bytesBefore[begin];
  }
  bool hasCaps() const { return isCapped; }

  /// The share of all work in the layers from `begin` to before `end`, on the
  /// scale of capacity().
  double share(int32_t begin, int32_t end) const {
    return shareBefore[end] - shareBefore[begin];
  }
  /// The largest share() of a rank whose work does not exceed `limit`.
  double capacity(int32_t rank, int64_t limit) const {
    return double(limit) * capacityOfOne[rank];
  }

  /// No cut has less work on its busiest rank.
  int64_t leastBusiest() const;

private:
  /// Whether the layers of the most common kind, which stay whole, fit on the
  /// ranks beside the first and the last layer.
  bool kindFits(int64_t limit) const;
  void findKind();

  const PartitionInput &input;
  bool isCapped = false;
  /// [rank][layer], and by layer: sums over the layers before it.
  std::vector<std::vector<int64_t>> workBefore;
  std::vector<int64_t> bytesBefore;
  std::vector<double> shareBefore;
  /// By rank: share per nanosecond.
  std::vector<double> capacityOfOne;
  /// A layer of the most common kind, and the number of layers of that kind.
  int32_t kind = 0;
  int64_t ofKind = 0;
};

} // namespace rondo::partition

#endif // RONDO_SCHEDULE_PARTITION_LAYERS_H
