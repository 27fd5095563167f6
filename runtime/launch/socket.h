//===- socket.h - Connections between processes -----------------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#ifndef RONDO_RUNTIME_LAUNCH_SOCKET_H
#define RONDO_RUNTIME_LAUNCH_SOCKET_H

#include "runtime/base/clock.h"

#include <cstdint>
#include <functional>
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
  /// Ends both directions; a thread that is reading sees the end of the stream.
  void shutDown();

private:
  int fd = -1;
};

/// A host name or an IPv4 or IPv6 address, and a port.
struct HostPort {
  std::string host;
  int port = 0;
};
/// Parses `host:port`, with an IPv6 address in brackets. Throws Error with
/// Exit::Usage; `what` names the text in messages.
HostPort parseHostPort(const std::string &what, const std::string &text);
/// The inverse of parseHostPort().
std::string textOf(const HostPort &address);

int portOf(const Socket &socket);
/// The numeric address of this end of a connection, or of its peer; empty if
/// there is none. An IPv4 address is written as such on every socket.
std::string addressOf(const Socket &socket, bool ofPeer);
/// Invalid if nobody answers in time; `why` then gives the reason. An address
/// of a name that has several gets its part of the time.
Socket connectTo(const HostPort &to, double timeoutSeconds, std::string &why);
/// Connects to all at the same time; those that do not answer before the
/// deadline are invalid, and `reasons` has the reasons in their places. Calls
/// `look` about every 100 ms, which may be null and may throw.
std::vector<Socket> connectToAll(const std::vector<HostPort> &all,
                                 const Deadline &deadline,
                                 const std::function<void()> &look,
                                 std::vector<std::string> &reasons);
/// Sends small frames at once, and detects a dead machine after about 25 s.
void keepAlive(const Socket &socket);
/// Whether a host is the loopback interface on every machine. A machine's own
/// name may be loopback on that machine and another interface on others.
bool isLoopback(const std::string &host);

/// The unit of a connection: a kind, the number of the request, and fields of
/// text or bytes.
struct Frame {
  uint32_t kind = 0;
  uint64_t id = 0;
  std::vector<std::string> fields;
};
std::string encode(const Frame &frame);

/// Splits incoming bytes into frames.
class FrameReader {
public:
  void add(const char *data, size_t bytes) { buffer.append(data, bytes); }
  /// The next frame, if complete. Throws Error if the bytes are not ours, or if
  /// a frame is larger than `maxBytes`.
  std::optional<Frame> next(uint64_t maxBytes);

private:
  std::string buffer;
};

/// A send fails after this long without progress; 0: never.
void limitSends(const Socket &socket, double seconds);

/// Both return false if the connection has ended.
bool sendAll(const Socket &socket, const std::string &bytes);
/// Whether there is something to receive, or the end of the connection; waits
/// for that at most `seconds`.
bool hasBytes(const Socket &socket, double seconds);
/// Whether a short send does not wait.
bool hasRoom(const Socket &socket);
/// Waits for bytes, at most `timeoutSeconds`; < 0: forever.
bool receiveSome(const Socket &socket, FrameReader &reader,
                 double timeoutSeconds = -1);

/// IPv4's loopback interface.
inline constexpr const char *loopbackAddress = "127.0.0.1";

/// Listens on one port of each of these numeric addresses, or of all interfaces
/// if there are none; port 0: any free one. Empty, with errno set, on failure.
std::vector<Socket> listenAt(const std::vector<std::string> &addresses,
                             int port);

/// The same for one socket: on IPv4's loopback interface, or on all interfaces.
/// Invalid on failure.
Socket listenOn(int port, bool onLoopbackOnly);

/// The numeric addresses of this machine by which others come when they call
/// it by this name. None if that cannot be told here: the name leads to another
/// machine, which passes calls on, or only to the loopback interface.
std::vector<std::string> addressesNamed(const std::string &host);

} // namespace rondo::runtime

#endif // RONDO_RUNTIME_LAUNCH_SOCKET_H
