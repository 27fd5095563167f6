//===- StoreFailureTest.cpp - What ends the waits of a store --------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "AllocationFailure.h"
#include "StoreFixture.h"

#include "runtime/launch/store_server.h"
#include "test/unit/ErrorThrownBy.h"

#include <atomic>
#include <new>
#include <sys/socket.h>

using namespace rondo::runtime;
using rondo::runtime::test::AllocationFailure;
using rondo::runtime::test::Endings;
using rondo::runtime::test::StoreTest;

namespace {

/// Any thread may advance it.
class SharedClock : public Clock {
public:
  int64_t now() override { return ns; }
  std::atomic<int64_t> ns{0};
};

/// Process 1's store; the test is process 0.
class LoneStore : public StoreTest {
protected:
  LoneStore() {
    int fds[2];
    EXPECT_EQ(socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, fds), 0);
    zero = Socket(fds[0]);
    StoreParams params = paramsOf(1, 2);
    params.clock = clock;
    store = makeTcpStore(params, nullptr, Socket(fds[1]), FrameReader(), "");
  }

  Frame hear() {
    std::optional<Frame> frame = reader.next(1 << 20);
    while (!frame && receiveSome(zero, reader, 10))
      frame = reader.next(1 << 20);
    return frame.value_or(Frame());
  }
  void say(StoreFrame kind, uint64_t id, std::vector<std::string> fields) {
    EXPECT_TRUE(
        sendAll(zero, encode({static_cast<uint32_t>(kind), id, fields})));
  }
  std::shared_ptr<SharedClock> clock = std::make_shared<SharedClock>();
  Socket zero;
  FrameReader reader;
  std::unique_ptr<Store> store;
};

TEST_F(LoneStore, EndsIfProcessZeroDoesNotAnswer) {
  store->enter(Phase::Meet);
  std::thread later([&] {
    hear();
    hear();
    clock->ns = 12'100'000'000;
  });
  const std::string error = errorThrownBy([&] { store->get("key"); });
  later.join();
  EXPECT_EQ(error, "rank 0 has not answered for 12 s; rank 1 waits in 'meet'");
  EXPECT_EQ(errorThrownBy([&] { store->check(); }), error);
}

TEST_F(LoneStore, AnswersThatItIsAlive) {
  say(StoreFrame::Alive, 0, {});
  EXPECT_EQ(hear().kind, static_cast<uint32_t>(StoreFrame::Alive));
}

TEST_F(LoneStore, EndsIfARequestCannotBeSent) {
  int fds[2];
  ASSERT_EQ(socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, fds), 0);
  // Frames of process 0 would still arrive.
  const Socket deaf(fds[0]);
  ASSERT_EQ(shutdown(deaf.descriptor(), SHUT_RD), 0);
  StoreParams params = paramsOf(1, 2);
  // It would wait for ever.
  params.timeoutSeconds = 0;
  const std::unique_ptr<Store> other =
      makeTcpStore(params, nullptr, Socket(fds[1]), FrameReader(), "");
  EXPECT_EQ(errorThrownBy([&] { other->set("key", "value"); }),
            "lost rank 0: its process has ended, or its machine does not "
            "answer");
}

TEST_F(LoneStore, AnAnswerToARequestThatWasNotSentIsIgnored) {
  const std::string value(1 << 20, 'x');
  {
    // That of the frame, which is larger than the value.
    const AllocationFailure failure((1 << 20) + 32,
                                    AllocationFailure::ThisThread);
    EXPECT_THROW(store->exchange("all", value, Store::Patience::WhileAlive),
                 std::bad_alloc);
    EXPECT_TRUE(failure.hasStruck());
  }
  std::thread answering([&] {
    const Frame frame = hear();
    for (uint64_t id = 1; id <= frame.id; ++id)
      say(StoreFrame::Answer, id, {"of request " + std::to_string(id)});
  });
  EXPECT_EQ(store->get("key"), "of request 3");
  answering.join();
}

TEST_F(StoreTest, AnExceptionOfTheServerEndsTheRun) {
  /// In process 0's server alone.
  struct NoMemory : Clock {
    int64_t now() override {
      if (isDue)
        throw std::bad_alloc();
      return 0;
    }
    std::atomic<bool> isDue{false};
  };
  const auto clock = std::make_shared<NoMemory>();
  const Endings endings = run(
      2,
      [&](Store &store, int p) {
        if (p == 0)
          clock->isDue = true;
        store.get("what nobody sets");
      },
      [&](StoreParams &params) {
        if (params.process == 0)
          params.clock = clock;
      });
  // The run would fail again.
  EXPECT_EQ(endings, (Endings{"peer 1", "peer 1"}));
  EXPECT_EQ(said, "rank 0 cannot serve the others any more: out of memory\n");
}

TEST_F(LoneStore, HasNoMemoryForAnAnswer) {
  const std::string frame = encode({static_cast<uint32_t>(StoreFrame::Answer),
                                    2,
                                    {std::string(3 << 20, 'x')}});
  const AllocationFailure failure(1 << 20, AllocationFailure::OtherThreads);
  // Fails once the other side no longer reads.
  std::thread answering([&] { (void)sendAll(zero, frame); });
  try {
    store->get("key");
    ADD_FAILURE() << "it got the answer";
  } catch (const Error &error) {
    EXPECT_STREQ(error.what(),
                 "rank 1 cannot read what rank 0 sends: out of memory");
    EXPECT_EQ(error.code, Exit::Failure);
  }
  // What nobody reads would stay.
  shutdown(zero.descriptor(), SHUT_RDWR);
  answering.join();
}

TEST_F(StoreTest, NoMemoryForAValueEndsTheRun) {
  const Endings endings = run(2, [&](Store &store, int p) {
    if (p == 0)
      store.get("value");
    const std::string value(3 << 20, 'x');
    const AllocationFailure failure(1 << 21, AllocationFailure::OtherThreads);
    store.set("value", value);
    store.get("what nobody sets");
  });
  EXPECT_EQ(endings, (Endings{"peer 1", "peer 1"}));
  EXPECT_EQ(said, "rank 0 ran out of memory for data from rank 1\n");
}

TEST_F(StoreTest, EnteringAPhaseAgainDoesNothing) {
  std::vector<Phase> entered;
  run(
      2,
      [](Store &store, int p) {
        for (Phase phase : {Phase::Iterate, Phase::Iterate, Phase::Save})
          if (p == 1)
            store.enter(phase);
        store.leave();
      },
      [&](StoreParams &params) {
        if (params.process == 1)
          params.entered = [&](Phase phase) { entered.push_back(phase); };
      });
  EXPECT_EQ(entered,
            (std::vector<Phase>{Phase::Join, Phase::Iterate, Phase::Save}));
}

} // namespace
