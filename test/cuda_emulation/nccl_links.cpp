//===- nccl_links.cpp - Ranks of a communicator in other processes --------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "nccl_links.h"

#include "engine.h"

#include <algorithm>
#include <cerrno>
#include <cstddef>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <poll.h>
#include <set>
#include <sys/eventfd.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

namespace emulation {

namespace {

struct Header {
  uint32_t kind;
  int32_t from, to;
  uint32_t unused;
  uint64_t bytes;
};

/// A name outside the file system: it begins with a zero.
socklen_t addressOf(const std::string &id, int rank, sockaddr_un &address) {
  const std::string name = "rondo-nccl-" + id + "-" + std::to_string(rank);
  address = {};
  address.sun_family = AF_UNIX;
  const size_t length = std::min(name.size(), sizeof address.sun_path - 1);
  std::memcpy(address.sun_path + 1, name.data(), length);
  return static_cast<socklen_t>(offsetof(sockaddr_un, sun_path) + 1 + length);
}

int newSocket() {
  int fd = socket(AF_UNIX, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0);
  if (fd >= 0)
    return fd;
  std::perror("nccl emulation: socket");
  std::abort();
}

} // namespace

/// Lives as long as the process.
class LinkThread {
public:
  static LinkThread &get() {
    static LinkThread *thread = new LinkThread;
    return *thread;
  }
  void add(Links *links) {
    all.insert(links);
    wake();
  }
  void remove(Links *links) {
    all.erase(links);
    wake();
  }
  void wake() {
    const uint64_t one = 1;
    if (write(wakeUp, &one, sizeof one) < 0)
      std::perror("nccl emulation: eventfd");
  }

private:
  LinkThread() : wakeUp(eventfd(0, EFD_NONBLOCK | EFD_CLOEXEC)) {
    std::thread([this] { serve(); }).detach();
  }

  void serve() {
    Engine &engine = Engine::get();
    std::unique_lock<std::mutex> lock(engine.mutex);
    for (;;) {
      for (Links *links : all)
        links->pump();
      engine.wake();
      std::vector<pollfd> waiting = {{wakeUp, POLLIN, 0}};
      for (const Links *links : all) {
        waiting.push_back({links->listener, POLLIN, 0});
        for (const auto &[fd, connection] : links->connections)
          waiting.push_back(
              {fd,
               static_cast<short>(connection.out.empty() ? POLLIN
                                                         : POLLIN | POLLOUT),
               0});
      }
      lock.unlock();
      poll(waiting.data(), waiting.size(), -1);
      uint64_t count;
      if (read(wakeUp, &count, sizeof count) < 0 && errno != EAGAIN)
        std::perror("nccl emulation: eventfd");
      lock.lock();
    }
  }

