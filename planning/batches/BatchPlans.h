//===- BatchPlans.h - Cuts of layers over sampled batches -------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Micro-batches differ from batch to batch. A cut of the layers into stages is
// chosen once; the order of tasks is searched for each batch. So a cut is
// judged by the mean of its best iterations over sampled batches.
//
//===----------------------------------------------------------------------===//

#ifndef RONDO_PLANNING_BATCHES_BATCHPLANS_H
#define RONDO_PLANNING_BATCHES_BATCHPLANS_H

#include "schedule/search/Search.h"

#include <vector>

namespace rondo {

/// A batch with the stages of a cut.
struct BatchOrder {
  Problem problem;
  /// Without a schedule if none fits.
  SearchResult found;

  int64_t ns() const;
};

struct BatchPlan {
  /// Stage s, on rank s, has layers[begins[s]] to layers[begins[s + 1] - 1].
  std::vector<int32_t> begins;
  /// One per batch; ends with the first that has no schedule.
  std::vector<BatchOrder> batches;
  /// `infinite` if a batch has no schedule.
  int64_t meanNs = 0, worstNs = 0;
  size_t worst = 0;
};

struct BatchPlans {
  /// The judged cuts, best first; those that fit all batches precede.
  std::vector<BatchPlan> plans;
  /// Lower bound of the mean for every cut with one stage on each rank.
  int64_t boundNs = 0;
};

/// Judges cuts of layers into one stage for each rank. The batches are problems
/// with one stage per layer, whose places are ignored; they differ in their
/// micro-batches alone. Tries the cuts that balance the mean work, that of each
/// batch, and that of the longest micro-batch; then moves single layers of the
/// best cut while its mean improves. Half of the effort is for the best cut. A
/// fault if the layers are no chain, or too few for the ranks.
Result<BatchPlans> planOverBatches(const std::vector<Problem> &batches,
                                   const SearchOptions &options);

/// The batch with layers as stages on ranks 0, 1, ...
Problem withStages(const Problem &layers, const std::vector<int32_t> &begins);

} // namespace rondo

#endif // RONDO_PLANNING_BATCHES_BATCHPLANS_H
