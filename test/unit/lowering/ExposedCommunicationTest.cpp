//===- ExposedCommunicationTest.cpp - Cost of messages --------------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "test/unit/lowering/Fixture.h"

#include "lowering/ExposedCommunication.h"

#include "gtest/gtest.h"

#include <array>

using namespace rondo;
using namespace rondo::test;

namespace {

/// A family's makespan if communication is free but for its latency, and what
/// PyTorch's order of messages makes of it with one queue per rank. F, I and W
/// take 40 per whole rank, a message `latency`.
struct OneQueueRow {
  const char *family;
  int32_t chunks;
  bool isWave;
  int64_t latency;
  /// At 4 ranks and 8 micro-batches, 8 and 16, 8 and 32, 16 and 32.
  std::array<int64_t, 4> simulated, inOneQueue;
};

Problem chunkedProblem(int32_t ranks, int32_t microbatches,
                       const OneQueueRow &row) {
  Problem problem =
      linearProblem(ranks * row.chunks, microbatches, row.latency, 0, 0);
  layInChunks(problem, ranks, row.isWave);
  const int64_t ns = 40 / row.chunks;
  for (int32_t s = 0; s < problem.numStages(); ++s)
    problem.setStageCost(s, ns, ns, ns, 1, 0);
  return problem;
}

TEST(ExposedCommunication, OneQueueCostsWhatIsKnownOfPyTorch) {
  const OneQueueRow rows[] = {
      {"1f1b", 1, false, 0, {1320, 2760, 4680, 5640}, {1320, 2760, 4680, 5640}},
      {"1f1b", 1, false, 4, {1384, 2920, 4952, 5992}, {1392, 2928, 4976, 6000}},
      {"interleaved-1f1b",
       2,
       false,
       0,
       {1140, 2340, 4260, 4740},
       {1340, 3360, 5280, 9340}},
      {"interleaved-1f1b",
       2,
       false,
       4,
       {1196, 2460, 4380, 4988},
       {1500, 3796, 5716, 11180}},
      {"interleaved-1f1b",
       4,
       false,
       0,
       {1050, 2130, 4050, 4290},
       {1310, 3600, 5520, 11070}},
      {"interleaved-1f1b",
       4,
       false,
       4,
       {1170, 2378, 4298, 4794},
       {1662, 5096, 7704, 18268}},
      {"interleaved-zb",
       2,
       false,
       0,
       {1020, 2060, 3980, 4140},
       {1180, 3020, 4940, 8620}},
      {"interleaved-zb",
       2,
       false,
       4,
       {1084, 2204, 4124, 4444},
       {1292, 3400, 5320, 9960}},
      {"zbv", 2, true, 0, {1020, 2060, 3980, 4140}, {1100, 2300, 4220, 4700}},
      {"zbv", 2, true, 4, {1072, 2192, 4112, 4432}, {1172, 2504, 4424, 5160}},
      {"dualpipe-v",
       2,
       true,
       0,
       {1020, 2060, 3980, 4140},
       {1100, 2380, 4300, 4940}},
      {"dualpipe-v",
       2,
       true,
       4,
       {1072, 2208, 4128, 4480},
       {1196, 2604, 4524, 5420}},
      {"zb-h2",
       1,
       false,
       4,
       {1092, 2228, 4148, 4500},
       {1108, 2276, 4196, 4632}},
  };
  const std::pair<int32_t, int32_t> sizes[] = {
      {4, 8}, {8, 16}, {8, 32}, {16, 32}};
  for (const OneQueueRow &row : rows)
    for (size_t k = 0; k < 4; ++k) {
      SCOPED_TRACE(std::string(row.family) + " " + std::to_string(row.chunks) +
                   " latency " + std::to_string(row.latency) + " ranks " +
                   std::to_string(sizes[k].first) + " micro-batches " +
                   std::to_string(sizes[k].second));
      Problem problem = chunkedProblem(sizes[k].first, sizes[k].second, row);
      Schedule schedule = familySchedule(row.family, problem);
      Simulation simulation = simulate(problem, schedule, /*keepTimes=*/true);
      EXPECT_EQ(simulation.makespanNs, row.simulated[k]);
      ExposedCommunication found =
          measureCommunication(problem, schedule, simulation);
      EXPECT_EQ(found.perRankNs, row.inOneQueue[k]);
      EXPECT_LE(found.freeNs, row.simulated[k]);
      ASSERT_TRUE(found.perPairNs);
      EXPECT_GE(*found.perPairNs, row.simulated[k]);
      EXPECT_LE(*found.perPairNs * 100, row.simulated[k] * 101);
      if (row.latency == 0) {
        EXPECT_EQ(*found.perPairNs, found.freeNs);
      }
    }
}

TEST(ExposedCommunication, OfLinksWithFiguresOfTheirOwn) {
  Problem problem = linearProblem(2, 4, 0, 128, 0);
  Schedule schedule = familySchedule("1f1b", problem);
  const int64_t freeNs = simulate(problem, schedule).makespanNs;
  problem.links[{0, 1}] = {500, 0};
  ExposedCommunication found = measureCommunication(
      problem, schedule, simulate(problem, schedule, /*keepTimes=*/true));
  EXPECT_EQ(found.freeNs, freeNs);
  ASSERT_TRUE(found.perPairNs);
  EXPECT_GT(*found.perPairNs, freeNs);
}

TEST(ExposedCommunication, OneQueueHasNoChannelsOfItsOwn) {
  Problem problem = linearProblem(3, 6, 50, 128, 0);
  Schedule schedule = familySchedule("eager-1f1b", problem);
  Simulation simulation = simulate(problem, schedule, /*keepTimes=*/true);
  const auto free = measureCommunication(problem, schedule, simulation);
  problem.channels = {Protocol::Eager, /*receiveSlots=*/1};
  const auto bounded = measureCommunication(problem, schedule, simulation);
  ASSERT_TRUE(bounded.perRankNs);
  EXPECT_EQ(bounded.perRankNs, free.perRankNs);
}

} // namespace
