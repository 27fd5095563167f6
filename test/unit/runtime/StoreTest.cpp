//===- StoreTest.cpp - Processes of a run, as threads of this one ---------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "StoreFixture.h"

#include "runtime/launch/socket.h"

using namespace rondo::runtime;
using rondo::runtime::test::Endings;
using rondo::runtime::test::StoreTest;

namespace {

TEST_F(StoreTest, ProcessesOfOneMachineNeedNoNameOfIt) {
  // A free port, and the following ones.
  where.port = portOf(listenOn(0, true));
  where.numPorts = 8;
  where.file.clear();
  where.host = "no-such-host.invalid";
  EXPECT_EQ(run(3, [](Store &store, int) { store.barrier("b"); }),
            (std::vector<std::string>{"fine", "fine", "fine"}));
}

TEST_F(StoreTest, ValuesExchangesAndGifts) {
  std::string large(3'000'000, 'x');
  EXPECT_EQ(run(3,
                [&](Store &store, int p) {
                  if (p == 1)
                    store.set("key", large);
                  EXPECT_EQ(store.get("key"), large);
                  EXPECT_EQ(store.exchange("all", std::string(p, 'a')),
                            (Endings{"", "a", "aa"}));
                  // The name is used again.
                  EXPECT_EQ(store.exchange("all", "b"),
                            (Endings{"b", "b", "b"}));
                  if (p == 2)
                    store.give("handover", large + "!");
                  if (p == 0) {
                    EXPECT_EQ(store.take("handover"), large + "!");
                  }
                  store.report("at " + std::to_string(p));
                  store.barrier("reported");
                  if (p == 0) {
                    Endings texts;
                    for (const Store::Report &report : store.reports())
                      texts.push_back(report.text);
                    EXPECT_EQ(texts, (Endings{"at 0", "at 1", "at 2"}));
                  }
                  store.leave();
                }),
            (Endings{"fine", "fine", "fine"}));
  EXPECT_EQ(said, "");
}

TEST_F(StoreTest, AProcessThatEndsWithoutAWordEndsTheRun) {
  Endings endings = run(3, [&](Store &store, int p) {
    if (p == 2)
      throw Error("gone");
    store.barrier("never");
  });
  EXPECT_EQ(endings, (Endings{"peer 75", "peer 75", "gone"}));
  EXPECT_EQ(said, "lost rank 2: its process has ended, or its machine does not "
                  "answer\n");
}

TEST_F(StoreTest, TheEndOfProcessZeroEndsTheRun) {
  Endings endings = run(2, [&](Store &store, int p) {
    if (p == 0)
      throw Error("gone");
    store.barrier("never");
  });
  // Its server may find the lost connection before it goes itself.
  EXPECT_TRUE(endings[1] == "peer 75" || endings[1].find("lost rank 0") == 0)
      << endings[1];
}

TEST_F(StoreTest, AFailureReachesAllWithItsCode) {
  Endings endings = run(3, [&](Store &store, int p) {
    if (p == 1) {
      EXPECT_TRUE(store.fail(Exit::Usage, "why"));
      throw Error("ends");
    }
    store.get("what nobody sets");
  });
  EXPECT_EQ(endings, (Endings{"peer 2", "ends", "peer 2"}));
  EXPECT_EQ(said, "why\n");
}

TEST_F(StoreTest, OnlyTheFirstFailureIsSaid) {
  run(3, [&](Store &store, int p) {
    store.barrier("all are there");
    EXPECT_TRUE(store.fail(Exit::RunFailure, "why"));
    throw Error("process " + std::to_string(p) + " ends");
  });
  EXPECT_EQ(said, "why\n");
}

TEST_F(StoreTest, FailureOfProcessZeroReachesAll) {
  Endings endings = run(3, [&](Store &store, int p) {
    if (p == 0) {
      EXPECT_TRUE(store.fail(Exit::Failure, "why"));
      throw Error("ends");
    }
    store.barrier("never");
  });
  EXPECT_EQ(endings, (Endings{"ends", "peer 1", "peer 1"}));
  EXPECT_EQ(said, "why\n");
}

} // namespace
