//===- StoreTest.cpp - Processes that meet, as threads of this one --------===//

#include "StoreFixture.h"

#include <chrono>
#include <mutex>
#include <sys/socket.h>
#include <thread>

using namespace rondo::runtime;
using rondo::runtime::test::Endings;
using rondo::runtime::test::StoreTest;

namespace {

TEST_F(StoreTest, ProcessesOfOneMachineNeedNoNameOfIt) {
  // A free port, and the next ones.
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
                  // The same name again.
                  EXPECT_EQ(store.exchange("all", "b"),
                            (Endings{"b", "b", "b"}));
                  if (p == 2)
                    store.give("gift", large + "!");
                  if (p == 0) {
                    EXPECT_EQ(store.take("gift"), large + "!");
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

TEST_F(StoreTest, WhoDoesNotArriveIsNamed) {
  StoreParams params = paramsOf(0, 3);
  params.joinSeconds = 0.2;
  EXPECT_THROW(joinStore(params, where), PeerFailed);
  EXPECT_EQ(said, "ranks 1, 2 did not arrive within 0.2 s\n");
}

TEST_F(StoreTest, WhoKeepsTheOthersWaitingIsNamed) {
  Endings endings = run(
      3,
      [&](Store &store, int p) {
        if (p == 1) {
          for (int i = 0; i < 1000; ++i) {
            std::this_thread::sleep_for(std::chrono::milliseconds(10));
            store.check();
          }
        }
        store.barrier("iteration 7");
      },
      [](StoreParams &params) { params.timeoutSeconds = 0.2; });
  EXPECT_EQ(endings, (Endings{"peer 75", "peer 75", "peer 75"}));
  EXPECT_EQ(said, "rank 1 did not come to 'iteration 7' within 0.2 s\n");
}

TEST_F(StoreTest, WhoComesLaterThanTheTimeOutHasKeptNobodyWaiting) {
  EXPECT_EQ(run(
                3, [](Store &store, int) { store.leave(); },
                [](StoreParams &params) {
                  params.timeoutSeconds = 1;
                  if (params.process == 1)
                    std::this_thread::sleep_for(
                        std::chrono::milliseconds(1200));
                }),
            (Endings{"fine", "fine", "fine"}));
  EXPECT_EQ(said, "");
}

TEST_F(StoreTest, WhoSaysWhatItDoesMayTakeItsTime) {
  EXPECT_EQ(run(
                3,
                [&](Store &store, int p) {
                  for (int i = 0; p == 1 && i < 65; ++i) {
                    std::this_thread::sleep_for(std::chrono::milliseconds(20));
                    store.report("runs");
                    store.check();
                  }
                  store.exchange("iteration 7", "",
                                 Store::Patience::WhileReported);
                  store.leave();
                },
                [](StoreParams &params) { params.timeoutSeconds = 1; }),
            (Endings{"fine", "fine", "fine"}));
  EXPECT_EQ(said, "");
}

TEST_F(StoreTest, WhoDoesNotSayWhatItDoesIsNamed) {
  Endings endings = run(
      3,
      [&](Store &store, int p) {
        // Until another has waited too long.
        for (int i = 0; p == 1 && i < 1000; ++i) {
          std::this_thread::sleep_for(std::chrono::milliseconds(10));
          store.check();
        }
        store.exchange("iteration 7", "", Store::Patience::WhileReported);
      },
      [](StoreParams &params) { params.timeoutSeconds = 0.2; });
  EXPECT_EQ(endings, (Endings{"peer 75", "peer 75", "peer 75"}));
  EXPECT_EQ(said, "rank 1 did not come to 'iteration 7' within 0.2 s\n");
}

/// A process that says to the server of process 0 what it is told to.
class Speaker {
public:
  Speaker(int port, int process) {
    std::string why;
    socket = connectTo({"127.0.0.1", port}, 10, why);
    EXPECT_EQ(hear(), StoreFrame::Welcome) << why;
    say({{StoreFrame::Hello,
          {std::to_string(process), "2", "test", "program"}}});
    EXPECT_EQ(hear(), StoreFrame::Answer);
  }
  using Words = std::pair<StoreFrame, std::vector<std::string>>;
  /// All arrive at once.
  void say(const std::vector<Words> &all) {
    std::string bytes;
    for (const Words &words : all)
      bytes +=
          encode({static_cast<uint32_t>(words.first), ++lastId, words.second});
    EXPECT_TRUE(sendAll(socket, bytes));
  }
  /// The next frame but Alive; nothing at the end of the connection.
  std::optional<StoreFrame> hear() {
    for (;;) {
      while (std::optional<Frame> frame = reader.next(1 << 16))
        if (auto kind = static_cast<StoreFrame>(frame->kind);
            kind != StoreFrame::Alive)
          return kind;
      if (!receiveSome(socket, reader, 10))
        return std::nullopt;
    }
  }
  void endSpeaking() { shutdown(socket.descriptor(), SHUT_WR); }

private:
  Socket socket;
  FrameReader reader;
  uint64_t lastId = 0;
};

TEST_F(StoreTest, NoMeetingComesAboutAfterAFailure) {
  Socket listener = listenOn(0, true);
  const int port = portOf(listener);
  StoreServer server(paramsOf(0, 2), std::move(listener));
  Speaker waits(port, 0), fails(port, 1);
  const Speaker::Words meet = {StoreFrame::Exchange, {"iteration 7", "", "0"}};
  waits.say({meet, {StoreFrame::Set, {"I wait", ""}}});
  EXPECT_EQ(waits.hear(), StoreFrame::Answer);
  // Has failed, and comes to the meeting before it hears of it.
  fails.say({{StoreFrame::Fail, {"75", "why"}}, meet});
  EXPECT_EQ(waits.hear(), StoreFrame::Failed);
  waits.endSpeaking();
  EXPECT_EQ(waits.hear(), std::nullopt);
  fails.endSpeaking();
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
