//===- listener.h - Lets connections of the run in --------------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Whoever reaches a port may call, send anything or nothing, and as often as he
// likes. Here this costs bounded memory, bounded time, and no thread.
//
//===----------------------------------------------------------------------===//

#ifndef RONDO_RUNTIME_LAUNCH_LISTENER_H
#define RONDO_RUNTIME_LAUNCH_LISTENER_H

#include "runtime/launch/handshake.h"
#include "runtime/launch/socket.h"

#include <functional>
#include <map>
#include <string>
#include <vector>

struct pollfd;

namespace rondo::runtime {

/// What a door needs to know.
struct ListenerParams {
  /// Empty: all are let in.
  std::string secret;
  Line line = Line::Store;
  /// How many connections may be at the door at once; the oldest goes when more
  /// come.
  size_t maxStrangers = 256;
  /// What is said of those who are turned away; null: nothing.
  std::function<void(const std::string &)> note;
};

/// The part of a process that is called. All calls come from one thread, with a
/// time in ns that does not go back.
class Listener {
public:
  Listener(std::vector<Socket> listeners, ListenerParams params);

  /// Adds what poll() should wait for.
  void addTo(std::vector<pollfd> &waiting, int64_t now) const;
  /// Takes the calls and the answers that poll() has found, and returns those
  /// who are let in: non-blocking, and nothing read of what follows.
  std::vector<Socket> admit(const std::vector<pollfd> &found, int64_t now);
  /// A connection that has been made.
  void take(Socket connection, int64_t now, std::vector<Socket> &admitted);
  /// The last call failed since the process has no more descriptors, and nobody
  /// is at the door who could go.
  bool isOutOfFiles() const { return hasNoFiles; }
  size_t strangers() const { return waiting.size(); }
  /// Says how often each address has been turned away.
  void sayCounts();

private:
  struct Stranger {
    Socket socket;
    std::string address;
    Challenge challenge{};
    ChallengeAnswer answer{};
    size_t received = 0;
    int64_t deadlineNs = 0;
    uint64_t number = 0;
  };

  void call(const Socket &listener, int64_t now, std::vector<Socket> &admitted);
  /// Returns whether this stranger stays at the door.
  bool hear(Stranger &stranger, std::vector<Socket> &admitted);
  void turnAway(const Stranger &stranger);
  void sendOldestAway();

  const std::vector<Socket> listeners;
  const ListenerParams params;
  std::map<int, Stranger> waiting;
  uint64_t calls = 0;
  bool hasNoFiles = false;
  /// Without descriptors poll() would find the same call again and again.
  int64_t restsUntilNs = 0;
  /// How often each address has been turned away; under "" those past the
  /// largest number of addresses, and those who had gone before they were seen.
  std::map<std::string, uint64_t> refusals;
};

} // namespace rondo::runtime

#endif // RONDO_RUNTIME_LAUNCH_LISTENER_H
