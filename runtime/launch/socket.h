//===- socket.h - TCP connections, and frames on them -----------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#ifndef RONDO_RUNTIME_LAUNCH_SOCKET_H
#define RONDO_RUNTIME_LAUNCH_SOCKET_H

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

namespace rondo::runtime {

/// Owns a file descriptor.
class Socket {
public:
  Socket() = default;
  explicit Socket(int descriptor) : fd(descriptor) {}
  Socket(Socket &&other) noexcept : fd(other.fd) { other.fd = -1; }
  Socket &operator=(Socket &&other) noexcept;
  ~Socket();

  int descriptor() const { return fd; }
  explicit operator bool() const { return fd >= 0; }
  /// Ends both directions; a thread that reads sees the end.
  void shutDown();

private:
  int fd = -1;
};

/// A name or an address of IPv4 or IPv6, and a port.
struct HostPort {
  std::string host;
  int port = 0;
};
/// `host:port`, where an IPv6 address stands in brackets. Throws Error with
/// Exit::Usage; `what` is what the text is called there.
HostPort parseHostPort(const std::string &what, const std::string &text);
/// The same text again.
std::string textOf(const HostPort &address);

/// Listens on IPv4's loopback interface, or on all interfaces for IPv4 and
/// IPv6; port 0: any free one. Invalid, with errno, where that fails.
Socket listenOn(int port, bool onLoopbackOnly);
int portOf(const Socket &socket);
/// The numeric address of this end of a connection, or of the other one; empty
/// where there is none.
std::string addressOf(const Socket &socket, bool ofPeer);
/// Invalid if nobody answers in time; `why` says more.
Socket connectTo(const HostPort &to, double timeoutSeconds, std::string &why);
/// Sends small frames at once, and notices a dead machine after about 25 s.
void keepAlive(const Socket &socket);
/// Whether a host is the loopback interface on every machine: a machine's own
/// name may be that on this one and another interface on others.
bool isLoopback(const std::string &host);

/// What goes over a connection: a kind, the number of the request, and texts
/// or bytes.
struct Frame {
  uint32_t kind = 0;
  uint64_t id = 0;
  std::vector<std::string> fields;
};
std::string encode(const Frame &frame);

/// Takes bytes as they come and gives whole frames.
class FrameReader {
public:
  void add(const char *data, size_t bytes) { buffer.append(data, bytes); }
  /// The next frame, if it is whole. Throws Error if the bytes are not ours, or
  /// a frame is larger than `maxBytes`.
  std::optional<Frame> next(uint64_t maxBytes);

private:
  std::string buffer;
};

/// A send without progress for so long fails; 0: never.
void limitSends(const Socket &socket, double seconds);

/// Both return false where the connection has ended.
bool sendAll(const Socket &socket, const std::string &bytes);
/// Waits for some bytes, for `timeoutSeconds` at most; < 0: without end.
bool receiveSome(const Socket &socket, FrameReader &reader,
                 double timeoutSeconds = -1);

} // namespace rondo::runtime

#endif // RONDO_RUNTIME_LAUNCH_SOCKET_H
