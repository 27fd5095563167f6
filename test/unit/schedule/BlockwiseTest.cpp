//===- BlockwiseTest.cpp - Units, waves and rounds of different sizes -----===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "Examples.h"

using namespace rondo;
using namespace rondo::test;

namespace {

int64_t peakOf(const Simulation &simulation) {
  return *std::max_element(simulation.peakBytes.begin(),
                           simulation.peakBytes.end());
}

Simulation simulated(const std::string &family, const Problem &problem) {
  Schedule schedule = generateFamily(family, problem);
  EXPECT_EQ(verdict(problem, schedule), "");
  return simulate(problem, schedule);
}

//===----------------------------------------------------------------------===//
// blockwise
//===----------------------------------------------------------------------===//

/// Makespan minus a rank's work, for three units.
int64_t bubbleOfThreeUnits(int32_t ranks, int32_t chunks, Unit unit,
                           int32_t size) {
  Problem problem =
      problemOn(loopedRanks(ranks, chunks), ranks, 3 * size, unit);
  Simulation simulation =
      simulated("blockwise:u=" + std::to_string(size), problem);
  EXPECT_LE(peakOf(simulation), size * chunks * unit.activation);
  return simulation.makespanNs - simulation.rankWorkNs[0];
}

TEST(Blockwise, BubblesByUnit) {
  struct Row {
    int32_t ranks, chunks, size;
    int64_t bubble;
  };
  for (Row row :
       {Row{4, 1, 4, 7}, Row{4, 1, 5, 5}, Row{4, 1, 6, 3}, Row{4, 1, 7, 3},
        Row{4, 2, 4, 3}, Row{4, 2, 5, 3}, Row{4, 2, 7, 3}, Row{4, 2, 8, 3},
        Row{4, 2, 12, 3}, Row{4, 4, 4, 3}, Row{4, 4, 8, 3}, Row{3, 1, 3, 4},
        Row{3, 1, 4, 2}, Row{3, 1, 5, 2}, Row{3, 1, 6, 2}})
    EXPECT_EQ(bubbleOfThreeUnits(row.ranks, row.chunks, {}, row.size),
              row.bubble)
        << row.ranks << " " << row.chunks << " " << row.size;
}

TEST(Blockwise, BubblesOfUnequalTimes) {
  EXPECT_EQ(bubbleOfThreeUnits(4, 2, {1, 2, 1}, 4), 12);
  EXPECT_EQ(bubbleOfThreeUnits(4, 2, {1, 2, 1}, 7), 3);
  EXPECT_EQ(bubbleOfThreeUnits(4, 2, {2, 2, 1}, 4), 21);
  EXPECT_EQ(bubbleOfThreeUnits(4, 2, {2, 2, 1}, 7), 6);
  EXPECT_EQ(bubbleOfThreeUnits(4, 2, {10, 12, 8}, 4), 96);
  EXPECT_EQ(bubbleOfThreeUnits(4, 2, {10, 12, 8}, 7), 30);
}

TEST(Blockwise, AgainstKnownSchedules) {
  struct Row {
    int32_t ranks, chunks, microbatches;
    int64_t interleaved, breadthFirst, blockwise, peak;
  };
  for (Row row :
       {Row{4, 2, 4, 33, 33, 27, 8}, Row{4, 2, 8, 57, 57, 51, 8},
        Row{4, 2, 16, 105, 105, 99, 8}, Row{8, 2, 8, 69, 69, 55, 16},
        Row{8, 4, 8, 117, 117, 103, 32}, Row{8, 2, 16, 117, 117, 103, 16}}) {
    Problem problem = problemOn(loopedRanks(row.ranks, row.chunks), row.ranks,
                                row.microbatches);
    EXPECT_EQ(simulated("interleaved-1f1b", problem).makespanNs,
              row.interleaved);
    EXPECT_EQ(simulated("looped-bfs", problem).makespanNs, row.breadthFirst);
    // The default number of micro-batches of a unit is that of the ranks.
    Simulation simulation = simulated("blockwise", problem);
    EXPECT_EQ(simulation.makespanNs, row.blockwise);
    EXPECT_EQ(peakOf(simulation), row.peak);
  }
}

TEST(Blockwise, UnitsNeedNotDivide) {
  for (int32_t ranks : {1, 2, 3, 4})
    for (int32_t chunks : {1, 2, 3})
      for (int32_t microbatches : {1, 5, 7, 11})
        for (int32_t size = 1; size <= microbatches + 1; ++size)
          for (int64_t latency : {0, 5}) {
            Problem problem = problemOn(loopedRanks(ranks, chunks), ranks,
                                        microbatches, {2, 3, 1, 1, 0});
            problem.link.latencyNs = latency;
            Simulation simulation =
                simulated("blockwise:u=" + std::to_string(size), problem);
            EXPECT_LE(peakOf(simulation), size * chunks);
          }
}

TEST(Blockwise, TasksWithoutTimeAreFine) {
  Problem problem = problemOn(loopedRanks(3, 2), 3, 7, {0, 0, 0, 1, 0});
  EXPECT_EQ(simulated("blockwise", problem).makespanNs, 0);
}

//===----------------------------------------------------------------------===//
// interleaved with any number of micro-batches
//===----------------------------------------------------------------------===//

TEST(Interleaved, RoundsMayDifferByOne) {
  // Two rounds, of three and of two micro-batches.
  Problem problem = problemOn(loopedRanks(2, 2), 2, 5);
  Schedule schedule = generateFamily("interleaved-1f1b", problem);
  EXPECT_EQ(textOf(schedule.rank(0)),
            "0F0 0F1 0F2 2F0 2F1 2F2 2B0 0F3 2B1 0F4 2B2 2F3 0B0 2F4 0B1 0B2 "
            "2B3 2B4 0B3 0B4");
  EXPECT_EQ(textOf(schedule.rank(1)),
            "1F0 1F1 1F2 3F0 3B0 3F1 3B1 3F2 3B2 1F3 1B0 1F4 1B1 3F3 1B2 3F4 "
            "3B3 3B4 1B3 1B4");
}

TEST(Interleaved, OddCountsCostLittle) {
  // Never longer than with the last round filled up.
  for (const char *family : {"interleaved-1f1b", "interleaved-zb"})
    for (int32_t chunks : {2, 3, 4})
      for (int32_t microbatches = 9; microbatches <= 31; ++microbatches) {
        Problem odd = problemOn(loopedRanks(8, chunks), 8, microbatches);
        Problem whole =
            problemOn(loopedRanks(8, chunks), 8, (microbatches + 7) / 8 * 8);
        EXPECT_LE(simulated(family, odd).makespanNs,
                  simulated(family, whole).makespanNs)
            << family << " " << chunks << " " << microbatches;
      }
}

//===----------------------------------------------------------------------===//
// wave
//===----------------------------------------------------------------------===//

TEST(Wave, Order) {
  Problem problem = problemOn(waveRanks(2, 2), 2, 2);
  Schedule schedule = generateFamily("wave", problem);
  EXPECT_EQ(textOf(schedule.rank(0)), "0F0 0F1 3F0 3B0 3F1 3B1 0B0 0B1");
  EXPECT_EQ(textOf(schedule.rank(1)), "1F0 2F0 1F1 2F1 2B0 1B0 2B1 1B1");
}

TEST(Wave, RoundsOfOneMicrobatchARank) {
  for (int32_t ranks : {2, 4, 8, 16})
    for (int32_t rounds : {1, 2, 4}) {
      const int32_t m = rounds * ranks;
      int64_t previous = 0;
      for (int32_t chunks : {2, 4, 6}) {
        Problem problem = problemOn(waveRanks(ranks, chunks), ranks, m);
        Simulation simulation = simulated("wave", problem);
        EXPECT_EQ(peakOf(simulation), ranks * chunks);
        const int64_t bubble = simulation.makespanNs - 3 * m * chunks;
        if (chunks == 2) {
          EXPECT_EQ(bubble, 4 * (ranks - 1) + (rounds - 1) * (2 * ranks - 3));
        } else {
          // More waves, a smaller bubble; times are per chunk.
          EXPECT_LT(bubble * (chunks - 2), previous * chunks)
              << ranks << " " << rounds << " " << chunks;
        }
        previous = bubble;
      }
    }
}

TEST(Wave, RoundsNeedNotDivide) {
  for (int32_t ranks : {1, 2, 3, 4, 8})
    for (int32_t chunks : {2, 4})
      for (int32_t microbatches : {1, 3, 5, 9, 13, 31}) {
        Problem problem =
            problemOn(waveRanks(ranks, chunks), ranks, microbatches);
        EXPECT_EQ(peakOf(simulated("wave", problem)),
                  std::min(ranks, microbatches) * chunks);
      }
}

} // namespace
