//===- Layers.h - Sums and bounds for cuts of a chain -----------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#ifndef RONDO_SCHEDULE_PARTITION_LAYERS_H
#define RONDO_SCHEDULE_PARTITION_LAYERS_H

#include "schedule/model/Infinity.h"
#include "schedule/partition/Partition.h"

namespace rondo::partition {

/// Sums over consecutive layers, and bounds that hold for every cut. Times are
/// in ns.
class Layers {
public:
  explicit Layers(const PartitionInput &input);

  int32_t count() const { return static_cast<int32_t>(bytesBefore.size()) - 1; }
  /// Sums over the layers [begin, end).
  int64_t work(int32_t rank, int32_t begin, int32_t end) const {
    return workBefore[rank][end] - workBefore[rank][begin];
  }
  int64_t bytes(int32_t begin, int32_t end) const {
    return bytesBefore[end] - bytesBefore[begin];
  }
  bool hasCaps() const { return isCapped; }

  /// Work of the layers [begin, end), in the same unit as capacity().
  double share(int32_t begin, int32_t end) const {
    return shareBefore[end] - shareBefore[begin];
  }
  /// Upper bound of share() on a rank whose work does not exceed `limit`.
  double capacity(int32_t rank, int64_t limit) const {
    return double(limit) * capacityOfOne[rank];
  }

  /// Lower bound of the work of the busiest rank over all cuts.
  int64_t leastBusiest() const;

private:
  /// Whether the layers of the most common kind fit on the ranks within `limit`
  /// and the caps, after the first and the last layer are placed. No layer is
  /// divided.
  bool kindFits(int64_t limit) const;
  void findKind();

  const PartitionInput &input;
  bool isCapped = false;
  /// Sums over the layers before each layer. `workBefore` is [rank][layer], the
  /// other two are [layer].
  std::vector<std::vector<int64_t>> workBefore;
  std::vector<int64_t> bytesBefore;
  std::vector<double> shareBefore;
  /// [rank]: share() per nanosecond.
  std::vector<double> capacityOfOne;
  /// A layer of the most common kind, and the number of layers of that kind.
  int32_t kind = 0;
  int64_t ofKind = 0;
};

} // namespace rondo::partition

#endif // RONDO_SCHEDULE_PARTITION_LAYERS_H
