//===- TcpConnectTest.cpp - Connections between the processes of a run ----===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "ExchangeStore.h"

#include "runtime/base/clock.h"
#include "runtime/base/error.h"
#include "runtime/launch/handshake.h"
#include "runtime/launch/socket.h"
#include "runtime/transport/endpoint.h"

#include <gtest/gtest.h>

#include <future>
#include <poll.h>

using namespace rondo::runtime;

namespace {

const std::string runSecret = "sixteen letters.";

/// The store of process 2. The others listen at these ports of this machine.
class StoreOfTwo : public test::ExchangeStore {
public:
  StoreOfTwo(int first, int second) : first(first), second(second) {}
  std::vector<std::string> exchange(const std::string &name,
                                    const std::string &value,
                                    Patience) override {
    if (name == "the connection of processes")
      return {std::to_string(first) + " 7", std::to_string(second) + " 7",
              value};
    return {value, value, value};
  }
  std::string secret() override { return runSecret; }

private:
  const int first, second;
};

/// Serves a port until a process is admitted; invalid after the deadline.
Socket serve(Socket port, int64_t deadlineNs) {
  std::vector<Socket> ports;
  ports.push_back(std::move(port));
  Listener listener(std::move(ports), {runSecret, Line::Messages, 16, nullptr});
  while (nowNs() < deadlineNs) {
    std::vector<pollfd> waiting;
    listener.addTo(waiting, nowNs());
    poll(waiting.data(), waiting.size(), 50);
    std::vector<Socket> admitted = listener.admit(waiting, nowNs());
    if (!admitted.empty())
      return std::move(admitted.front());
  }
  return Socket();
}

/// Rank 1 is not kept waiting for an answer until rank 0 asks.
TEST(TcpConnect, AnswersWhoeverAsksFirst) {
  constexpr double seconds = 5;
  Socket first = listenOn(0, /*onLoopbackOnly=*/true),
         second = listenOn(0, /*onLoopbackOnly=*/true);
  ASSERT_TRUE(first && second);
  StoreOfTwo store(portOf(first), portOf(second));
  World world;
  world.process = 2;
  world.processes = 3;
  world.store = &store;
  auto connected = std::async(std::launch::async, [&] {
    try {
      std::vector<Socket> sockets =
          connectProcesses(world, 1, {true, true, false}, seconds);
      return sockets[0] && sockets[1] ? std::string() : "a socket is missing";
    } catch (const Error &error) {
      return std::string(error.what());
    }
  });
  const int64_t deadlineNs = nowNs() + int64_t(seconds * 1e9);
  const Socket toSecond = serve(std::move(second), deadlineNs);
  EXPECT_TRUE(toSecond) << "rank 1 has no answer while rank 0 is silent";
  const Socket toFirst = serve(std::move(first), deadlineNs);
  EXPECT_TRUE(toFirst);
  EXPECT_EQ(connected.get(), "");
}

} // namespace
