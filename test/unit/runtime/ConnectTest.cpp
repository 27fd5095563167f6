//===- ConnectTest.cpp - Connecting to several hosts at once --------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "runtime/launch/socket.h"

#include "gtest/gtest.h"

#include <cerrno>
#include <netinet/in.h>
#include <sys/socket.h>

using namespace rondo::runtime;

namespace {

/// A port of this machine that leaves calls without an answer, as a firewall
/// does: nobody takes the calls that wait there, and there is no
/// room for another.
class SilentPort {
public:
  SilentPort() : listener(socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0)) {
    sockaddr_in address{};
    address.sin_family = AF_INET;
    address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    socklen_t size = sizeof address;
    auto *generic = reinterpret_cast<sockaddr *>(&address);
    EXPECT_EQ(bind(listener.descriptor(), generic, size), 0);
    EXPECT_EQ(listen(listener.descriptor(), 0), 0);
    EXPECT_EQ(getsockname(listener.descriptor(), generic, &size), 0);
    for (Socket &call : calls) {
      call = Socket(
          socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0));
      EXPECT_TRUE(connect(call.descriptor(), generic, size) == 0 ||
                  errno == EINPROGRESS);
    }
  }
  HostPort place() const { return {loopbackAddress, portOf(listener)}; }

private:
  Socket listener;
  Socket calls[3];
};

TEST(ConnectToAll, NoHostWaitsForAnother) {
  const SilentPort first, second;
  const Socket listener = listenOn(0, true);
  struct HasCalled {};
  const Deadline deadline(60);
  std::vector<std::string> reasons;
  auto look = [&] {
    if (hasBytes(listener, 0))
      throw HasCalled();
  };
  // One after the other, the last one would be called after a minute or two.
  EXPECT_THROW(
      connectToAll(
          {first.place(), second.place(), {loopbackAddress, portOf(listener)}},
          deadline, look, reasons),
      HasCalled);
  EXPECT_LT(deadline.elapsedSeconds(), 30);
}

TEST(ConnectToAll, SaysWhoDidNotAnswer) {
  const SilentPort silent;
  const Socket listener = listenOn(0, true);
  std::vector<std::string> reasons;
  const std::vector<Socket> sockets =
      connectToAll({silent.place(), {loopbackAddress, portOf(listener)}},
                   Deadline(0.3), {}, reasons);
  EXPECT_FALSE(sockets[0]);
  EXPECT_TRUE(sockets[1]);
  EXPECT_EQ(reasons, (std::vector<std::string>{"Connection timed out", ""}));
}

} // namespace
