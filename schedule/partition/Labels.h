//===- Labels.h - Cuts of a chain, stage by stage ---------------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Dynamic programming over the stages. Two cuts of the first layers are
// equivalent if the ranks that get further stages have equal work and bytes.
//
//===----------------------------------------------------------------------===//

#ifndef RONDO_SCHEDULE_PARTITION_LABELS_H
#define RONDO_SCHEDULE_PARTITION_LABELS_H

#include "schedule/model/HashIndex.h"
#include "schedule/partition/Layers.h"

#include <optional>

namespace rondo::partition {

class Labels {
public:
  Labels(const PartitionInput &input, const Layers &layers);

  struct Answer {
    std::optional<Partition> best;
    /// False if labels were cut off.
    bool isExact = true;
  };
  /// The best cut whose busiest rank is not above `limit` (ns). After each
  /// stage, only the `maxLabels` most promising cuts are kept.
  Answer run(int64_t limit, int64_t maxLabels);

private:
  /// A cut of the layers before `end` into the stages so far.
  struct Label {
    int32_t end = 0;
    int32_t parent = -1;
    int64_t busiest = 0;
    /// Sum of the squares of the stages' work: smaller is more even.
    double squares = 0;
    /// Lower bound of the load of the open ranks, which have stages still to be
    /// cut, as a fraction of what they may take under the limit: their work so
    /// far plus the work of the remaining layers. Smaller is more promising.
    double fill = 0;
  };
  /// The labels of a stage. For each label, `open` has the figures (work, then
  /// bytes) of every open rank, by rank.
  struct Row {
    std::vector<Label> labels;
    std::vector<int64_t> open;
  };

  void extend(const Row &row, int32_t parent, int32_t stage, int64_t limit,
              Row &next);
  void keep(const Label &label, const std::vector<int64_t> &open, Row &next);
  /// Keeps `maxLabels` labels; returns false if some were cut off.
  bool cutOff(Row &row, size_t width, int64_t maxLabels) const;

  const PartitionInput &input;
  const Layers &layers;
  const int32_t stages;
  /// Number of figures of an open rank: work, and bytes if there are caps.
  const size_t figures;
  std::vector<int32_t> lastStageOf;
  /// Open ranks: those that get the current stage or a later one, ascending.
  std::vector<int32_t> openRanks;
  /// Finds an equivalent label among those of the row that is being filled; see
  /// keep().
  HashIndex index;
  std::vector<int64_t> scratch;
};

} // namespace rondo::partition

#endif // RONDO_SCHEDULE_PARTITION_LABELS_H
