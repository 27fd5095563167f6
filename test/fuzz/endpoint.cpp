//===- endpoint.cpp - Fuzzes messages between processes by TCP ------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The input is what process 0 sends to process 1. Its first bytes are the sizes
// that process 1 expects.
//
//===----------------------------------------------------------------------===//

#include "runtime/transport/endpoint.h"
#include "runtime/launch/handshake.h"
#include "runtime/launch/socket.h"
#include "test/fuzz/Target.h"
#include "test/unit/runtime/ExchangeStore.h"

#include <cstring>
#include <memory>
#include <sys/socket.h>
#include <thread>
#include <vector>

using namespace rondo::runtime;
using rondo::fuzz::require;

namespace {

/// Requests of process 1 while it connects. Anything lost is lost because the
/// run has failed.
class FakeStore : public rondo::runtime::test::ExchangeStore {
public:
  explicit FakeStore(int port) : port(port) {}
  std::vector<std::string> exchange(const std::string &name,
                                    const std::string &value,
                                    Patience) override {
    if (name == "the places of processes")
      return {value, value};
    return {std::to_string(port) + " 7", value};
  }
  /// Ends waits for messages that the input does not have.
  void check() override {
    if (isConnected)
      throw PeerFailed{Exit::RunFailure};
  }
  bool fail(Exit, const std::string &) override { return true; }

  bool isConnected = false;

private:
  const int port;
};

/// A message that process 1 waits for.
struct Expected {
  std::unique_ptr<char[]> data;
  int64_t bytes = 0;
  int32_t operation = 0;
};

} // namespace

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
  constexpr size_t numMessages = 4;
  if (size < numMessages)
    return 0;
  static const Socket listener = listenOn(0, true);
  FakeStore store(portOf(listener));
  World world;
  world.process = world.localProcess = 1;
  world.processes = world.localProcesses = 2;
  world.store = &store;
  Socket connections[Endpoint::numPurposes];
  // Process 1 waits for what each of them begins with.
  std::thread called([&] {
    for (Socket &connection : connections) {
      connection = Socket(accept(listener.descriptor(), nullptr, nullptr));
      const Challenge open = makeChallenge("");
      require(send(connection.descriptor(), &open, sizeof open, MSG_NOSIGNAL) ==
                  sizeof open,
              "a connection begins");
    }
  });
  const std::unique_ptr<Endpoint> endpoint =
      makeTcpEndpoint(world, Peers(2 * Endpoint::numPurposes, true), {});
  called.join();
  store.isConnected = true;
  Socket ofPurpose[Endpoint::numPurposes];
  for (Socket &connection : connections) {
    // Frees the port at once.
    linger none = {1, 0};
    setsockopt(connection.descriptor(), SOL_SOCKET, SO_LINGER, &none,
               sizeof none);
    char greeting[16];
    require(recv(connection.descriptor(), greeting, sizeof greeting,
                 MSG_WAITALL) == sizeof greeting,
            "a process greets");
    int32_t purpose;
    std::memcpy(&purpose, greeting + 12, sizeof purpose);
    require(purpose >= 0 && purpose < Endpoint::numPurposes,
            "a greeting has a purpose");
    ofPurpose[purpose] = std::move(connection);
  }
  std::vector<Expected> expected(numMessages);
  for (size_t m = 0; m < numMessages; ++m) {
    expected[m].bytes = data[m];
    expected[m].data = std::make_unique<char[]>(data[m]);
    expected[m].operation = endpoint->receive(
        0, Endpoint::Messages, expected[m].data.get(), expected[m].bytes);
  }
  const std::string sent =
      rondo::fuzz::textOf(data + numMessages, size - numMessages);
  require(sendAll(ofPurpose[Endpoint::Messages], sent),
          "the input can be sent");
  shutdown(ofPurpose[Endpoint::Messages].descriptor(), SHUT_WR);
  size_t at = 0;
  try {
    for (Expected &message : expected) {
      Endpoint::Ended ended;
      while (!endpoint->test(message.operation, ended))
        continue;
      if (ended.bytes > message.bytes)
        break;
      int64_t header[2];
      require(at + sizeof header + ended.bytes <= sent.size(),
              "no message has more bytes than were sent");
      std::memcpy(header, sent.data() + at, sizeof header);
      require(header[0] == ended.bytes &&
                  std::memcmp(sent.data() + at + sizeof header,
                              message.data.get(), ended.bytes) == 0,
              "a message arrives as it was sent");
      at += sizeof header + ended.bytes;
    }
  } catch (const PeerFailed &) {
  }
  return 0;
}
