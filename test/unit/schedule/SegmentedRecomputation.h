//===- SegmentedRecomputation.h - PipeMare's recomputation ------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// PipeMare's recomputation (Yang et al., arXiv 1910.05124), in the model of the
// paper: stage i of P, from 1, runs F of micro-batch m in slot m + i - 1 and
// its backward in slot m + 2P - i, one F and one backward per slot. If the
// backward of a slot releases what the F of the slot acquires, a stage holds
// 2(P - i) + 1 micro-batches, and all stages together hold P^2.
//
// Stages form about sqrt(P) segments. Only the first stage of a segment keeps
// its activations from F on. From there the segment is recomputed, one stage
// per slot, so that its last stage is recomputed in the slot of its backward. A
// stage at distance j from the end of the segment recomputes 2j slots before
// its backward, with the weights of that time, and before the backward of that
// slot. So it holds recomputed activations of 2j + 1 micro-batches.
//
// This file computes the memory of such a pipeline, for any number of stages.
// Recomputed.h creates orders with R across stages.
//
//===----------------------------------------------------------------------===//

#ifndef RONDO_TEST_UNIT_SCHEDULE_SEGMENTEDRECOMPUTATION_H
#define RONDO_TEST_UNIT_SCHEDULE_SEGMENTEDRECOMPUTATION_H

#include <algorithm>
#include <cstdint>
#include <vector>

namespace rondo::test {

/// Number of stages per segment; the last segment may have fewer. P divided by
/// the square root of P, both rounded up. Precondition: at least one stage.
inline int64_t segmentLength(int64_t stages) {
  int64_t segments = 1;
  while (segments * segments < stages)
    ++segments;
  return (stages + segments - 1) / segments;
}

struct SegmentedStage {
  /// Distance from the end of its segment.
  int64_t distance = 0;
  /// Micro-batches whose activations are kept from F on, and whose activations
  /// are recomputed.
  int64_t kept = 0, recomputed = 0;

  int64_t held() const { return kept + recomputed; }
  /// Age of the weights of its R when its backward runs, in updates of
  /// `microbatchesEach` micro-batches.
  double delay(int64_t microbatchesEach) const {
    return 2 * double(distance) / double(microbatchesEach);
  }
};

/// Indexed by stage.
inline std::vector<SegmentedStage> recomputeInSegments(int64_t stages,
                                                       int64_t length) {
  std::vector<SegmentedStage> found;
  for (int64_t i = 0; i < stages; ++i) {
    const int64_t end = std::min(i / length * length + length, stages);
    SegmentedStage stage;
    stage.distance = end - 1 - i;
    stage.kept = i % length == 0 ? 2 * (stages - 1 - i) + 1 : 0;
    stage.recomputed = 2 * stage.distance + 1;
    found.push_back(stage);
  }
  return found;
}

/// Micro-batches held by all stages together, in segments of segmentLength().
inline int64_t activationsInSegments(int64_t stages) {
  int64_t sum = 0;
  for (const SegmentedStage &stage :
       recomputeInSegments(stages, segmentLength(stages)))
    sum += stage.held();
  return sum;
}

} // namespace rondo::test

#endif // RONDO_TEST_UNIT_SCHEDULE_SEGMENTEDRECOMPUTATION_H
