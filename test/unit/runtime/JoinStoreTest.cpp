//===- JoinStoreTest.cpp - How processes find process 0 -------------------===//

#include "StoreFixture.h"

#include <chrono>
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
  EXPECT_EQ(endings[1], "this process runs another program than rank 0, or the "
                        "same one compiled otherwise");
}

TEST_F(StoreTest, WhoJoinsAFailedRunEndsWithItsCode) {
  // Process 1 is turned away before process 0 joins its own server.
  where.broadcast = [](const std::string &address) {
    std::string why;
    Socket socket = connectTo(
        {"127.0.0.1", std::stoi(address.substr(address.find(' ')))}, 10, why);
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
        EXPECT_STREQ(error.what(), "two processes are rank 1");
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
  // Another run takes the next port, so that ours is behind both.
  StoreParams other = paramsOf(0, 1);
  other.job = "another";
  Rendezvous otherWhere = where;
  std::unique_ptr<Store> another = joinStore(other, otherWhere);
  // One that is silent costs 3 s; this one refuses.
  occupied.shutDown();
  EXPECT_EQ(run(2, [](Store &store, int) { store.leave(); }),
            (Endings{"fine", "fine"}));
  another->leave();
}

TEST_F(StoreTest, WhoFindsNobodySaysWhere) {
  Socket port = listenOn(0, true);
  where.file.clear();
  where.host = "127.0.0.1";
  where.port = portOf(port);
  port = Socket();
  StoreParams params = paramsOf(1, 2);
  params.joinSeconds = -4.8;
  try {
    joinStore(params, where);
    FAIL();
  } catch (const Error &error) {
    EXPECT_EQ(error.code, Exit::RunFailure);
    std::string text = error.what();
    EXPECT_NE(text.find("rank 1 has not found rank 0 at 127.0.0.1:" +
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
  for (const char *wrong : {"", "node", "node:", ":1", "node:x", "node:0",
                            "node:65536", "node:-1", "node:123456"})
    EXPECT_THROW(parseHostPort("--rdzv", wrong), Error) << wrong;
}

TEST(Frames, ForeignBytesAreRefused) {
  FrameReader reader;
  reader.add("GET / HTTP/1.1\r\nHost: localhost\r\n\r\n", 35);
  EXPECT_THROW(reader.next(1000), Error);
  FrameReader limited;
  std::string bytes = encode({1, 2, {std::string(100, 'x')}});
  limited.add(bytes.data(), bytes.size());
  EXPECT_THROW(limited.next(99), Error);
  FrameReader split;
  for (char c : bytes) {
    EXPECT_FALSE(split.next(1000));
    split.add(&c, 1);
  }
  EXPECT_EQ(split.next(1000)->fields.at(0), std::string(100, 'x'));
}

} // namespace
