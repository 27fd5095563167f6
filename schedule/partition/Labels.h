//===- Labels.h - Cuts of a chain, one stage after another ------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Dynamic programming, one stage after another: two cuts of the first layers
// are equivalent if the ranks that still get stages have equal work and bytes.
//
//===----------------------------------------------------------------------===//

#ifndef RONDO_SCHEDULE_PARTITION_LABELS_H
#define RONDO_SCHEDULE_PARTITION_LABELS_H

#include "schedule/HashIndex.h"
#include "schedule/partition/Layers.h"

#include <optional>

namespace rondo::partition {

class Labels {
public:
  Labels(const PartitionInput &input, const Layers &layers);

  struct Answer {
    std::optional<Partition> best;
    /// Nothing was left out.
    bool isExact = true;
  };
  /// The best cut whose busiest rank is not above `limit`, among the
  /// `maxLabels` most promising cuts of each stage.
  Answer run(int64_t limit, int64_t maxLabels);

private:
  /// A cut of the layers before `end` into the stages so far.
  struct Label {
    int32_t end = 0;
    int32_t parent = -1;
    int64_t busiest = 0;
    /// Of the stages' work: a smaller figure is more even.
    double squares = 0;
    /// The share of the ranks' room that is used if nothing else is lost: the
    /// smaller, the more promising.
    double fill = 0;
  };
  /// The labels of a stage. For each, `open` has the work and then the bytes of
  /// the ranks that get more stages, by rank.
  struct Row {
    std::vector<Label> labels;
    std::vector<int64_t> open;
  };

  void extend(const Row &row, int32_t parent, int32_t stage, int64_t limit,
              Row &next);
  void keep(const Label &label, const std::vector<int64_t> &open, Row &next);
  /// False if labels were cut off.
  bool cutOff(Row &row, size_t width, int64_t maxLabels) const;

  const PartitionInput &input;
  const Layers &layers;
  const int32_t stages;
  /// Figures of an open rank: work, and bytes if there are caps.
  const size_t figures;
  std::vector<int32_t> lastStageOf;
  /// The ranks that get the present stage or a later one, by number.
  std::vector<int32_t> openRanks;
  /// Of the labels that the present stage ends.
  HashIndex index;
  std::vector<int64_t> scratch;
};

} // namespace rondo::partition

#endif // RONDO_SCHEDULE_PARTITION_LABELS_H
