//===- StoreServerTest.cpp - What a store's server sends, and when --------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The server and the processes that talk to it take turns in one thread, and
// the clock stands still until a test advances it.
//
//===----------------------------------------------------------------------===//

#include "ManualClock.h"

#include "runtime/launch/store_server.h"

#include "gtest/gtest.h"

#include <map>
#include <set>
#include <sys/socket.h>

using namespace rondo::runtime;
using rondo::runtime::test::ManualClock;

namespace {

using Fields = std::vector<std::string>;

class StoreServerTest : public testing::Test {
protected:
  StoreServerTest() {
    params.processes = 3;
    params.job = "test";
    params.program = "program";
    params.joinSeconds = 10;
    params.timeoutSeconds = 20;
    params.clock = clock;
    params.say = [this](const std::string &text) { said += text + "\n"; };
  }

  /// A process has a connection once it has sent its Hello.
  void join(int process) {
    int fds[2];
    ASSERT_EQ(
        socketpair(AF_UNIX, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0, fds),
        0);
    peers[process].socket = Socket(fds[0]);
    server().adopt(Socket(fds[1]));
    say(process, StoreFrame::Hello,
        {std::to_string(process), std::to_string(params.processes), "test",
         "program"});
  }
  void joinAll() {
    for (int p = 0; p < params.processes; ++p)
      join(p);
  }

  using Words = std::pair<StoreFrame, Fields>;
  /// All arrive at once.
  void say(int process, const std::vector<Words> &all) {
    std::string bytes;
    for (const auto &[kind, fields] : all)
      bytes += encode({static_cast<uint32_t>(kind), ++lastId, fields});
    EXPECT_TRUE(sendAll(peers[process].socket, bytes));
    server().turn(0);
  }
  void say(int process, StoreFrame kind, Fields fields) {
    say(process, {{kind, std::move(fields)}});
  }
  void meet(int process, Store::Patience patience = Store::Patience::Usual) {
    say(process, StoreFrame::Exchange,
        {"iteration 7", "of " + std::to_string(process),
         std::to_string(static_cast<int>(patience))});
  }

  /// Advances the clock, and gives the server a turn. Processes say that they
  /// are alive, unless they are silent.
  void pass(double seconds) {
    clock->advance(seconds);
    for (auto &[process, peer] : peers)
      if (silent.count(process) == 0) {
        EXPECT_TRUE(
            sendAll(peer.socket,
                    encode({static_cast<uint32_t>(StoreFrame::Alive), 0, {}})));
      }
    server().turn(0);
  }

  /// The frames of a kind that a process has received since the last call.
  std::vector<Fields> heard(int process, StoreFrame kind) {
    Peer &peer = peers[process];
    while (receiveSome(peer.socket, peer.reader, 0))
      continue;
    while (std::optional<Frame> frame = peer.reader.next(1 << 16))
      peer.frames[static_cast<StoreFrame>(frame->kind)].push_back(
          frame->fields);
    return std::exchange(peer.frames[kind], {});
  }

  StoreServer &server() {
    if (!started)
      started = std::make_unique<StoreServer>(params, std::vector<Socket>());
    return *started;
  }

