//===- SegmentedRecomputation.h - Activations across stages -----*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// PipeMare's recomputation (Yang et al., arXiv 1910.05124), in its model: stage
// i of P, from 1, runs F of micro-batch m in slot m + i - 1 and its backward in
// slot m + 2P - i, both in each slot. Where the backward of a slot gives back
// what its F takes, a stage holds 2(P - i) + 1 micro-batches, all P^2.
//
// Stages form about sqrt(P) segments. Only the first of a segment keeps its
// activations from F on. From there the segment runs again, a stage a slot, so
// that its last stage is done in the slot of its backward: a stage at distance
// j from that end recomputes 2j slots before its backward, with its weights of
// that time, and in front of the backward of the slot. So it holds 2j + 1
// micro-batches for it.
//
// This counts what such a pipeline holds, for any number of stages; orders with
// R across stages are those of Recomputed.h.
//
//===----------------------------------------------------------------------===//

#ifndef RONDO_TEST_UNIT_SCHEDULE_SEGMENTEDRECOMPUTATION_H
#define RONDO_TEST_UNIT_SCHEDULE_SEGMENTEDRECOMPUTATION_H

#include <algorithm>
#include <cstdint>
#include <vector>

namespace rondo::test {

/// The stages of a segment but perhaps the last one: P divided by the square
/// root of P, both rounded up. Needs one stage at least.
inline int64_t segmentLength(int64_t stages) {
  int64_t segments = 1;
  while (segments * segments < stages)
    ++segments;
  return (stages + segments - 1) / segments;
}

struct SegmentedStage {
  /// Distance from the end of its segment.
  int64_t distance = 0;
  /// Of F's activations, and of recomputed ones, in micro-batches.
  int64_t kept = 0, recomputed = 0;

  int64_t held() const { return kept + recomputed; }
  /// How old the weights that it recomputes with are at its backward, in
  /// updates, with so many micro-batches in each.
  double delay(int64_t microbatchesEach) const {
    return 2 * double(distance) / double(microbatchesEach);
  }
};

/// By stage.
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

/// Of all stages, in segments of segmentLength().
inline int64_t activationsInSegments(int64_t stages) {
  int64_t sum = 0;
  for (const SegmentedStage &stage :
       recomputeInSegments(stages, segmentLength(stages)))
    sum += stage.held();
  return sum;
}

} // namespace rondo::test

#endif // RONDO_TEST_UNIT_SCHEDULE_SEGMENTEDRECOMPUTATION_H
