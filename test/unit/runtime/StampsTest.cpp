//===- StampsTest.cpp - Clocks that differ --------------------------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "runtime/transport/links.h"

#include "gtest/gtest.h"

using namespace rondo::runtime;

namespace {

TEST(Stamps, ShortestRoundTripComparesClocks) {
  // The other clock is 500 ahead; some answers are slow.
  const ClockPoint point = compareClocks({{1000, 1900, 1510},
                                          {2000, 2040, 2520},
                                          {3000, 3100, 3590},
                                          {4000, 4900, 4510}});
  EXPECT_EQ(point.mine, 2020u);
  EXPECT_EQ(point.theirs, 2520u);
}

TEST(Stamps, WithoutAPointClocksAreOne) {
  const ClockMap map;
  EXPECT_EQ(map.toMine(12345), 12345u);
}

TEST(Stamps, OnePointCorrectsTheOffset) {
  ClockMap ahead, behind;
  ahead.add({1000, 1500});
  EXPECT_EQ(ahead.toMine(1700), 1200u);
  EXPECT_EQ(ahead.toMine(1400), 900u);
  behind.add({9000, 10});
  EXPECT_EQ(behind.toMine(25), 9015u);
}

TEST(Stamps, TwoPointsCorrectTheDrift) {
  // The other clock is 2,000,000 ahead and gains a tenth.
  ClockMap map;
  map.add({0, 2'000'000});
  map.add({1'000'000, 3'100'000});
  EXPECT_EQ(map.toMine(2'000'000), 0u);
  EXPECT_EQ(map.toMine(2'550'000), 500'000u);
  EXPECT_EQ(map.toMine(3'100'000), 1'000'000u);
  // From here on it loses a tenth.
  map.add({2'000'000, 4'000'000});
  EXPECT_EQ(map.toMine(3'550'000), 1'500'000u);
}

TEST(Stamps, ClocksOfDaysKeepSingleUnits) {
  const uint64_t days = 3'000'000'000ull * 86'400 * 10;
  ClockMap map;
  map.add({5, days});
  map.add({days + 5, 2 * days});
  EXPECT_EQ(map.toMine(days + days / 2 + 7), days / 2 + 12);
}

std::vector<LinkPoint> transfersOf(const std::vector<Stamps> &sent,
                                   const std::vector<Stamps> &received,
                                   const ClockMap &map, double nsPerUnit = 1) {
  LinkMeter meter;
  addTransfers(meter, sent, received, map, nsPerUnit);
  return meter.sizes();
}

TEST(Stamps, TransferBeginsWhenBothEndsAreThere) {
  const std::vector<LinkPoint> sizes =
      transfersOf({{1, 1000, 0, 0}, {2, 5000, 0, 0}},
                  {{1, 1300, 1340, 0}, {2, 4000, 5060, 0}}, {});
  ASSERT_EQ(sizes.size(), 2u);
  EXPECT_EQ(sizes[0].least, 40u);
  EXPECT_EQ(sizes[1].least, 60u);
}

TEST(Stamps, TransferIsOnTheReceiversClock) {
  ClockMap map;
  map.add({1000, 901'000});
  const std::vector<LinkPoint> sizes =
      transfersOf({{8, 905'000, 0, 0}, {8, 906'000, 0, 0}},
                  {{8, 4000, 5500, 0}, {8, 6200, 6900, 0}}, map);
  ASSERT_EQ(sizes.size(), 1u);
  EXPECT_EQ(sizes[0].count, 2);
  EXPECT_EQ(sizes[0].least, 500u);
}

TEST(Stamps, NoTransferEndsBeforeItBegins) {
  // The error of the clocks' comparison was larger than the transfer.
  const std::vector<LinkPoint> sizes =
      transfersOf({{8, 2000, 0, 0}}, {{8, 1000, 1900, 0}}, {});
  EXPECT_EQ(sizes.at(0).least, 0u);
}

TEST(Stamps, ImposedTimeIsAddedInNs) {
  const std::vector<LinkPoint> sizes =
      transfersOf({{8, 1000, 0, 0}}, {{8, 1000, 1100, 600}}, {}, 0.5);
  EXPECT_EQ(sizes.at(0).least, 650u);
}

TEST(Stamps, NoErrorOfTheUnitShortensAnImposedTime) {
  // The unit is measured: its last digits differ from one reading to the next.
  for (double nsPerUnit : {0.33333, 0.33348, 0.41, 1.7}) {
    const std::vector<LinkPoint> sizes = transfersOf(
        {{8, 1000, 0, 0}}, {{8, 1000, 1000, 5'000'000}}, {}, nsPerUnit);
    EXPECT_EQ(sizes.at(0).least, 5'000'000u);
  }
}

TEST(Stamps, RingKeepsTheLatest) {
  StampRing ring;
  EXPECT_FALSE(ring.isEnabled());
  ring.enable();
  EXPECT_TRUE(ring.isEnabled());
  EXPECT_TRUE(ring.take(0).empty());
  const uint32_t count = StampRing::most + 3;
  for (uint32_t number = 0; number < count; ++number)
    ring.of(number) = {static_cast<int64_t>(number), 0, 0, 0};
  std::vector<Stamps> taken = ring.take(count);
  ASSERT_EQ(taken.size(), size_t(StampRing::most));
  EXPECT_EQ(taken.front().bytes, 3);
  EXPECT_EQ(taken.back().bytes, count - 1);
  // None is taken twice.
  EXPECT_TRUE(ring.take(count).empty());
  ring.of(count) = {77, 0, 0, 0};
  taken = ring.take(count + 1);
  ASSERT_EQ(taken.size(), 1u);
  EXPECT_EQ(taken[0].bytes, 77);
}

TEST(Stamps, RingGoesOnWhereNumbersWrap) {
  StampRing ring;
  ring.enable();
  ring.take(UINT32_MAX);
  ring.of(UINT32_MAX) = {1, 0, 0, 0};
  ring.of(0) = {2, 0, 0, 0};
  const std::vector<Stamps> taken = ring.take(1);
  ASSERT_EQ(taken.size(), 2u);
  EXPECT_EQ(taken[0].bytes, 1);
  EXPECT_EQ(taken[1].bytes, 2);
}

} // namespace
