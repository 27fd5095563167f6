//===- tcp.cpp - Ranks are processes connected by TCP ---------------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// One connection per pair of processes and purpose, so that no message waits
// for one of another purpose. Nothing is buffered in between: bytes are read
// from a connection when a receive has been posted, straight into its memory,
// and until then TCP holds back the sender.
//
//===----------------------------------------------------------------------===//

#include "runtime/transport/tcp.h"

#include "runtime/base/clock.h"
#include "runtime/base/error.h"
#include "runtime/launch/socket.h"
#include "runtime/launch/store.h"

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <deque>
#include <fcntl.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <poll.h>
#include <random>
#include <sstream>
#include <sys/socket.h>
#include <sys/uio.h>
#include <unistd.h>

using namespace rondo::runtime;

namespace {

/// Precedes each message.
struct Header {
  int64_t bytes;
  int64_t tag;
};

/// The first bytes of a connection.
struct Greeting {
  /// Sent by the process that was called: others do not know it.
  uint64_t token;
  int32_t process, purpose;
};

class TcpEndpoint : public Endpoint {
public:
  explicit TcpEndpoint(const World &world);

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
    /// How much of the header and the data has been moved.
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

  void connect(const World &world);
  void admit(const World &world, const Socket &listener, uint64_t token);

  Store &store;
  std::vector<Link> links;
  std::deque<Operation> operations;
  std::vector<int32_t> free;
};

/// Where a process listens.
struct Place {
  std::string host, machine;
  int port = 0;
  uint64_t token = 0;
};

} // namespace

static std::string textOf(const Place &place) {
  std::ostringstream text;
  text << place.host << ' ' << place.machine << ' ' << place.port << ' '
       << place.token;
  return text.str();
}

static Place placeOf(const std::string &text) {
  std::istringstream words(text);
  Place place;
  words >> place.host >> place.machine >> place.port >> place.token;
  return place;
}

static void useForMessages(const Socket &socket) {
  int on = 1;
  setsockopt(socket.descriptor(), IPPROTO_TCP, TCP_NODELAY, &on, sizeof on);
}

TcpEndpoint::TcpEndpoint(const World &world)
    : store(*world.store),
      links(static_cast<size_t>(world.processes) * numPurposes) {
  connect(world);
}

/// Equal for processes that share a loopback interface; containers on one
/// machine may not.
static std::string machineName() {
  char space[64] = {};
  if (readlink("/proc/self/ns/net", space, sizeof space - 1) < 0)
    *space = '\0';
  char host[256] = {};
  gethostname(host, sizeof host - 1);
  const std::string clock = clockName();
  return (clock.empty() ? host : clock) + "/" + space;
}

/// Connects to the processes with lower numbers, and accepts the others.
/// Machines need not know each other's names, so the addresses are those by
/// which all have reached process 0.
void TcpEndpoint::connect(const World &world) {
  const bool isLocal = world.localProcesses == world.processes;
  Socket listener = listenOn(0, isLocal);
  if (!listener)
    throw Error("rank " + std::to_string(world.process) +
                    " cannot listen: " + std::strerror(errno),
                Exit::RunFailure);
  std::random_device random;
  Place mine;
  const Store::Addresses addresses = store.addresses();
  mine.host = addresses.own.empty() ? "unknown" : addresses.own;
  mine.machine = machineName();
  mine.port = portOf(listener);
  mine.token = static_cast<uint64_t>(random()) << 32 | random();
  const std::vector<std::string> all =
      store.exchange("the connection of processes", textOf(mine));
  for (int32_t p = 0; p < world.processes; ++p)
    for (int purpose = 0; purpose < numPurposes; ++purpose)
      linkOf(p, purpose).peer = p;
  const std::string machineOfFirst = placeOf(all.front()).machine;
  for (int32_t p = 0; p < world.process; ++p) {
    const Place place = placeOf(all[p]);
    const bool isHere = isLocal || place.machine == mine.machine;
    for (int purpose = 0; purpose < numPurposes; ++purpose) {
      const HostPort to = {isHere                            ? "127.0.0.1"
                           : place.machine == machineOfFirst ? addresses.ofFirst
                                                             : place.host,
                           place.port};
      std::string why;
      Socket socket = connectTo(to, 20, why);
      const Greeting greeting = {place.token, world.process, purpose};
      if (!socket ||
          !sendAll(socket,
                   std::string(reinterpret_cast<const char *>(&greeting),
                               sizeof greeting)))
        throw Error("rank " + std::to_string(world.process) +
                        " cannot connect to rank " + std::to_string(p) +
                        " at " + textOf(to) + ": " + why,
                    Exit::RunFailure);
      linkOf(p, purpose).socket = std::move(socket);
    }
  }
  admit(world, listener, mine.token);
  for (Link &link : links)
    if (link.socket)
      useForMessages(link.socket);
}

void TcpEndpoint::admit(const World &world, const Socket &listener,
                        uint64_t token) {
  const int64_t deadlineNs = nowNs() + 60'000'000'000;
  int missing = (world.processes - world.process - 1) * numPurposes;
  while (missing > 0) {
    store.check();
    if (nowNs() > deadlineNs)
      throw Error("rank " + std::to_string(world.process) +
                      " did not get a connection from another rank",
                  Exit::RunFailure);
    pollfd waiting = {listener.descriptor(), POLLIN, 0};
    if (poll(&waiting, 1, 100) <= 0)
      continue;
    Socket socket(
        accept4(listener.descriptor(), nullptr, nullptr, SOCK_CLOEXEC));
    // Others send something else, or nothing.
    Greeting greeting{};
    timeval patience = {2, 0};
    setsockopt(socket.descriptor(), SOL_SOCKET, SO_RCVTIMEO, &patience,
               sizeof patience);
    if (!socket || recv(socket.descriptor(), &greeting, sizeof greeting,
                        MSG_WAITALL) != sizeof greeting)
      continue;
    if (greeting.token != token || greeting.process <= world.process ||
        greeting.process >= world.processes || greeting.purpose < 0 ||
        greeting.purpose >= numPurposes ||
        linkOf(greeting.process, greeting.purpose).socket)
      continue;
    linkOf(greeting.process, greeting.purpose).socket = std::move(socket);
    --missing;
  }
}

std::unique_ptr<Endpoint> rondo::runtime::makeTcpEndpoint(const World &world) {
  return std::make_unique<TcpEndpoint>(world);
}
