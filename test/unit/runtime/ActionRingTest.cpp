//===- ActionRingTest.cpp - The last actions of a rank --------------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "runtime/execution/action_ring.h"

#include "gtest/gtest.h"

#include <atomic>
#include <thread>

using namespace rondo::runtime;

namespace {

TEST(ActionRing, KeepsTheLastOnesInTheirOrder) {
  ActionRing ring;
  ring.beginRun({"first"}, 4);
  for (uint64_t i = 0; i < 3 * ActionRing::size + 7; ++i)
    ring.begin(i);
  const std::vector<ActionRing::Entry> last = ring.last();
  ASSERT_EQ(last.size(), ActionRing::size);
  EXPECT_EQ(last.back().what, 3 * ActionRing::size + 6);
  for (size_t i = 0; i + 1 < last.size(); ++i) {
    EXPECT_EQ(last[i].what + 1, last[i + 1].what);
    EXPECT_EQ(last[i].endTicks, last[i + 1].beginTicks);
    EXPECT_LE(last[i].beginTicks, last[i].endTicks);
    EXPECT_FALSE(last[i].isUnfinished);
    EXPECT_EQ(last[i].before, 4);
  }
  EXPECT_TRUE(last.back().isUnfinished);
}

TEST(ActionRing, KnowsWhatAnActionWaitedFor) {
  ActionRing ring;
  ring.beginRun({"first"}, 0);
  ring.begin(1);
  ring.endWaits();
  ring.begin(2);
  ring.waitFor(3);
  ring.waitFor(5);
  ring.endWaits();
  ring.begin(3);
  ring.waitFor(0);
  const std::vector<ActionRing::Entry> last = ring.last();
  ASSERT_EQ(last.size(), 3u);
  EXPECT_EQ(last[0].edge, -1);
  EXPECT_EQ(last[0].readyTicks, 0u);
  EXPECT_EQ(last[1].edge, 5);
  EXPECT_GE(last[1].readyTicks, last[1].beginTicks);
  EXPECT_LE(last[1].readyTicks, last[1].endTicks);
  EXPECT_EQ(last[2].edge, 0);
  EXPECT_EQ(last[2].readyTicks, 0u);
}

TEST(ActionRing, NamesTheProgramOfEachEntry) {
  ActionRing ring;
  ring.beginRun({"train", 8, true, true}, 0);
  ring.begin(1);
  ring.beginRun({"evaluate", 2, false, false}, 0);
  ring.begin(2);
  ring.beginRun({"train", 8, true, true}, 1);
  ring.begin(3);
  const std::vector<ActionRing::Entry> last = ring.last();
  EXPECT_EQ(ring.programOf(last[0]).name, "train");
  EXPECT_EQ(ring.programOf(last[1]).name, "evaluate");
  EXPECT_FALSE(ring.programOf(last[1]).trains);
  EXPECT_EQ(last[2].program, last[0].program);
  EXPECT_EQ(last[2].before, 1);
}

TEST(ActionRing, IsReadWhileItIsWritten) {
  ActionRing ring;
  ring.beginRun({"first"}, 0);
  std::atomic<bool> stops{false};
  std::thread writer([&] {
    for (uint64_t i = 0; !stops; ++i)
      ring.begin(i);
  });
  while (ring.begun() < 2 * ActionRing::size)
    std::this_thread::yield();
  for (int k = 0; k < 200; ++k) {
    const std::vector<ActionRing::Entry> last = ring.last();
    for (size_t i = 0; i + 1 < last.size(); ++i)
      ASSERT_EQ(last[i].what + 1, last[i + 1].what);
  }
  stops = true;
  writer.join();
}

} // namespace
