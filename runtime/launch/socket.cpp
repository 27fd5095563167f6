//===- socket.cpp - Connections between processes -------------------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "runtime/launch/socket.h"

#include "runtime/base/error.h"

#include <algorithm>
#include <arpa/inet.h>
#include <cerrno>
#include <cstring>
#include <deque>
#include <fcntl.h>
#include <memory>
#include <netdb.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <poll.h>
#include <sys/socket.h>
#include <unistd.h>
#include <utility>

using namespace rondo::runtime;

namespace {

/// "RONDO" and the version of the frame format.
constexpr uint64_t magic = 0x014f444e4f52;

struct Header {
  uint64_t magic;
  uint64_t id;
  uint32_t kind, numFields;
  /// Total size of the fields with their lengths.
  uint64_t bytes;
};

} // namespace

Socket &Socket::operator=(Socket &&other) noexcept {
  std::swap(fd, other.fd);
  return *this;
}

Socket::~Socket() {
  if (fd >= 0)
    close(fd);
}

void Socket::shutDown() {
  if (fd >= 0)
    shutdown(fd, SHUT_RDWR);
}

HostPort rondo::runtime::parseHostPort(const std::string &what,
                                       const std::string &text) {
  size_t colon = text.rfind(':');
  HostPort result;
  std::string port;
  if (colon != std::string::npos) {
    result.host = text.substr(0, colon);
    port = text.substr(colon + 1);
  }
  // Colons of an IPv6 address need brackets: [fd00::7]:29500.
  const size_t size = result.host.size();
  if (size > 2 && result.host.front() == '[' && result.host.back() == ']')
    result.host = result.host.substr(1, size - 2);
  else if (result.host.find(':') != std::string::npos)
    result.host.clear();
  if (result.host.find_first_of("[]") != std::string::npos)
    result.host.clear();
  bool isNumber = !port.empty() && port.size() <= 5 &&
                  port.find_first_not_of("0123456789") == std::string::npos;
  if (isNumber)
    result.port = std::stoi(port);
  if (result.host.empty() || result.port < 1 || result.port > 65535)
    throw Error(what + " needs host:port with a port from 1 to 65535, not '" +
                    text + "'",
                Exit::Usage);
  return result;
}

std::string rondo::runtime::textOf(const HostPort &address) {
  const bool isIpv6 = address.host.find(':') != std::string::npos;
  return (isIpv6 ? "[" + address.host + "]" : address.host) + ":" +
         std::to_string(address.port);
}

void rondo::runtime::keepAlive(const Socket &socket) {
  int fd = socket.descriptor(), on = 1;
  setsockopt(fd, IPPROTO_TCP, TCP_NODELAY, &on, sizeof on);
  setsockopt(fd, SOL_SOCKET, SO_KEEPALIVE, &on, sizeof on);
  int idle = 10, interval = 5, count = 3;
  setsockopt(fd, IPPROTO_TCP, TCP_KEEPIDLE, &idle, sizeof idle);
  setsockopt(fd, IPPROTO_TCP, TCP_KEEPINTVL, &interval, sizeof interval);
  setsockopt(fd, IPPROTO_TCP, TCP_KEEPCNT, &count, sizeof count);
  // Keepalive does not probe while data wait for acknowledgement. This gives up
  // on such data after the same time, not after a quarter of an hour.
  unsigned patienceMs = 25'000;
  setsockopt(fd, IPPROTO_TCP, TCP_USER_TIMEOUT, &patienceMs, sizeof patienceMs);
}

void rondo::runtime::limitSends(const Socket &socket, double seconds) {
  timeval limit{};
  limit.tv_sec = static_cast<time_t>(seconds);
  limit.tv_usec = static_cast<suseconds_t>(
      1e6 * (seconds - static_cast<double>(limit.tv_sec)));
  setsockopt(socket.descriptor(), SOL_SOCKET, SO_SNDTIMEO, &limit,
             sizeof limit);
}

int rondo::runtime::portOf(const Socket &socket) {
  sockaddr_storage address{};
  socklen_t length = sizeof address;
  getsockname(socket.descriptor(), reinterpret_cast<sockaddr *>(&address),
              &length);
  // Both families keep the port in the same place.
  return ntohs(reinterpret_cast<const sockaddr_in &>(address).sin_port);
}

