//===- Partition.h - Cuts a chain of layers into stages ---------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#ifndef RONDO_SCHEDULE_PARTITION_PARTITION_H
#define RONDO_SCHEDULE_PARTITION_PARTITION_H

#include "schedule/model/Fault.h"

#include <cstdint>
#include <vector>

namespace rondo {

/// Layers in model order, and the ranks of their stages.
struct PartitionInput {
  /// [stage]: its rank; several stages may be on one rank.
  std::vector<int32_t> rankOfStage;
  /// [rank][layer]: time of F, I and W of one micro-batch. All rows have the
  /// same length.
  std::vector<std::vector<int64_t>> workNs;
  /// [layer]: bytes that its rank holds in any order of tasks: its state and
  /// the activations of one micro-batch.
  std::vector<int64_t> bytes;
  /// [rank]: cap in bytes; noMemoryCap if unlimited.
  std::vector<int64_t> memoryCaps;
};

struct Partition {
  /// Stage s has the layers [begins[s], begins[s + 1]); one more entry than
  /// stages.
  std::vector<int32_t> begins;
  /// Work of one micro-batch on the busiest rank.
  int64_t busiestNs = 0;
  /// Whether no cut has less work on its busiest rank; false if `maxLabels` may
  /// have cut off a better one.
  bool isExact = false;
  /// Lower bound of the work of the busiest rank over all cuts; equal to
  /// busiestNs if the cut is exact.
  int64_t leastNs = 0;
};

/// Cuts the layers into consecutive stages of at least one layer each, with the
/// least work on the busiest rank; among such cuts, one with even stages. A
/// fault if no cut fits the caps or there are more stages than layers; with
/// caps also if `maxLabels` is too small to find a cut.
///
/// Exact with one stage per rank and no caps. For models of hundreds of layers,
/// also exact with two stages per rank in a loop or in a V
/// (partition/TwoChunks.h). Otherwise, the `maxLabels` most promising cuts of
/// the layers before each stage are extended (partition/Labels.h), under limits
/// between a lower bound of all cuts and the best cut so far. The answer is
/// exact if it meets the bound, as is usual if layers are alike.
/// O(stages * maxLabels * layers) for each of a few limits.
Result<Partition> partitionLayers(const PartitionInput &input,
                                  int64_t maxLabels = 2000);

} // namespace rondo

#endif // RONDO_SCHEDULE_PARTITION_PARTITION_H
