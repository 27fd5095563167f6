//===- store.cpp - Fuzzes the store's protocol ----------------------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The input says what processes send to the server, in which order, and how
// much time passes in between. The server takes its turn after each of these.
//
//===----------------------------------------------------------------------===//

#include "runtime/base/error.h"
#include "runtime/launch/store_server.h"
#include "test/fuzz/Target.h"
#include "test/unit/runtime/ManualClock.h"

#include <set>
#include <sys/socket.h>

using namespace rondo::runtime;
using rondo::fuzz::require;
using rondo::runtime::test::ManualClock;

namespace {

constexpr int processes = 3, connections = 4;

/// The input as a sequence of choices.
class Choices {
public:
  Choices(const uint8_t *data, size_t size) : data(data), end(data + size) {}
  bool hasMore() const { return data != end; }
  int upTo(int most) { return hasMore() ? *data++ % (most + 1) : 0; }
  std::string text() {
    static const char *const words[] = {"",
                                        "0",
                                        "1",
                                        "2",
                                        "3",
                                        "75",
                                        "test",
                                        "program",
                                        "k",
                                        "-1",
                                        "9999999999999999999"};
    constexpr int numWords = sizeof words / sizeof *words;
    if (int word = upTo(numWords); word < numWords)
      return words[word];
    std::string bytes(upTo(40), '\0');
    for (char &c : bytes)
      c = static_cast<char>(upTo(255));
    return bytes;
  }

private:
  const uint8_t *data, *end;
};

/// A process's view of the server.
class Peer {
public:
  explicit Peer(StoreServer &server) {
    int fds[2];
    require(socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0,
                       fds) == 0,
            "there are sockets");
    socket = Socket(fds[0]);
    server.adopt(Socket(fds[1]));
  }

  void send(StoreFrame kind, std::vector<std::string> fields) {
    asked.insert(++lastId);
    sendBytes(encode({static_cast<uint32_t>(kind), lastId, std::move(fields)}));
  }
  void sendBytes(const std::string &bytes) { (void)sendAll(socket, bytes); }
  void endSpeaking() { shutdown(socket.descriptor(), SHUT_WR); }

  /// Everything received must be a frame that a process can expect.
  void hear() {
    while (receiveSome(socket, reader, 0))
      continue;
    while (std::optional<Frame> frame = reader.next(1 << 20)) {
      const auto kind = static_cast<StoreFrame>(frame->kind);
      require(kind >= StoreFrame::Alive && kind <= StoreFrame::Failed,
              "the server sends what servers send");
      if (kind == StoreFrame::Answer)
        require(asked.erase(frame->id) == 1, "a request is answered once");
      if (kind == StoreFrame::Failed)
        require(++failures == 1, "a failure is told once");
    }
  }

private:
  Socket socket;
  FrameReader reader;
  std::set<uint64_t> asked;
  uint64_t lastId = 0;
  int failures = 0;
};

} // namespace

static void act(Choices &choices, Peer &peer, ManualClock &clock) {
  switch (choices.upTo(8)) {
  case 0:
    return peer.send(StoreFrame::Hello,
                     {std::to_string(choices.upTo(processes)),
                      std::to_string(processes), "test", "program"});
  case 1: {
    std::string bytes;
    for (int i = choices.upTo(3); i > 0; --i)
      bytes += choices.text();
    return peer.sendBytes(bytes);
  }
  case 2:
    return peer.endSpeaking();
  case 3:
    clock.advance(0.05 * choices.upTo(255));
    return;
  case 4:
    return peer.send(StoreFrame::Exchange,
                     {"k", choices.text(), std::to_string(choices.upTo(3))});
  default: {
    const auto kind = static_cast<StoreFrame>(choices.upTo(17));
    std::vector<std::string> fields;
    for (int i = choices.upTo(4); i > 0; --i)
      fields.push_back(choices.text());
    return peer.send(kind, std::move(fields));
  }
  }
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
  auto clock = std::make_shared<ManualClock>();
  int said = 0;
  StoreParams params;
  params.processes = processes;
  params.job = "test";
  params.program = "program";
  params.joinSeconds = 5;
  params.timeoutSeconds = 10;
  params.clock = clock;
  params.say = [&](const std::string &text) {
    require(!text.empty() && ++said == 1, "one reason is printed");
  };
  StoreServer server(params, {});
  std::vector<Peer> peers;
  for (int i = 0; i < connections; ++i)
    peers.emplace_back(server);
  Choices choices(data, size);
  while (choices.hasMore()) {
    act(choices, peers[choices.upTo(connections - 1)], *clock);
    server.turn(0);
    for (Peer &peer : peers)
      peer.hear();
  }
  return 0;
}