std::string rondo::runtime::addressOf(const Socket &socket, bool ofPeer) {
  sockaddr_storage address{};
  socklen_t length = sizeof address;
  auto *generic = reinterpret_cast<sockaddr *>(&address);
  char text[NI_MAXHOST];
  if ((ofPeer ? getpeername : getsockname)(socket.descriptor(), generic,
                                           &length) != 0 ||
      getnameinfo(generic, length, text, sizeof text, nullptr, 0,
                  NI_NUMERICHOST) != 0)
    return std::string();
  // The form of an IPv4 address on a socket of both families.
  const std::string name = text, mapped = "::ffff:";
  const bool isIpv4 = name.compare(0, mapped.size(), mapped) == 0 &&
                      name.find('.') != std::string::npos;
  return isIpv4 ? name.substr(mapped.size()) : name;
}

namespace {
using Addresses = std::unique_ptr<addrinfo, void (*)(addrinfo *)>;
} // namespace

static Addresses resolve(const HostPort &to, std::string &why) {
  addrinfo hints{};
  hints.ai_family = AF_UNSPEC;
  hints.ai_socktype = SOCK_STREAM;
  addrinfo *list = nullptr;
  int status = getaddrinfo(to.host.c_str(), std::to_string(to.port).c_str(),
                           &hints, &list);
  if (status != 0)
    why = gai_strerror(status);
  return Addresses(status == 0 ? list : nullptr, [](addrinfo *all) {
    if (all)
      freeaddrinfo(all);
  });
}

bool rondo::runtime::isLoopback(const std::string &host) {
  in_addr address;
  in6_addr address6;
  return host == "localhost" ||
         (inet_pton(AF_INET, host.c_str(), &address) == 1 &&
          ntohl(address.s_addr) >> 24 == 127) ||
         (inet_pton(AF_INET6, host.c_str(), &address6) == 1 &&
          IN6_IS_ADDR_LOOPBACK(&address6));
}

namespace {

/// A connection that is being made: to one address of a name after another.
class Connecting {
public:
  Connecting(const HostPort &to, double seconds)
      : list(resolve(to, why)), next(list.get()) {
    int count = 0;
    for (const addrinfo *a = next; a; a = a->ai_next)
      ++count;
    secondsEach = seconds / std::max(1, count);
    begin();
  }

  /// Its socket is invalid once all addresses have failed.
  bool hasEnded() const { return isMade || !socket; }
  int descriptor() const { return socket.descriptor(); }
  /// Goes on; `isReady`: poll() has found the socket.
  void advance(bool isReady) {
    int error = 0;
    socklen_t length = sizeof error;
    if (isReady)
      getsockopt(socket.descriptor(), SOL_SOCKET, SO_ERROR, &error, &length);
    if (isReady && error == 0)
      return finish();
    if (isReady || attempt.hasExpired())
      failed(isReady ? error : ETIMEDOUT);
  }
  Socket take(std::string &reason) {
    reason = isMade ? std::string() : why;
    return isMade ? std::move(socket) : Socket();
  }
  /// The time is over.
  void stop() {
    if (!hasEnded() && why.empty())
      why = std::strerror(ETIMEDOUT);
  }

private:
  void begin() {
    for (; next && !socket; next = next->ai_next) {
      socket = Socket(::socket(next->ai_family,
                               SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0));
      attempt = Deadline(secondsEach);
      if (!socket ||
          connect(socket.descriptor(), next->ai_addr, next->ai_addrlen) == 0 ||
          errno == EINPROGRESS)
        continue;
      setReason(errno);
      socket = Socket();
    }
  }
  /// Keeps the error of the first address, which the system prefers.
  void setReason(int error) {
    if (why.empty())
      why = std::strerror(error);
  }
  void failed(int error) {
    setReason(error);
    socket = Socket();
    begin();
  }
  void finish() {
    const int fd = socket.descriptor();
    fcntl(fd, F_SETFL, fcntl(fd, F_GETFL) & ~O_NONBLOCK);
    keepAlive(socket);
    isMade = true;
  }

  std::string why;
  const Addresses list;
  const addrinfo *next;
  double secondsEach = 0;
  Deadline attempt;
  Socket socket;
  bool isMade = false;
};

} // namespace

std::vector<Socket> rondo::runtime::connectToAll(
    const std::vector<HostPort> &all, const Deadline &deadline,
    const std::function<void()> &look, std::vector<std::string> &reasons) {
  constexpr double sliceSeconds = 0.1, longest = 1e6;
  std::deque<Connecting> connecting;
  for (const HostPort &to : all)
    connecting.emplace_back(to, deadline.leftSeconds(longest));
  for (;;) {
    std::vector<pollfd> waiting;
    std::vector<Connecting *> open;
    for (Connecting &each : connecting)
      if (!each.hasEnded()) {
        waiting.push_back({each.descriptor(), POLLOUT, 0});
        open.push_back(&each);
      }
    if (open.empty() || deadline.hasExpired())
      break;
    poll(waiting.data(), waiting.size(),
         static_cast<int>(1000 * deadline.leftSeconds(sliceSeconds)));
    for (size_t i = 0; i < open.size(); ++i)
      open[i]->advance(waiting[i].revents != 0);
    if (look)
      look();
  }
  std::vector<Socket> sockets;
  reasons.resize(all.size());
  for (size_t i = 0; i < all.size(); ++i) {
    connecting[i].stop();
    sockets.push_back(connecting[i].take(reasons[i]));
  }
  return sockets;
}

