//===- tcp.cpp - Ranks are processes connected by TCP ---------------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// One connection per pair of processes that talk and purpose, so that no
// message waits for one of another purpose. Nothing is buffered in between:
// bytes are read from a connection when a receive has been posted, straight
// into its memory, and until then TCP holds back the sender.
//
//===----------------------------------------------------------------------===//

#include "runtime/transport/endpoint.h"

#include "runtime/base/clock.h"
#include "runtime/base/error.h"
#include "runtime/launch/socket.h"
#include "runtime/launch/store.h"
#include "runtime/launch/world.h"

#include <algorithm>
#include <cerrno>
#include <deque>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <sys/socket.h>
#include <sys/uio.h>

using namespace rondo::runtime;

namespace {

/// Precedes each message.
struct Header {
  int64_t bytes;
  int64_t tag;
};

class TcpEndpoint : public Endpoint {
public:
  TcpEndpoint(const World &world, const Peers &peers, double timeoutSeconds);

  int32_t largestTag() const override { return INT32_MAX; }
  int32_t send(int32_t to, Purpose purpose, int32_t tag, const void *data,
               int64_t bytes) override {
    // The data are only read.
    int32_t number = add(to, purpose, const_cast<void *>(data), bytes, true);
    operations[number].header = {bytes, tag};
    linkOf(to, purpose).sends.push_back(number);
    return number;
  }
  int32_t receive(int32_t from, Purpose purpose, void *data,
                  int64_t bytes) override {
    int32_t number = add(from, purpose, data, bytes, false);
    linkOf(from, purpose).receives.push_back(number);
    return number;
  }
  bool test(int32_t number, Ended &ended) override {
    Operation &operation = operations[number];
    if (!operation.hasEnded) {
      Link &link = links[operation.link];
      if (operation.isSend)
        write(link);
      else
        read(link);
    }
    if (!operation.hasEnded)
      return false;
    ended = {static_cast<int32_t>(operation.header.tag),
             operation.header.bytes};
    free.push_back(number);
    return true;
  }

private:
  struct Operation {
    size_t link = 0;
    char *data = nullptr;
    int64_t bytes = 0;
    bool isSend = false, hasEnded = false;
    /// Bytes of the header and the data that have been moved.
    Header header{};
    int64_t done = 0;
  };
  /// To one process, for one purpose.
  struct Link {
    int32_t peer = -1;
    Socket socket;
    std::deque<int32_t> sends, receives;
  };

  static constexpr int64_t headerBytes = sizeof(Header);

  Link &linkOf(int32_t process, int purpose) {
    return links[static_cast<size_t>(process) * numPurposes + purpose];
  }

  int32_t add(int32_t process, Purpose purpose, void *data, int64_t bytes,
              bool isSend) {
    if (!linkOf(process, purpose).socket)
      throw Error("there is no connection to rank " + std::to_string(process) +
                  ", since the programs of this run need none");
    if (free.empty()) {
      free.push_back(static_cast<int32_t>(operations.size()));
      operations.emplace_back();
    }
    int32_t number = free.back();
    free.pop_back();
    Operation &operation = operations[number];
    operation = Operation();
    operation.link = static_cast<size_t>(process) * numPurposes + purpose;
    operation.data = static_cast<char *>(data);
    operation.bytes = bytes;
    operation.isSend = isSend;
    return number;
  }

  /// The rest of the operation, for one system call.
  static msghdr restOf(Operation &operation, iovec (&parts)[2], int64_t bytes) {
    msghdr message{};
    message.msg_iov = parts;
    if (operation.done < headerBytes)
      parts[message.msg_iovlen++] = {
          reinterpret_cast<char *>(&operation.header) + operation.done,
          static_cast<size_t>(headerBytes - operation.done)};
    const int64_t moved = std::max<int64_t>(0, operation.done - headerBytes);
    if (bytes > moved)
      parts[message.msg_iovlen++] = {operation.data + moved,
                                     static_cast<size_t>(bytes - moved)};
    return message;
  }

  /// The process that failed first knows the reason; others ending then is a
  /// consequence.
  [[noreturn]] void lose(const Link &link) const {
    const int64_t deadlineNs = nowNs() + 2'000'000'000;
    for (; nowNs() < deadlineNs; sleepUntil(nowNs() + 5'000'000))
      store.check();
    throw Error("lost rank " + std::to_string(link.peer) +
                    ": its process has ended, or its machine does not answer",
                Exit::RunFailure);
  }

  void write(Link &link) {
    while (!link.sends.empty()) {
      Operation &operation = operations[link.sends.front()];
      iovec parts[2];
      msghdr rest = restOf(operation, parts, operation.bytes);
      ssize_t count =
          sendmsg(link.socket.descriptor(), &rest, MSG_NOSIGNAL | MSG_DONTWAIT);
      if (count < 0 && errno == EINTR)
        continue;
      if (count < 0 && errno == EAGAIN)
        return;
      if (count < 0)
        lose(link);
      operation.done += count;
      if (operation.done < headerBytes + operation.bytes)
        continue;
      operation.hasEnded = true;
      link.sends.pop_front();
    }
  }

  void read(Link &link) {
    while (!link.receives.empty()) {
      Operation &operation = operations[link.receives.front()];
      // The size of a message is known once its header has come.
      const bool isKnown = operation.done >= headerBytes;
      // A message that does not fit ends here: the run fails.
      if (isKnown && (operation.header.bytes > operation.bytes ||
                      operation.done == headerBytes + operation.header.bytes)) {
        operation.hasEnded = true;
        link.receives.pop_front();
        continue;
      }
      iovec parts[2];
      msghdr rest =
          restOf(operation, parts, isKnown ? operation.header.bytes : 0);
      ssize_t count = recvmsg(link.socket.descriptor(), &rest, MSG_DONTWAIT);
      if (count < 0 && errno == EINTR)
        continue;
      if (count < 0 && errno == EAGAIN)
        return;
      if (count <= 0)
        lose(link);
      operation.done += count;
    }
  }

  Store &store;
  std::vector<Link> links;
  std::deque<Operation> operations;
  std::vector<int32_t> free;
};

} // namespace

/// A receiver that computes for long closes its window, which the limit of
/// keepAlive() would take for the end of its machine. The store notices that.
static void allowLongWaits(const Socket &socket) {
  unsigned never = 0;
  setsockopt(socket.descriptor(), IPPROTO_TCP, TCP_USER_TIMEOUT, &never,
             sizeof never);
}

TcpEndpoint::TcpEndpoint(const World &world, const Peers &peers,
                         double timeoutSeconds)
    : store(*world.store),
      links(static_cast<size_t>(world.processes) * numPurposes) {
  std::vector<Socket> sockets =
      connectProcesses(world, numPurposes, peers, timeoutSeconds);
  for (size_t l = 0; l < links.size(); ++l) {
    links[l].peer = static_cast<int32_t>(l / numPurposes);
    links[l].socket = std::move(sockets[l]);
    if (links[l].socket)
      allowLongWaits(links[l].socket);
  }
}

std::unique_ptr<Endpoint>
rondo::runtime::makeTcpEndpoint(const World &world, const Peers &peers,
                                const TransportOptions &options) {
  return std::make_unique<TcpEndpoint>(world, peers, options.timeoutSeconds);
}
