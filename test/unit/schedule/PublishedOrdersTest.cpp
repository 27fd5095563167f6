//===- PublishedOrdersTest.cpp - Exact orders of small cases --------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "Examples.h"

using namespace rondo;
using namespace rondo::test;

namespace {

struct Published {
  const char *family;
  std::vector<int32_t> rankOfStage;
  int32_t ranks, microbatches;
  int64_t makespan, span;
  std::vector<const char *> orders;
};

class PublishedOrders : public testing::TestWithParam<Published> {};

TEST_P(PublishedOrders, AreWritten) {
  const Published &row = GetParam();
  Problem problem = problemOn(row.rankOfStage, row.ranks, row.microbatches);
  Schedule schedule = generateFamily(row.family, problem);
  ASSERT_EQ(verdict(problem, schedule), "");
  for (int32_t r = 0; r < row.ranks; ++r)
    EXPECT_EQ(textOf(schedule.rank(r)), row.orders[r]) << "rank " << r;
  Simulation simulation = simulate(problem, schedule);
  EXPECT_EQ(simulation.makespanNs, row.makespan);
  EXPECT_EQ(simulation.spanNs, row.span);
}

INSTANTIATE_TEST_SUITE_P(
    Families, PublishedOrders,
    testing::Values(
        Published{"eager-1f1b",
                  loopedRanks(3, 1),
                  3,
                  6,
                  24,
                  24,
                  {"0F0 0F1 0F2 0F3 0F4 0B0 0F5 0B1 0B2 0B3 0B4 0B5",
                   "1F0 1F1 1F2 1B0 1F3 1B1 1F4 1B2 1F5 1B3 1B4 1B5",
                   "2F0 2B0 2F1 2B1 2F2 2B2 2F3 2B3 2F4 2B4 2F5 2B5"}},
        Published{
            "zb-h2",
            loopedRanks(3, 1),
            3,
            5,
            17,
            15,
            {"0F0 0F1 0F2 0F3 0F4 0I0 0W0 0I1 0W1 0I2 0W2 0I3 0W3 0I4 0W4",
             "1F0 1F1 1F2 1I0 1F3 1I1 1F4 1I2 1W0 1I3 1W1 1I4 1W2 1W3 1W4",
             "2F0 2I0 2F1 2I1 2F2 2I2 2F3 2I3 2F4 2I4 2W0 2W1 2W2 2W3 2W4"}},
        Published{
            "interleaved-1f1b",
            loopedRanks(2, 2),
            2,
            4,
            27,
            27,
            {"0F0 0F1 2F0 2F1 0F2 2B0 0F3 2B1 2F2 0B0 2F3 0B1 2B2 2B3 0B2 0B3",
             "1F0 1F1 3F0 3B0 3F1 3B1 1F2 1B0 1F3 1B1 3F2 3B2 3F3 3B3 1B2 "
             "1B3"}},
        Published{"looped-bfs",
                  loopedRanks(2, 2),
                  2,
                  2,
                  15,
                  15,
                  {"0F0 0F1 2F0 2F1 2B1 2B0 0B1 0B0",
                   "1F0 1F1 3F0 3F1 3B1 3B0 1B1 1B0"}},
        Published{"interleaved-zb",
                  loopedRanks(2, 2),
                  2,
                  4,
                  25,
                  25,
                  {"0F0 0F1 2F0 2F1 2I0 2W0 0F2 2I1 2W1 0F3 0I0 0W0 2F2 0I1 "
                   "0W1 2F3 2I2 2W2 2I3 2W3 0I2 0W2 0I3 0W3",
                   "1F0 1F1 3F0 3I0 3F1 3I1 3W0 1F2 1I0 3W1 1F3 1I1 1W0 3F2 "
                   "3I2 1W1 3F3 3I3 3W2 1I2 3W3 1I3 1W2 1W3"}},
        Published{"zbv",
                  waveRanks(2, 2),
                  2,
                  4,
                  25,
                  24,
                  {"0F0 0F1 0F2 3F0 3I0 3W0 3F1 3I1 3W1 0F3 0I0 0W0 3F2 3I2 "
                   "3W2 0I1 0W1 3F3 3I3 3W3 0I2 0W2 0I3 0W3",
                   "1F0 2F0 1F1 2F1 2I0 2W0 1F2 1I0 1W0 2F2 2I1 2W1 1F3 1I1 "
                   "1W1 2F3 2I2 2W2 1I2 2I3 1I3 1W2 2W3 1W3"}},
        Published{"dualpipe-v",
                  waveRanks(2, 2),
                  2,
                  4,
                  25,
                  25,
                  {"0F0 0F1 0F2 3F0 3I0 3W0 3F1 0F3 3B1 3F2 0B0 3B2 3F3 0B1 "
                   "3B3 0I2 0W2 0I3 0W3",
                   "1F0 2F0 1F1 2F1 1F2 2B0 2F2 1B0 1F3 2B1 2F3 1B1 2B2 1B2 "
                   "2I3 1I3 2W3 1W3"}},
        Published{"interleaved-1f1b",
                  loopedRanks(3, 2),
                  3,
                  6,
                  42,
                  42,
                  {"0F0 0F1 0F2 3F0 3F1 3F2 0F3 0F4 3B0 0F5 3B1 3F3 3B2 3F4 "
                   "0B0 3F5 0B1 0B2 3B3 3B4 3B5 0B3 0B4 0B5",
                   "1F0 1F1 1F2 4F0 4F1 4F2 4B0 1F3 4B1 1F4 4B2 1F5 1B0 4F3 "
                   "1B1 4F4 1B2 4F5 4B3 4B4 4B5 1B3 1B4 1B5",
                   "2F0 2F1 2F2 5F0 5B0 5F1 5B1 5F2 5B2 2F3 2B0 2F4 2B1 2F5 "
                   "2B2 5F3 5B3 5F4 5B4 5F5 5B5 2B3 2B4 2B5"}},
        Published{"blockwise:u=3",
                  loopedRanks(3, 2),
                  3,
                  3,
                  20,
                  20,
                  {"0F0 0F1 0F2 3F0 3F1 3F2 3I0 3W0 3I1 3W1 3I2 0I0 0I1 0I2 "
                   "3W2 0W0 0W1 0W2",
                   "1F0 1F1 1F2 4F0 4F1 4F2 4I0 4W0 4I1 4W1 4I2 1I0 1I1 1I2 "
                   "4W2 1W0 1W1 1W2",
                   "2F0 2F1 2F2 5F0 5I0 5F1 5I1 5F2 5I2 2I0 2I1 2I2 5W0 5W1 "
                   "5W2 2W0 2W1 2W2"}},
        Published{
            "blockwise:u=5",
            loopedRanks(3, 1),
            3,
            5,
            17,
            15,
            {"0F0 0F1 0F2 0F3 0F4 0I0 0W0 0I1 0W1 0I2 0W2 0I3 0W3 0I4 0W4",
             "1F0 1F1 1F2 1I0 1F3 1I1 1F4 1I2 1W0 1I3 1W1 1I4 1W2 1W3 1W4",
             "2F0 2I0 2F1 2I1 2F2 2I2 2F3 2I3 2F4 2I4 2W0 2W1 2W2 2W3 2W4"}},
        Published{"blockwise:u=3",
                  loopedRanks(3, 2),
                  3,
                  6,
                  38,
                  38,
                  {"0F0 0F1 0F2 3F0 3F1 3F2 3I0 3W0 3I1 3W1 3I2 0I0 0I1 0I2 "
                   "0F3 0F4 3W2 0F5 0W0 3F3 0W1 3F4 0W2 3F5 3I3 3W3 3I4 3W4 "
                   "3I5 0I3 0I4 0I5 3W5 0W3 0W4 0W5",
                   "1F0 1F1 1F2 4F0 4F1 4F2 4I0 4W0 4I1 4W1 4I2 1I0 1I1 1I2 "
                   "4W2 1W0 1F3 1F4 1W1 1F5 1W2 4F3 4F4 4I3 4F5 4I4 4W3 4I5 "
                   "1I3 1I4 1I5 4W4 4W5 1W3 1W4 1W5",
                   "2F0 2F1 2F2 5F0 5I0 5F1 5I1 5F2 5I2 2I0 2I1 2I2 5W0 5W1 "
                   "5W2 2W0 2F3 2F4 2W1 2F5 2W2 5F3 5I3 5F4 5I4 5F5 5I5 2I3 "
                   "2I4 2I5 5W3 5W4 5W5 2W3 2W4 2W5"}}),
    [](const auto &info) {
      std::string name = info.param.family;
      for (char &c : name)
        c = std::isalnum(c) ? c : '_';
      return name + "_" + std::to_string(info.param.ranks) + "_" +
             std::to_string(info.param.microbatches);
    });

} // namespace