Socket rondo::runtime::connectTo(const HostPort &to, double timeoutSeconds,
                                 std::string &why) {
  std::vector<std::string> reasons;
  std::vector<Socket> sockets = connectToAll(
      {to}, Deadline(std::max(timeoutSeconds, 0.001)), {}, reasons);
  if (!sockets.front())
    why = reasons.front();
  return std::move(sockets.front());
}

std::string rondo::runtime::encode(const Frame &frame) {
  uint64_t bytes = 0;
  for (const std::string &field : frame.fields)
    bytes += 8 + field.size();
  Header header{magic, frame.id, frame.kind,
                static_cast<uint32_t>(frame.fields.size()), bytes};
  std::string text(reinterpret_cast<const char *>(&header), sizeof header);
  text.reserve(sizeof header + bytes);
  for (const std::string &field : frame.fields) {
    uint64_t size = field.size();
    text.append(reinterpret_cast<const char *>(&size), 8);
    text += field;
  }
  return text;
}

std::optional<Frame> FrameReader::next(uint64_t maxBytes) {
  Header header;
  if (buffer.size() < sizeof header)
    return std::nullopt;
  std::memcpy(&header, buffer.data(), sizeof header);
  if (header.magic != magic)
    throw Error("not a Rondo peer (bad magic)");
  if (header.bytes > maxBytes)
    throw Error("it sends a frame of " + std::to_string(header.bytes) +
                " bytes, more than " + std::to_string(maxBytes));
  if (buffer.size() - sizeof header < header.bytes)
    return std::nullopt;
  Frame frame;
  frame.kind = header.kind;
  frame.id = header.id;
  size_t at = sizeof header, end = sizeof header + header.bytes;
  for (uint32_t f = 0; f < header.numFields; ++f) {
    uint64_t size = 0;
    if (end - at < 8)
      throw Error("it sends a malformed frame");
    std::memcpy(&size, buffer.data() + at, 8);
    at += 8;
    if (size > end - at)
      throw Error("it sends a malformed frame");
    frame.fields.push_back(buffer.substr(at, size));
    at += size;
  }
  if (at != end)
    throw Error("it sends a malformed frame");
  buffer.erase(0, end);
  return frame;
}

bool rondo::runtime::sendAll(const Socket &socket, const std::string &bytes) {
  size_t done = 0;
  while (done < bytes.size()) {
    ssize_t count = send(socket.descriptor(), bytes.data() + done,
                         bytes.size() - done, MSG_NOSIGNAL);
    if (count < 0 && errno == EINTR)
      continue;
    if (count <= 0)
      return false;
    done += static_cast<size_t>(count);
  }
  return true;
}

bool rondo::runtime::hasBytes(const Socket &socket, double seconds) {
  pollfd waiting = {socket.descriptor(), POLLIN, 0};
  return poll(&waiting, 1, static_cast<int>(seconds * 1000)) > 0;
}

bool rondo::runtime::hasRoom(const Socket &socket) {
  pollfd waiting = {socket.descriptor(), POLLOUT, 0};
  return poll(&waiting, 1, 0) > 0;
}

bool rondo::runtime::receiveSome(const Socket &socket, FrameReader &reader,
                                 double timeoutSeconds) {
  pollfd waiting = {socket.descriptor(), POLLIN, 0};
  int limit = timeoutSeconds < 0 ? -1 : static_cast<int>(timeoutSeconds * 1000);
  // A signal restarts the time-out.
  int ready;
  while ((ready = poll(&waiting, 1, limit)) < 0 && errno == EINTR) {
  }
  if (ready == 0)
    return false;
  char data[1 << 16];
  for (;;) {
    ssize_t count = recv(socket.descriptor(), data, sizeof data, 0);
    if (count < 0 && errno == EINTR)
      continue;
    if (count <= 0)
      return false;
    reader.add(data, static_cast<size_t>(count));
    return true;
  }
}

