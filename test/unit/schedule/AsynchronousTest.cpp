//===- AsynchronousTest.cpp - Schedules whose iterations overlap ----------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "WindowExamples.h"

using namespace rondo;
using namespace rondo::test;

namespace {

/// As the paper draws it: `1A` is the forward of the first micro-batch of the
/// first mini-batch, `1` the backward of that mini-batch, `.` an idle slot.
std::string gridOf(const Window &run, int32_t rank, int64_t slots) {
  const int64_t each = run.problem.microbatchesEach();
  std::vector<std::string> cells(slots, ".");
  for (int64_t i = run.schedule.rankBegin(rank);
       i < run.schedule.rankBegin(rank + 1); ++i) {
    const Action action = run.schedule.rank(0).begin()[i];
    const int64_t slot = run.simulation.startNs[i];
    if (!action.isTask() || slot >= slots)
      continue;
    std::string cell = std::to_string(action.index / each + 1);
    if (action.kind() == ActionKind::Forward)
      cell += static_cast<char>('A' + action.index % each);
    cells[slot] = cell;
  }
  std::string line;
  for (const std::string &cell : cells)
    line += (line.empty() ? "" : " ") + cell;
  return line;
}

struct Grid {
  int32_t stages, each;
  std::vector<const char *> lines;
};

class TimePrestGrid : public testing::TestWithParam<Grid> {};

// Section 3 of the paper; every line has 18 slots.
TEST_P(TimePrestGrid, IsThePublishedOne) {
  const Grid &grid = GetParam();
  const Window run =
      runFamily("timeprest", inSlots(windowOf(grid.stages, grid.each, 12)));
  for (int32_t rank = 0; rank < grid.stages; ++rank)
    EXPECT_EQ(gridOf(run, rank, 18), grid.lines[rank]) << "rank " << rank;
}

INSTANTIATE_TEST_SUITE_P(
    Published, TimePrestGrid,
    testing::Values(Grid{3,
                         2,
                         {"1A 1B 2A 2B 3A 3B 1 4A 4B 2 5A 5B 3 6A 6B 4 7A 7B",
                          ". 1A 1B 2A 2B 1 3A 3B 2 4A 4B 3 5A 5B 4 6A 6B 5",
                          ". . 1A 1B 1 2A 2B 2 3A 3B 3 4A 4B 4 5A 5B 5 6A"}},
                    Grid{4,
                         2,
                         {"1A 1B 2A 2B 3A 3B 4A 4B 1 5A 5B 2 6A 6B 3 7A 7B 4",
                          ". 1A 1B 2A 2B 3A 3B 1 4A 4B 2 5A 5B 3 6A 6B 4 7A",
                          ". . 1A 1B 2A 2B 1 3A 3B 2 4A 4B 3 5A 5B 4 6A 6B",
                          ". . . 1A 1B 1 2A 2B 2 3A 3B 3 4A 4B 4 5A 5B 5"}},
                    Grid{4,
                         4,
                         {"1A 1B 1C 1D 2A 2B 2C 2D 3A 3B 1 3C 3D 4A 4B 2 4C 4D",
                          ". 1A 1B 1C 1D 2A 2B 2C 2D 1 3A 3B 3C 3D 2 4A 4B 4C",
                          ". . 1A 1B 1C 1D 2A 2B 1 2C 2D 3A 3B 2 3C 3D 4A 4B",
                          ". . . 1A 1B 1C 1D 1 2A 2B 2C 2D 2 3A 3B 3C 3D 3"}},
                    Grid{5,
                         2,
                         {"1A 1B 2A 2B 3A 3B 4A 4B 5A 5B 1 6A 6B 2 7A 7B 3 8A",
                          ". 1A 1B 2A 2B 3A 3B 4A 4B 1 5A 5B 2 6A 6B 3 7A 7B",
                          ". . 1A 1B 2A 2B 3A 3B 1 4A 4B 2 5A 5B 3 6A 6B 4",
                          ". . . 1A 1B 2A 2B 1 3A 3B 2 4A 4B 3 5A 5B 4 6A",
                          ". . . . 1A 1B 1 2A 2B 2 3A 3B 3 4A 4B 4 5A 5B"}},
                    Grid{5,
                         3,
                         {"1A 1B 1C 2A 2B 2C 3A 3B 3C 4A 4B 1 4C 5A 5B 2 5C 6A",
                          ". 1A 1B 1C 2A 2B 2C 3A 3B 3C 1 4A 4B 4C 2 5A 5B 5C",
                          ". . 1A 1B 1C 2A 2B 2C 3A 1 3B 3C 4A 2 4B 4C 5A 3",
                          ". . . 1A 1B 1C 2A 2B 1 2C 3A 3B 2 3C 4A 4B 3 4C",
                          ". . . . 1A 1B 1C 1 2A 2B 2C 2 3A 3B 3C 3 4A 4B"}}));

std::vector<int32_t> forwardVersions(const Window &run) {
  return run.versions.replicas[0].forward;
}

TEST(TimePrest, DrainsAndReadsAsPublished) {
  const Window three = runFamily("timeprest", inSlots(windowOf(3, 2, 4)));
  EXPECT_EQ(gridOf(three, 0, 16), "1A 1B 2A 2B 3A 3B 1 4A 4B 2 . . 3 . . 4");
  EXPECT_EQ(gridOf(three, 1, 16), ". 1A 1B 2A 2B 1 3A 3B 2 4A 4B 3 . . 4 .");
  EXPECT_EQ(gridOf(three, 2, 16), ". . 1A 1B 1 2A 2B 2 3A 3B 3 4A 4B 4 . .");
  EXPECT_EQ(forwardVersions(three),
            (std::vector<int32_t>{0, 0, 0, 0, 0, 0, 1, 1}));
  EXPECT_EQ(three.simulation.makespanNs, 16);
  const Window two = runFamily("timeprest", inSlots(windowOf(2, 3, 4)));
  EXPECT_EQ(gridOf(two, 0, 18),
            "1A 1B 1C 2A 2B 1 2C 3A 3B 2 3C 4A 4B 3 4C . . 4");
  EXPECT_EQ(gridOf(two, 1, 18),
            ". 1A 1B 1C 1 2A 2B 2C 2 3A 3B 3C 3 4A 4B 4C 4 .");
  EXPECT_EQ(forwardVersions(two),
            (std::vector<int32_t>{0, 0, 0, 0, 0, 1, 1, 1, 2, 2, 2, 3}));
}

TEST(TimePrest, OfOneMicrobatchIs1F1B) {
  const Window run = runFamily("timeprest", inSlots(windowOf(2, 1, 5)));
  EXPECT_EQ(gridOf(run, 0, 10), "1A 2A . 1 3A 2 4A 3 5A 4");
  EXPECT_EQ(gridOf(run, 1, 11), ". 1A 1 2A 2 3A 3 4A 4 5A 5");
}

// The version difference is 1 where a backward has all earlier updates.
TEST(TimePrest, HasTheVersionDifferenceOfTheClosedForm) {
  for (int32_t stages = 2; stages <= 24; ++stages)
    for (int32_t each = 1; each <= 24; ++each) {
      // The ramp is over after as many iterations as stages.
      const int32_t iterations = 2 * stages + 2;
      const Window run =
          runFamily("timeprest", inSlots(windowOf(stages, each, iterations)));
      int64_t most = 0, held = 0;
      for (const ReplicaVersions &replica : run.versions.replicas)
        most = std::max(most, replica.backwardDelay.most + 1);
      ASSERT_EQ(most, 1 + (stages - 1) / (each + 1)) << stages << " " << each;
      ASSERT_EQ(run.simulation.makespanNs,
                int64_t(iterations) * (each + 1) + 2 * (stages - 1))
          << stages << " " << each;
      // Activations of one byte.
      for (int32_t s = 0; s < stages; ++s) {
        held = each == 1 ? stages - s : each + 2 * (stages - 1 - s);
        ASSERT_EQ(run.simulation.peakBytes[s], held)
            << stages << " " << each << " stage " << s;
      }
      ASSERT_TRUE(run.versions.areForwardsVertical);
      ASSERT_TRUE(run.versions.areBackwardsVertical);
    }
}

struct Kept {
  int32_t stages, each;
  std::vector<int32_t> copies;
  /// Iterations between a forward's version and its own, by micro-batch.
  std::vector<int32_t> lag;
};

TEST(TimePrest, KeepsTheVersionsOfItsForwards) {
  for (const Kept &row :
       {Kept{2, 3, {1, 2}, {1, 1, 0}}, Kept{3, 2, {1, 2, 3}, {2, 2}},
        Kept{3, 3, {1, 2, 3}, {2, 1, 1}}, Kept{4, 2, {1, 2, 3, 4}, {3, 3}},
        Kept{4, 3, {1, 2, 3, 3}, {2, 2, 2}},
        Kept{4, 4, {1, 2, 2, 3}, {2, 2, 1, 1}}}) {
    Problem window = inSlots(windowOf(row.stages, row.each, 12));
    // The newest weights for the backward, so that only forwards keep old ones.
    window.versions.assign(row.stages,
                           {ForwardWeights::Vertical, BackwardWeights::Live,
                            BackwardActivations::Graph, anyDelay});
    const Window run = runFamily("timeprest", window);
    for (int32_t s = 0; s < row.stages; ++s)
      EXPECT_EQ(run.versions.replicas[s].copies, row.copies[s])
          << row.stages << " " << row.each << " stage " << s;
    for (int32_t m = 0; m < row.each; ++m)
      EXPECT_EQ(8 - run.versions.replicas[0].forward[8 * row.each + m],
                row.lag[m])
          << row.stages << " " << row.each << " micro-batch " << m;
    // Its own version, on every stage.
    for (const ReplicaVersions &replica : run.versions.replicas)
      EXPECT_EQ(replica.backwardDelay.most, 0);
  }
}

TEST(TimePrest, HasALargerDifferenceWithRealCosts) {
  for (auto [stages, difference] :
       {std::pair(2, 2), std::pair(3, 2), std::pair(4, 3), std::pair(6, 4),
        std::pair(8, 6)})
    for (int32_t each : {1, 2, 3, 5}) {
      const Window run = runFamily("timeprest", windowOf(stages, each, 30));
      int64_t most = 0;
      for (const ReplicaVersions &replica : run.versions.replicas)
        most = std::max(most, replica.backwardDelay.most + 1);
      EXPECT_EQ(most, difference) << stages << " " << each;
    }
}

TEST(PipeDream, KeepsAVersionForEachMicrobatchUnderWay) {
  for (int32_t stages : {1, 2, 4, 7}) {
    const Window run =
        runFamily("pipedream", windowOf(stages, 1, 3 * stages + 3));
    for (int32_t s = 0; s < stages; ++s) {
      const ReplicaVersions &replica = run.versions.replicas[s];
      EXPECT_EQ(replica.copies, stages - s);
      EXPECT_EQ(replica.forwardDelay.most, stages - 1 - s);
      EXPECT_EQ(replica.backwardDelay.most, stages - 1 - s);
      EXPECT_TRUE(replica.isHorizontal);
      EXPECT_EQ(run.simulation.peakBytes[s], stages - s);
    }
    EXPECT_EQ(run.versions.areForwardsVertical, stages == 1);
  }
}

TEST(PipeDream, HasNoBubbleBetweenIterations) {
  // The busiest rank's work, and the ramp of the first and last micro-batch.
  const Window run = runFamily("pipedream", windowOf(4, 2, 50));
  EXPECT_EQ(run.simulation.makespanNs, (4 - 1) * (1 + 2) + 100 * (1 + 2));
}

TEST(TwoBufferedWeights, AreExactlyOneUpdateLate) {
  for (auto [stages, each] : {std::pair(1, 1), std::pair(2, 2), std::pair(4, 4),
                              std::pair(4, 6), std::pair(7, 13)}) {
    const Window run = runFamily("2bw", windowOf(stages, each, 9));
    for (const ReplicaVersions &replica : run.versions.replicas) {
      for (int32_t m = each; m < 9 * each; ++m)
        ASSERT_EQ(replica.forward[m], m / each - (stages > 1 ? 1 : 0));
      EXPECT_EQ(replica.copies, stages > 1 ? 2 : 1);
      EXPECT_TRUE(replica.isHorizontal);
    }
    EXPECT_TRUE(run.versions.areForwardsVertical);
  }
}

TEST(TwoBufferedWeights, NeedAMicrobatchForEachStage) {
  const Problem window = windowOf(4, 3, 5);
  const FamilyResult result = generate(*parseFamily("2bw"), window);
  EXPECT_EQ(describe(result.fault()),
            "2bw keeps two versions, which needs as many micro-batches an "
            "iteration as stages; there are 3 micro-batches for 4 stages");
}

TEST(PipeMare, HasTheDelaysOfItsModel) {
  // (2 (P - i) + 1) / N with i from 1: 1.75, 1.25, 0.75, 0.25.
  const Window run = runFamily("pipemare:spatial=1", windowOf(4, 4, 20));
  double sum = 0;
  for (int32_t s = 0; s < 4; ++s) {
    EXPECT_EQ(run.versions.replicas[s].forwardDelay.mean(),
              (2 * (3 - s) + 1) / 4.0);
    EXPECT_EQ(run.versions.replicas[s].backwardDelay.mean(), 0);
    EXPECT_EQ(run.versions.replicas[s].copies, 1);
    EXPECT_EQ(run.simulation.peakBytes[s], 2 * (4 - s));
    sum += run.versions.replicas[s].forwardDelay.mean();
  }
  EXPECT_EQ(sum, 4);
  for (int32_t stages : {2, 3, 5, 9})
    for (int32_t each : {1, 2, 3, 8}) {
      const Window any =
          runFamily("pipemare:spatial=1", windowOf(stages, each, 8 * stages));
      for (int32_t s = 0; s < stages; ++s)
        EXPECT_NEAR(any.versions.replicas[s].forwardDelay.mean(),
                    (2.0 * (stages - 1 - s) + 1) / each, 1e-12)
            << stages << " " << each << " " << s;
    }
}

TEST(PipeMare, AlternatingHasHalfTheDelay) {
  for (int32_t stages : {2, 4, 7})
    for (int32_t each : {1, 2, 4}) {
      const Window run =
          runFamily("pipemare", windowOf(stages, each, 6 * stages));
      for (int32_t s = 0; s < stages; ++s)
        EXPECT_NEAR(run.versions.replicas[s].forwardDelay.mean(),
                    double(stages - 1 - s) / each, 1e-12)
            << stages << " " << each << " " << s;
    }
}

} // namespace
