//===- TransportWaitTest.cpp - Waits between iterations have an end -------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "test/unit/ErrorThrownBy.h"
#include "test/unit/conformance/MemoryEndpoint.h"

#include "runtime/transport/endpoint.h"

#include "gtest/gtest.h"

#include <atomic>
#include <new>
#include <thread>

using namespace rondo::runtime;
using rondo::runtime::test::MemoryEndpoint;
using rondo::runtime::test::Network;

namespace {

/// Advances a second whenever it is asked, once it runs.
class FastClock : public Clock {
public:
  int64_t now() override { return isRunning ? ns += 1'000'000'000 : 0; }
  std::atomic<bool> isRunning{true};

private:
  std::atomic<int64_t> ns{0};
};

class TransportWait : public testing::Test {
protected:
  TransportWait() {
    params.ranks = 2;
    params.channels = {{0, 1, 4}};
    params.edges = {{Message::Activation, 2, 3}};
    options.timeoutSeconds = 5;
    options.clock = clock;
  }
  std::unique_ptr<Transport> make(int32_t process,
                                  std::unique_ptr<Endpoint> endpoint) {
    World world;
    world.process = process;
    world.processes = world.localProcesses = 2;
    return makeProcessTransport(params, world, std::move(endpoint), options);
  }
  std::unique_ptr<Transport> make(int32_t process) {
    return make(process, std::make_unique<MemoryEndpoint>(network, process));
  }

  std::shared_ptr<FastClock> clock = std::make_shared<FastClock>();
  std::shared_ptr<Network> network = std::make_shared<Network>();
  TransportParams params;
  TransportOptions options;
};

TEST_F(TransportWait, APeerThatDoesNotMeetIsNamed) {
  EXPECT_EQ(errorThrownBy([&] { make(1); }, Exit::RunFailure),
            "rank 1 waits for rank 0 in 'meet', which did not answer within "
            "5 s");
}

TEST_F(TransportWait, APeerThatDoesNotBringItsTransfersIsNamed) {
  clock->isRunning = false;
  std::unique_ptr<Transport> other;
  std::thread meeting([&] { other = make(0); });
  const std::unique_ptr<Transport> mine = make(1);
  meeting.join();
  clock->isRunning = true;
  const std::string error = "rank 1 waits for rank 0 in 'take transfers', "
                            "which did not answer within 5 s";
  EXPECT_EQ(errorThrownBy([&] { mine->takeTransfers(); }, Exit::RunFailure),
            error);
}

/// Has no memory, once, in the first thread that is not its maker's.
class PoorEndpoint : public MemoryEndpoint {
public:
  PoorEndpoint(std::shared_ptr<Network> network, int32_t rank,
               std::atomic<bool> &hasThrown)
      : MemoryEndpoint(std::move(network), rank), hasThrown(hasThrown) {}
  bool test(int32_t operation, Ended &ended) override {
    if (std::this_thread::get_id() != maker && !hasThrown.exchange(true))
      throw std::bad_alloc();
    return MemoryEndpoint::test(operation, ended);
  }

private:
  const std::thread::id maker = std::this_thread::get_id();
  std::atomic<bool> &hasThrown;
};

TEST_F(TransportWait, AnExceptionOfTheHelpingThreadReachesTheRank) {
  params.measures = false;
  std::atomic<bool> hasThrown{false};
  const std::unique_ptr<Transport> transport =
      make(1, std::make_unique<PoorEndpoint>(network, 1, hasThrown));
  char data[8] = {};
  const Transport::Ticket ticket =
      transport->receive(0, {0, 0, 0, 1}, data, sizeof data);
  while (!hasThrown)
    std::this_thread::yield();
  MemoryEndpoint(network, 0).send(1, Endpoint::Messages, 0, data, sizeof data);
  EXPECT_THROW(transport->waitReceived(0, ticket), std::bad_alloc);
}

} // namespace