namespace {
using AddressList = std::unique_ptr<addrinfo, void (*)(addrinfo *)>;
} // namespace

static AddressList addressesOf(const std::string &host, int flags) {
  addrinfo hints{};
  hints.ai_family = AF_UNSPEC;
  hints.ai_socktype = SOCK_STREAM;
  hints.ai_flags = flags;
  addrinfo *list = nullptr;
  const bool isKnown =
      getaddrinfo(host.c_str(), nullptr, &hints, &list) == 0 && list;
  return AddressList(isKnown ? list : nullptr, [](addrinfo *all) {
    if (all)
      freeaddrinfo(all);
  });
}

/// Invalid, with errno set, on failure. `bothFamilies` is for IPv6's address of
/// all interfaces.
static Socket listenOn(const sockaddr *given, socklen_t length, int port,
                       bool bothFamilies) {
  sockaddr_storage address{};
  std::copy_n(reinterpret_cast<const char *>(given), length,
              reinterpret_cast<char *>(&address));
  // Both families keep the port in the same place.
  reinterpret_cast<sockaddr_in &>(address).sin_port =
      htons(static_cast<uint16_t>(port));
  Socket result(socket(given->sa_family, SOCK_STREAM | SOCK_CLOEXEC, 0));
  if (!result)
    return result;
  // Connections of a finished run must not block the port.
  int on = 1, onlyIpv6 = bothFamilies ? 0 : 1;
  setsockopt(result.descriptor(), SOL_SOCKET, SO_REUSEADDR, &on, sizeof on);
  if (given->sa_family == AF_INET6 &&
      setsockopt(result.descriptor(), IPPROTO_IPV6, IPV6_V6ONLY, &onlyIpv6,
                 sizeof onlyIpv6) != 0)
    return Socket();
  if (bind(result.descriptor(), reinterpret_cast<const sockaddr *>(&address),
           length) != 0 ||
      listen(result.descriptor(), 1024) != 0)
    return Socket();
  return result;
}

static Socket listenOnAll(int port) {
  sockaddr_in6 all{};
  all.sin6_family = AF_INET6;
  all.sin6_addr = in6addr_any;
  Socket result = ::listenOn(reinterpret_cast<const sockaddr *>(&all),
                             sizeof all, port, true);
  // A port in use is in use for IPv4 too; a system without IPv6 gives another
  // error.
  if (result || errno == EADDRINUSE || errno == EACCES)
    return result;
  sockaddr_in ipv4{};
  ipv4.sin_family = AF_INET;
  return ::listenOn(reinterpret_cast<const sockaddr *>(&ipv4), sizeof ipv4,
                    port, false);
}

static Socket listenOnOne(const std::string &address, int port) {
  const AddressList list = addressesOf(address, AI_NUMERICHOST);
  if (!list) {
    errno = EADDRNOTAVAIL;
    return Socket();
  }
  return ::listenOn(list->ai_addr, list->ai_addrlen, port, false);
}

std::vector<Socket>
rondo::runtime::listenAt(const std::vector<std::string> &addresses, int port) {
  std::vector<Socket> result;
  if (addresses.empty()) {
    if (Socket all = listenOnAll(port))
      result.push_back(std::move(all));
    return result;
  }
  // A port that is free at the first address may be taken at another.
  for (int attempts = port == 0 ? 100 : 1; attempts > 0; --attempts) {
    int common = port;
    for (const std::string &address : addresses) {
      Socket one = listenOnOne(address, common);
      if (!one)
        break;
      common = portOf(one);
      result.push_back(std::move(one));
    }
    if (result.size() == addresses.size())
      return result;
    const int error = errno;
    result.clear();
    errno = error;
    if (error != EADDRINUSE)
      break;
  }
  return result;
}

Socket rondo::runtime::listenOn(int port, bool onLoopbackOnly) {
  return onLoopbackOnly ? listenOnOne(loopbackAddress, port)
                        : listenOnAll(port);
}

std::vector<std::string>
rondo::runtime::addressesNamed(const std::string &host) {
  std::vector<std::string> result;
  const AddressList list = addressesOf(host, 0);
  for (const addrinfo *a = list.get(); a; a = a->ai_next) {
    char text[NI_MAXHOST];
    // A name may be loopback on its own machine and another interface on
    // others.
    if (getnameinfo(a->ai_addr, a->ai_addrlen, text, sizeof text, nullptr, 0,
                    NI_NUMERICHOST) != 0 ||
        isLoopback(text) || !listenOnOne(text, 0))
      return {};
    if (std::find(result.begin(), result.end(), text) == result.end())
      result.push_back(text);
  }
  return result;
}
