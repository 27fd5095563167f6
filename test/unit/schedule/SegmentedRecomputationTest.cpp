//===- SegmentedRecomputationTest.cpp - Activations across stages ---------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "SegmentedRecomputation.h"

#include "WindowExamples.h"

#include <numeric>

using namespace rondo;
using namespace rondo::test;

namespace {

TEST(SegmentedRecomputation, CountsExactly) {
  for (auto [stages, without, with] :
       {std::tuple(16, 256, 140), std::tuple(91, 8281, 1811),
        std::tuple(93, 8649, 1859), std::tuple(107, 11449, 2292)}) {
    EXPECT_EQ(activationsInSegments(stages), with);
    // Segments of one stage keep everything, and recompute what is there.
    int64_t kept = 0;
    for (const SegmentedStage &stage : recomputeInSegments(stages, 1))
      kept += stage.kept;
    EXPECT_EQ(kept, without);
  }
  EXPECT_EQ(segmentLength(1), 1);
  EXPECT_EQ(segmentLength(16), 4);
  EXPECT_EQ(segmentLength(107), 10);
}

TEST(SegmentedRecomputation, HasADelayByDistance) {
  const auto stages = recomputeInSegments(10, 4);
  const int64_t distances[] = {3, 2, 1, 0, 3, 2, 1, 0, 1, 0};
  for (int s = 0; s < 10; ++s) {
    EXPECT_EQ(stages[s].distance, distances[s]);
    EXPECT_EQ(stages[s].delay(4), double(distances[s]) / 2);
  }
}

/// Activations of a stage, slot after slot: those that it has when it has
/// recomputed, before its backward and F.
int64_t heldInSlots(int64_t stages, int64_t length, int64_t stage) {
  const int64_t last = std::min(stage / length * length + length, stages) - 1;
  int64_t most = 0;
  for (int64_t slot = 0; slot < 8 * stages; ++slot) {
    int64_t held = 0;
    for (int64_t m = 0; m < 8 * stages; ++m) {
      const int64_t forward = m + stage, backward = m + 2 * stages - 1 - stage;
      // The end of the segment is recomputed in the slot of its backward.
      const int64_t again = m + 2 * stages - 1 - last - (last - stage);
      held += stage % length == 0 && forward < slot && slot <= backward;
      held += again <= slot && slot <= backward;
    }
    most = std::max(most, held);
  }
  return most;
}

TEST(SegmentedRecomputation, IsWhatTheSlotsHold) {
  for (int64_t stages : {1, 2, 5, 9, 16, 23})
    for (int64_t length : {int64_t(1), int64_t(3), segmentLength(stages)}) {
      const auto found = recomputeInSegments(stages, length);
      for (int64_t s = 0; s < stages; ++s)
        EXPECT_EQ(found[s].held(), heldInSlots(stages, length, s))
            << stages << " " << length << " " << s;
    }
}

// The family's spatial order, simulated, holds what the model keeps without
// recomputation, and one more: its rank runs the F of a slot before the B.
TEST(SegmentedRecomputation, StartsFromTheSpatialOrder) {
  const Window run = runFamily("pipemare:spatial=1", windowOf(9, 2, 30));
  const auto without = recomputeInSegments(9, 1);
  for (int32_t s = 0; s < 9; ++s)
    EXPECT_EQ(run.simulation.peakBytes[s], without[s].kept + 1);
}

} // namespace