  struct Peer {
    Socket socket;
    FrameReader reader;
    std::map<StoreFrame, std::vector<Fields>> frames;
  };
  std::shared_ptr<ManualClock> clock = std::make_shared<ManualClock>();
  StoreParams params;
  std::string said;
  std::map<int, Peer> peers;
  std::set<int> silent;

private:
  uint64_t lastId = 0;
  std::unique_ptr<StoreServer> started;
};

TEST_F(StoreServerTest, WhoDoesNotArriveIsNamed) {
  join(0);
  pass(9.9);
  EXPECT_EQ(said, "");
  pass(0.2);
  EXPECT_EQ(said, "ranks 1, 2 did not arrive within 10 s\n");
  EXPECT_EQ(heard(0, StoreFrame::Failed), std::vector<Fields>{{"75"}});
}

TEST_F(StoreServerTest, WhoKeepsTheOthersWaitingIsNamed) {
  joinAll();
  meet(0);
  pass(15);
  meet(2);
  pass(4.9);
  EXPECT_EQ(said, "");
  pass(0.2);
  EXPECT_EQ(said, "rank 1 did not reach 'iteration 7' within 20 s\n");
  for (int p = 0; p < 3; ++p)
    EXPECT_EQ(heard(p, StoreFrame::Failed), std::vector<Fields>{{"75"}}) << p;
}

TEST_F(StoreServerTest, WhoComesInTimeKeepsNobodyWaiting) {
  joinAll();
  for (int p = 0; p < 3; ++p)
    EXPECT_EQ(heard(p, StoreFrame::Answer).size(), 1u) << p;
  meet(0);
  meet(2);
  pass(19.9);
  meet(1);
  for (int p = 0; p < 3; ++p)
    EXPECT_EQ(heard(p, StoreFrame::Answer),
              (std::vector<Fields>{{"of 0", "of 1", "of 2"}}))
        << p;
  pass(1000);
  EXPECT_EQ(said, "");
}

TEST_F(StoreServerTest, WaitsBeginWhenAllHaveCome) {
  params.joinSeconds = 60;
  join(0);
  join(2);
  meet(0);
  meet(2);
  pass(59);
  EXPECT_EQ(said, "");
  join(1);
  pass(19.9);
  EXPECT_EQ(said, "");
  pass(0.2);
  EXPECT_EQ(said, "rank 1 did not reach 'iteration 7' within 20 s\n");
}

TEST_F(StoreServerTest, WhoSaysWhatItDoesMayTakeItsTime) {
  joinAll();
  meet(0, Store::Patience::WhileReported);
  meet(2, Store::Patience::WhileReported);
  for (int i = 0; i < 10; ++i) {
    pass(19.9);
    say(1, StoreFrame::Report, {"runs"});
  }
  EXPECT_EQ(said, "");
  pass(20.1);
  EXPECT_EQ(said, "rank 1 did not reach 'iteration 7' within 20 s\n");
}

TEST_F(StoreServerTest, WhoAnswersMayTakeItsTimeWhereNobodyIsInAHurry) {
  joinAll();
  meet(0, Store::Patience::WhileAlive);
  meet(2, Store::Patience::WhileAlive);
  for (int i = 0; i < 10; ++i)
    pass(21.9);
  EXPECT_EQ(said, "");
  silent = {1};
  pass(22.1);
  EXPECT_EQ(said, "rank 1 has not answered for 22.1 s\n");
}

TEST_F(StoreServerTest, WhoDoesNotAnswerEndsTheRunWhateverTheOthersDo) {
  joinAll();
  say(1, StoreFrame::Enter, {"meet"});
  silent = {1};
  pass(21.9);
  EXPECT_EQ(said, "");
  pass(0.2);
  EXPECT_EQ(said, "rank 1 has not answered for 22.1 s, last seen in 'meet'\n");
  for (int p = 0; p < 3; ++p)
    EXPECT_EQ(heard(p, StoreFrame::Failed), std::vector<Fields>{{"75"}}) << p;
}

TEST_F(StoreServerTest, AFailureNamesWhoDoesNotAnswer) {
  joinAll();
  meet(1);
  silent = {1};
  pass(5);
  say(2, StoreFrame::Fail, {"75", "rank 2 waits for rank 0"});
  EXPECT_EQ(said, "rank 2 waits for rank 0; rank 1 has not answered for 5.0 s, "
                  "last seen in 'iteration 7'\n");
}

TEST_F(StoreServerTest, AServerThatCannotGoOnLeavesNobodyWaiting) {
  joinAll();
  meet(0);
  server().abandon(std::bad_alloc());
  EXPECT_EQ(said, "rank 0 cannot serve the others any more: out of memory\n");
  for (int p = 0; p < 3; ++p) {
    // The run would fail again.
    EXPECT_EQ(heard(p, StoreFrame::Failed), std::vector<Fields>{{"1"}}) << p;
    EXPECT_TRUE(hasBytes(peers[p].socket, 0)) << p;
    EXPECT_FALSE(receiveSome(peers[p].socket, peers[p].reader, 0)) << p;
  }
}

// Process 0 has been silent for longer than the time-out when the others come
// to the next exchange, because they have kept it waiting.
TEST_F(StoreServerTest, WaitingForOthersIsNotSilence) {
  joinAll();
  meet(0, Store::Patience::WhileReported);
  for (int i = 0; i < 3; ++i) {
    pass(15);
    say(1, StoreFrame::Report, {"writes"});
    say(2, StoreFrame::Report, {"writes"});
  }
  for (int p : {1, 2, 1, 2})
    meet(p, Store::Patience::WhileReported);
  pass(19.9);
  EXPECT_EQ(said, "");
  pass(0.2);
  EXPECT_EQ(said, "rank 0 did not reach 'iteration 7' within 20 s\n");
}

TEST_F(StoreServerTest, WithoutATimeOutAllMayTakeTheirTime) {
  params.timeoutSeconds = 0;
  joinAll();
  meet(0);
  meet(2);
  say(1, StoreFrame::Get, {"key"});
  pass(1e6);
  silent = {1};
  pass(1e6);
  EXPECT_EQ(said, "");
}

TEST_F(StoreServerTest, AValueThatDoesNotComeIsNamed) {
  joinAll();
  say(1, StoreFrame::Get, {"key"});
  pass(20.1);
  EXPECT_EQ(said,
            "rank 1 waits for the value 'key', which did not arrive within "
            "20 s\n");
}

TEST_F(StoreServerTest, ProcessZeroSaysEverySecondThatItIsAlive) {
  joinAll();
  for (int i = 0; i < 3; ++i) {
    pass(0.6);
    pass(0.6);
  }
  EXPECT_EQ(heard(1, StoreFrame::Alive).size(), 3u);
}

TEST_F(StoreServerTest, ReportsTellHowOldTheyAre) {
  joinAll();
  say(1, StoreFrame::Report, {"runs"});
  pass(3);
  heard(0, StoreFrame::Answer);
  say(0, StoreFrame::Reports, {});
  EXPECT_EQ(
      heard(0, StoreFrame::Answer),
      (std::vector<Fields>{{"", "0", "runs", "3000000000", "", "3000000000"}}));
}

TEST_F(StoreServerTest, AConnectionIsOneProcess) {
  joinAll();
  say(2, StoreFrame::Hello, {"2", "3", "test", "program"});
  EXPECT_EQ(said, "lost rank 2: its process has ended, or its machine does not "
                  "answer\n");
}

TEST_F(StoreServerTest, NoMeetingComesAboutAfterAFailure) {
  joinAll();
  meet(0);
  meet(1);
  for (int p = 0; p < 3; ++p)
    heard(p, StoreFrame::Answer);
  // It has failed, and comes to the exchange before it hears of that.
  say(2, {{StoreFrame::Fail, {"75", "why"}},
          {StoreFrame::Exchange, {"iteration 7", "", "0"}}});
  EXPECT_EQ(heard(0, StoreFrame::Failed), std::vector<Fields>{{"75"}});
  EXPECT_EQ(heard(0, StoreFrame::Answer), std::vector<Fields>{});
  // To its failure, and to nothing else.
  EXPECT_EQ(heard(2, StoreFrame::Answer), std::vector<Fields>{{}});
  EXPECT_EQ(said, "why\n");
}

} // namespace
