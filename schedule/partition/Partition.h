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
  /// By stage; several stages may name one rank.
  std::vector<int32_t> rankOfStage;
  /// [rank][layer]: F, I and W of one micro-batch. All rows have the same
  /// length.
  std::vector<std::vector<int64_t>> workNs;
  /// By layer: what its rank holds of it in any order, that is, its state and
  /// the activations of one micro-batch.
  std::vector<int64_t> bytes;
  /// By rank; noMemoryCap if unlimited.
  std::vector<int64_t> memoryCaps;
};

struct Partition {
  /// Stage s has the layers begins[s] to begins[s + 1]; one more entry than
  /// stages.
  std::vector<int32_t> begins;
  /// Work of one micro-batch on the busiest rank.
  int64_t busiestNs = 0;
  /// No other cut has a less busy busiest rank; false if `maxLabels` cut off
  /// what could have been better.
  bool isExact = false;
  /// The busiest rank of no cut has less work; busiestNs if it is exact.
  int64_t leastNs = 0;
};

/// Consecutive stages of at least one layer each, so that the busiest rank has
/// the least work; among such cuts, one with even stages. A fault if no cut
/// fits the caps, or there are more stages than layers; with caps also if
/// `maxLabels` was too small to find one.
///
/// Exact with one stage per rank and no caps, and with two stages per rank in a
/// loop or in a V (partition/TwoChunks.h) for models of hundreds of layers.
/// Otherwise the `maxLabels` most promising cuts of the layers before each
/// stage are continued (partition/Labels.h), under limits between a lower bound
/// of all cuts and the best so far; the answer is exact if it meets the bound,
/// as it mostly does if layers are alike. O(stages * maxLabels * layers) for
/// each of a few limits.
Result<Partition> partitionLayers(const PartitionInput &input,
                                  int64_t maxLabels = 2000);

} // namespace rondo

#endif // RONDO_SCHEDULE_PARTITION_PARTITION_H
