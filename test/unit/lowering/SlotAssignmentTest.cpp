//===- SlotAssignmentTest.cpp - Slots and their tables --------------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "test/unit/lowering/Fixture.h"

#include "lowering/SlotAssignment.h"
#include "lowering/SlotParts.h"

#include "gtest/gtest.h"

#include <algorithm>
#include <random>

using namespace rondo;
using namespace rondo::test;

namespace {

/// Largest number of lives at one position, counted position by position.
int32_t maxAlive(const std::vector<Life> &lives, int64_t positions) {
  int32_t most = 0;
  for (int64_t at = 0; at < positions; ++at) {
    int32_t alive = 0;
    for (const Life &life : lives)
      alive += life.first <= at && at <= life.last;
    most = std::max(most, alive);
  }
  return most;
}

TEST(SlotAssignment, NoMoreSlotsThanLivesThatMeetAndNoneForTwo) {
  std::mt19937 random(7);
  auto upTo = [&](int32_t most) {
    return std::uniform_int_distribution<int32_t>(0, most)(random);
  };
  for (int round = 0; round < 300; ++round) {
    const int32_t buffers = 1 + upTo(4), microbatches = 1 + upTo(20),
                  positions = 60, longest = 1 + upTo(30);
    std::vector<Life> lives;
    for (int32_t buffer = 0; buffer < buffers; ++buffer)
      for (int32_t i = 0; i < microbatches; ++i) {
        Life life;
        life.buffer = buffer;
        life.index = i;
        life.first = upTo(positions - 1);
        life.last =
            std::min(positions - 1, int32_t(life.first) + upTo(longest));
        lives.push_back(life);
      }
    // Buffers of two sizes take turns.
    std::vector<SlotSize> sizes;
    for (int32_t buffer = 0; buffer < buffers; ++buffer)
      sizes.push_back({0, buffer % 2 == 0 ? 64 : 128, PoolUse::Any});
    Program program;
    program.places.resize(buffers);
    auto result = assignSlots(lives, sizes, positions, microbatches, program);
    ASSERT_TRUE(result);
    const auto &pools = *result;
    ASSERT_EQ(pools.size(), buffers > 1 ? 2u : 1u);
    for (const NeededPool &pool : pools) {
      std::vector<Life> meeting;
      for (const Life &life : lives)
        if (sizes[life.buffer].bytes == pool.size.bytes)
          meeting.push_back(life);
      EXPECT_EQ(pool.slots, maxAlive(meeting, positions));
      for (const Life &a : meeting) {
        EXPECT_NE(
            std::count(pool.buffers.begin(), pool.buffers.end(), a.buffer), 0);
        for (const Life &b : meeting) {
          if (&a == &b || a.last < b.first || b.last < a.first)
            continue;
          EXPECT_NE(program.places[a.buffer].slotOf[a.index],
                    program.places[b.buffer].slotOf[b.index])
              << "round " << round;
        }
      }
    }
  }
}

/// Slots in the tables of a program, except those of data, of which each
/// micro-batch has a slot.
size_t listed(const Program &program, int32_t microbatches) {
  size_t count = 0;
  for (const Place &place : program.places)
    if (place.pool >= 0 && program.pools[place.pool].slots < microbatches)
      for (const SlotPart &part : slotParts(place.slotOf, microbatches))
        count += part.repeated.size();
  return count;
}

TEST(SlotAssignment, TablesDoNotGrowWithMicrobatches) {
  // All buffers have one size, so that all of a rank share one pool.
  for (const char *family : {"1f1b", "zb-h1", "kfkb:k=2"}) {
    std::vector<size_t> counts;
    for (int32_t microbatches : {64, 512}) {
      Problem problem = linearProblem(8, microbatches, 0, 128, 0);
      counts.push_back(listed(lower(problem, familySchedule(family, problem)),
                              microbatches));
    }
    EXPECT_EQ(counts[0], counts[1]) << family;
  }
}

int32_t slotIn(const std::vector<SlotPart> &parts, int64_t i) {
  size_t k = parts.size() - 1;
  while (i < parts[k].begin)
    --k;
  return parts[k].repeated[(i - parts[k].begin) % parts[k].repeated.size()];
}

TEST(SlotParts, KeepEverySlotAndAreNotLonger) {
  std::mt19937 random(11);
  auto upTo = [&](size_t most) {
    return std::uniform_int_distribution<size_t>(0, most)(random);
  };
  for (int round = 0; round < 2000; ++round) {
    // Patterns one after the other, with some noise.
    std::vector<int32_t> slots;
    for (size_t part = 0, parts = 1 + upTo(4); part < parts; ++part) {
      std::vector<int32_t> repeated(1 + upTo(3));
      for (int32_t &slot : repeated)
        slot = static_cast<int32_t>(upTo(3));
      for (size_t i = 0, length = 1 + upTo(40); i < length; ++i)
        slots.push_back(repeated[i % repeated.size()]);
    }
    if (round % 3 == 0)
      slots[upTo(slots.size() - 1)] = 9;
    const auto count = static_cast<int64_t>(upTo(200));
    const std::vector<SlotPart> parts = slotParts(slots, count);
    ASSERT_FALSE(parts.empty());
    EXPECT_EQ(parts.front().begin, 0);
    size_t listed = 0;
    for (const SlotPart &part : parts)
      listed += part.repeated.size();
    EXPECT_LE(listed, slots.size());
    const auto n = std::max<int64_t>(count, slots.size());
    for (int64_t i = 0; i < n; ++i)
      ASSERT_EQ(slotIn(parts, i), slots[i % slots.size()])
          << "round " << round << ", " << i;
  }
}

TEST(SlotParts, FillRunAndDrain) {
  std::vector<int32_t> slots;
  for (int32_t i = 0; i < 30; ++i)
    slots.push_back(i % 2);
  for (int32_t i = 0; i < 200; ++i)
    slots.push_back(4);
  for (int32_t i = 0; i < 30; ++i)
    slots.push_back(1 + i % 3);
  EXPECT_EQ(slotParts(slots, 260),
            (std::vector<SlotPart>{{0, {0, 1}}, {30, {4}}, {230, {1, 2, 3}}}));
  EXPECT_EQ(slotParts({3, 5}, 10), (std::vector<SlotPart>{{0, {3, 5}}}));
  EXPECT_EQ(slotParts({6}, 1), (std::vector<SlotPart>{{0, {6}}}));
}

} // namespace