  const int wakeUp;
  std::set<Links *> all;
};

Links::Links(const std::string &id, int rank, std::string device,
             Handlers handlers)
    : id(id), device(std::move(device)), rank(rank),
      handlers(std::move(handlers)), listener(newSocket()) {
  sockaddr_un address;
  socklen_t length = addressOf(id, rank, address);
  if (bind(listener, reinterpret_cast<sockaddr *>(&address), length) != 0 ||
      listen(listener, 64) != 0) {
    std::perror("nccl emulation: two processes are one rank of a communicator");
    std::abort();
  }
  LinkThread::get().add(this);
}

Links::~Links() {
  LinkThread::get().remove(this);
  close(listener);
  for (const auto &[fd, connection] : connections)
    close(fd);
}

std::vector<int> Links::peers() const {
  std::vector<int> ranks;
  for (const auto &[fd, connection] : connections)
    if (connection.rank >= 0)
      ranks.push_back(connection.rank);
  return ranks;
}

void Links::send(int to, const LinkFrame &frame) {
  for (auto &[fd, connection] : connections)
    if (connection.rank == to)
      put(connection, frame);
}

void Links::sendAll(const LinkFrame &frame) {
  for (auto &[fd, connection] : connections)
    if (connection.rank >= 0)
      put(connection, frame);
}

void Links::put(Connection &connection, const LinkFrame &frame) {
  Header header{frame.kind, frame.from, frame.to, 0, frame.data.size()};
  connection.out.append(reinterpret_cast<const char *>(&header), sizeof header);
  connection.out.append(frame.data.begin(), frame.data.end());
  write(connection);
  if (!connection.out.empty())
    LinkThread::get().wake();
}

void Links::pump() {
  connectDown();
  accept();
  // A handler may send, but must not open or close connections.
  for (auto &[fd, connection] : connections) {
    write(connection);
    read(connection);
  }
  for (auto it = connections.begin(); it != connections.end();) {
    if (!it->second.isGone) {
      ++it;
      continue;
    }
    close(it->first);
    const int lost = it->second.hasParted ? -1 : it->second.rank;
    it = connections.erase(it);
    if (lost >= 0)
      handlers.lose(lost);
  }
}

void Links::connectDown() {
  const std::vector<int> known = peers();
  for (int below = 0; below < rank; ++below) {
    if (handlers.isLocal(below) ||
        std::find(known.begin(), known.end(), below) != known.end())
      continue;
    sockaddr_un address;
    socklen_t length = addressOf(id, below, address);
    int fd = newSocket();
    if (connect(fd, reinterpret_cast<sockaddr *>(&address), length) != 0) {
      close(fd);
      continue;
    }
    Connection &connection = connections[fd];
    connection.fd = fd;
    connection.rank = below;
    LinkThread::get().wake();
    put(connection,
        {LinkFrame::Join, rank, below, {device.begin(), device.end()}});
  }
}

void Links::accept() {
  for (;;) {
    int fd =
        ::accept4(listener, nullptr, nullptr, SOCK_NONBLOCK | SOCK_CLOEXEC);
    if (fd < 0)
      return;
    connections[fd].fd = fd;
    // It waits for the connections that it knows.
    LinkThread::get().wake();
  }
}

void Links::write(Connection &connection) {
  size_t done = 0;
  while (done < connection.out.size()) {
    ssize_t count = ::send(connection.fd, connection.out.data() + done,
                           connection.out.size() - done, MSG_NOSIGNAL);
    if (count < 0 && errno == EINTR)
      continue;
    // A reader notices that a connection has ended.
    if (count < 0 && errno != EAGAIN)
      done = connection.out.size();
    if (count <= 0)
      break;
    done += static_cast<size_t>(count);
  }
  connection.out.erase(0, done);
}

void Links::read(Connection &connection) {
  char data[1 << 16];
  while (!connection.isGone) {
    ssize_t count = recv(connection.fd, data, sizeof data, 0);
    if (count < 0 && errno == EINTR)
      continue;
    if (count < 0 && errno == EAGAIN)
      break;
    if (count <= 0)
      connection.isGone = true;
    else
      connection.in.append(data, static_cast<size_t>(count));
  }
  Header header;
  while (connection.in.size() >= sizeof header) {
    std::memcpy(&header, connection.in.data(), sizeof header);
    if (connection.in.size() - sizeof header < header.bytes)
      break;
    LinkFrame frame{
        static_cast<LinkFrame::Kind>(header.kind), header.from, header.to, {}};
    const char *begin = connection.in.data() + sizeof header;
    frame.data.assign(begin, begin + header.bytes);
    connection.in.erase(0, sizeof header + header.bytes);
    if (frame.kind == LinkFrame::Join && connection.rank < 0) {
      connection.rank = frame.from;
      put(connection,
          {LinkFrame::Join, rank, frame.from, {device.begin(), device.end()}});
    }
    connection.hasParted |= frame.kind == LinkFrame::Parted;
    handlers.receive(frame);
  }
}

} // namespace emulation
