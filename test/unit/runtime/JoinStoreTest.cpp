//===- JoinStoreTest.cpp - How processes find process 0 -------------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "StoreFixture.h"

#include "runtime/launch/handshake.h"
#include "runtime/launch/socket.h"
#include "runtime/launch/store_server.h"

#include <chrono>
#include <fstream>
#include <mutex>
#include <sys/socket.h>
#include <thread>

using namespace rondo::runtime;
using rondo::runtime::test::Endings;
using rondo::runtime::test::StoreTest;
using rondo::runtime::test::TemporaryFile;

namespace {

TEST_F(StoreTest, AnotherProgramIsTurnedAway) {
  Endings endings = run(
      2, [](Store &store, int) { store.leave(); },
      [](StoreParams &params) {
        if (params.process == 1)
          params.program = "another";
      });
  EXPECT_EQ(endings[0], "peer 2");
  EXPECT_EQ(endings[1], "this process runs a different program than rank 0, "
                        "or a different build of it");
}

TEST_F(StoreTest, WhoJoinsAFailedRunEndsWithItsCode) {
  // Process 1 is turned away before process 0 joins its own server.
  where.broadcast = [](const std::string &address) {
    std::string why;
    const std::optional<MeetingPlace> place = decodePlace(address);
    EXPECT_TRUE(place);
    Socket socket = connectTo({"127.0.0.1", place->address.port}, 10, why);
    EXPECT_EQ(enter(socket, place->secret, Line::Store, 10), Entry::Admitted);
    EXPECT_TRUE(
        sendAll(socket, encode({static_cast<uint32_t>(StoreFrame::Hello),
                                1,
                                {"1", "2", "test", "another"}})));
    FrameReader reader;
    while (receiveSome(socket, reader, 10))
      while (std::optional<Frame> frame = reader.next(1 << 16))
        if (static_cast<StoreFrame>(frame->kind) == StoreFrame::Refused)
          return address;
    ADD_FAILURE() << why;
    return address;
  };
  try {
    joinStore(paramsOf(0, 2), where);
    FAIL();
  } catch (const PeerFailed &failure) {
    EXPECT_EQ(failure.code, Exit::Usage);
  }
}

TEST_F(StoreTest, TwoProcessesWithOneRankAreAnError) {
  std::thread zero(
      [&] { EXPECT_THROW(joinStore(paramsOf(0, 3), where), PeerFailed); });
  int refused = 0;
  std::vector<std::thread> ones;
  for (int i = 0; i < 2; ++i)
    ones.emplace_back([&] {
      try {
        joinStore(paramsOf(1, 3), where);
      } catch (const Error &error) {
        EXPECT_STREQ(error.what(), "two processes have rank 1");
        std::lock_guard<std::mutex> lock(mutex);
        ++refused;
      } catch (const PeerFailed &) {
      }
    });
  zero.join();
  for (std::thread &one : ones)
    one.join();
  EXPECT_EQ(refused, 1);
}

TEST_F(StoreTest, AnOccupiedPortAndAnotherRunAreSteppedOver) {
  Socket occupied = listenOn(0, true);
  where.file.clear();
  where.host = "127.0.0.1";
  where.port = portOf(occupied);
  where.numPorts = 4;
  // Another run takes the next port, so that ours comes after both.
  StoreParams other = paramsOf(0, 1);
  other.job = "another";
  Rendezvous otherWhere = where;
  std::unique_ptr<Store> another = joinStore(other, otherWhere);
  // A silent one costs 3 s; this one refuses.
  occupied.shutDown();
  EXPECT_EQ(run(2, [](Store &store, int) { store.leave(); }),
            (Endings{"fine", "fine"}));
  another->leave();
}

TEST_F(StoreTest, PortsThatOthersHaveAreGivenUpSoon) {
  where.file.clear();
  where.host = "127.0.0.1";
  where.numPorts = 2;
  std::unique_ptr<Store> others[2];
  StoreParams params = paramsOf(0, 1);
  params.job = "another";
  for (Socket port = listenOn(0, true);; port = listenOn(0, true)) {
    where.port = portOf(port);
    port = Socket();
    try {
      for (int i = 0; i < 2; ++i) {
        Rendezvous one = where;
        one.numPorts = 1;
        one.port += i;
        others[i] = joinStore(params, one);
      }
      break;
    } catch (const Error &) {
      // The second port is taken.
    }
  }
  params = paramsOf(1, 2);
  params.joinSeconds = 3;
  try {
    joinStore(params, where);
    FAIL();
  } catch (const Error &error) {
    EXPECT_EQ(error.code, Exit::RunFailure);
    EXPECT_EQ(std::string(error.what()),
              "rank 1 could not find rank 0 at 127.0.0.1:" +
                  std::to_string(where.port) + " to " +
                  std::to_string(where.port + 1) +
                  ", where other programs listen: a run named 'another' "
                  "answers there; this one is 'test'; choose another place "
                  "with --rdzv HOST:PORT");
  }
  for (std::unique_ptr<Store> &other : others)
    other->leave();
}

TEST_F(StoreTest, ARunThatHasFailedLeavesNewcomersToTheNext) {
  Socket port = listenOn(0, true);
  where.file.clear();
  where.host = "127.0.0.1";
  where.port = portOf(port);
  port = Socket();
  run(2, [&](Store &store, int process) {
    if (process == 1) {
      store.fail(Exit::RunFailure, "it is over");
      return;
    }
    EXPECT_THROW(store.barrier("never"), PeerFailed);
    std::string why;
    Socket newcomer = connectTo({"127.0.0.1", where.port}, 10, why);
    ASSERT_EQ(enter(newcomer, "", Line::Store, 10), Entry::Admitted);
    ASSERT_TRUE(
        sendAll(newcomer, encode({static_cast<uint32_t>(StoreFrame::Hello),
                                  1,
                                  {"1", "2", "test", "program"}})));
    FrameReader reader;
    std::optional<Frame> frame;
    while (!frame) {
      frame = reader.next(1 << 16);
      if (!frame) {
        ASSERT_TRUE(receiveSome(newcomer, reader, 10));
      }
    }
    EXPECT_EQ(static_cast<StoreFrame>(frame->kind), StoreFrame::Refused);
    EXPECT_EQ(frame->fields.at(0), "job");
    EXPECT_EQ(frame->fields.at(1), "the run that answers there is ending");
  });
}

TEST_F(StoreTest, WhoFindsNobodySaysWhere) {
  Socket port = listenOn(0, true);
  where.file.clear();
  where.host = "127.0.0.1";
  where.port = portOf(port);
  port = Socket();
  StoreParams params = paramsOf(1, 2);
  params.joinSeconds = 0.2 - silenceSeconds;
  try {
    joinStore(params, where);
    FAIL();
  } catch (const Error &error) {
    EXPECT_EQ(error.code, Exit::RunFailure);
    std::string text = error.what();
    EXPECT_NE(text.find("rank 1 could not find rank 0 at 127.0.0.1:" +
                        std::to_string(where.port)),
              std::string::npos)
        << text;
    EXPECT_NE(text.find("Connection refused"), std::string::npos) << text;
  }
}

TEST_F(StoreTest, OneProcessAloneNeedsNoConnection) {
  std::unique_ptr<Store> store = makeLocalStore();
  store->set("key", "value");
  EXPECT_EQ(store->get("key"), "value");
  EXPECT_EQ(store->exchange("all", "mine"), Endings{"mine"});
  EXPECT_THROW(store->get("absent"), Error);
}

TEST(HostPort, IsReadOrRefused) {
  EXPECT_EQ(parseHostPort("--rdzv", "node1:29500").host, "node1");
  EXPECT_EQ(parseHostPort("--rdzv", "node1:29500").port, 29500);
  EXPECT_EQ(parseHostPort("--rdzv", "[fd00::7]:29500").host, "fd00::7");
  EXPECT_EQ(textOf({"fd00::7", 29500}), "[fd00::7]:29500");
  EXPECT_EQ(textOf({"node1", 29500}), "node1:29500");
  for (const char *wrong :
       {"", "node", "node:", ":1", "node:x", "node:0", "node:65536", "node:-1",
        "node:123456", "fd00::7:29500", "[]:1", "[fd00::7]",
        "[[fd00::7]]:29500", "[[]:1", "node[1]:1"})
    EXPECT_THROW(parseHostPort("--rdzv", wrong), Error) << wrong;
}

TEST(Socket, ServesBothFamilies) {
  Socket all = listenOn(0, false);
  ASSERT_TRUE(all);
  std::string why;
  EXPECT_TRUE(connectTo({"127.0.0.1", portOf(all)}, 5, why)) << why;
  std::ifstream interfaces("/proc/net/if_inet6");
  std::string address;
  bool hasIpv6 = false;
  while (interfaces >> address)
    hasIpv6 |= address == "00000000000000000000000000000001";
  if (!hasIpv6)
    GTEST_SKIP() << "this machine has no IPv6";
  EXPECT_TRUE(connectTo({"::1", portOf(all)}, 5, why)) << why;
  // A port taken for one family is taken for all.
  EXPECT_FALSE(listenOn(portOf(all), true));
  EXPECT_FALSE(listenOn(portOf(all), false));
}

TEST(Frames, ForeignBytesAreRefused) {
  FrameReader reader;
  reader.add("GET / HTTP/1.1\r\nHost: localhost\r\n\r\n", 35);
  EXPECT_THROW(reader.next(1000), Error);
  FrameReader limited;
  std::string bytes = encode({1, 2, {std::string(100, 'x')}});
  limited.add(bytes.data(), bytes.size());
  EXPECT_THROW(limited.next(99), Error);
  // More bytes than its fields have.
  FrameReader loose;
  std::string frame = encode({1, 2, {"a", "b"}});
  --frame[20]; // the number of fields
  loose.add(frame.data(), frame.size());
  EXPECT_THROW(loose.next(1000), Error);
  FrameReader split;
  for (char c : bytes) {
    EXPECT_FALSE(split.next(1000));
    split.add(&c, 1);
  }
  EXPECT_EQ(split.next(1000)->fields.at(0), std::string(100, 'x'));
}

} // namespace
