//===- handshake.h - Proofs of the secret on a new connection ---*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The listener sends a challenge. If it has a secret, the caller proves that it
// knows the secret, then the listener does. Each proof covers the fresh nonces
// of both, the purpose of the connection and the side, so it cannot be replayed
// or reflected. No data of the run is sent before that.
//
// Anyone who can reach the port may connect any number of times and send
// anything. This costs bounded memory, bounded time, and no thread.
//
//===----------------------------------------------------------------------===//

#ifndef RONDO_RUNTIME_LAUNCH_HANDSHAKE_H
#define RONDO_RUNTIME_LAUNCH_HANDSHAKE_H

#include "runtime/launch/secret.h"
#include "runtime/launch/socket.h"

#include <cstdint>
#include <functional>
#include <map>
#include <string>
#include <vector>

struct pollfd;

namespace rondo::runtime {

/// The purpose of a connection.
enum class Line { Store, Messages };

/// The first bytes on a connection, from the listener.
struct Challenge {
  uint64_t magic;
  /// 0: every caller is admitted, and the handshake ends here.
  uint64_t wantsProof;
  Nonce nonce;
};
/// From the caller.
struct ChallengeAnswer {
  Nonce nonce;
  Proof proof;
};
/// From the listener.
struct Verdict {
  /// 0: the caller's proof is wrong, and so is the proof here.
  uint64_t isRight;
  Proof proof;
};

/// With an empty `secret` every caller is admitted.
Challenge makeChallenge(const std::string &secret);
/// The listener's verdict on an answer.
Verdict judge(const std::string &secret, Line line, const Challenge &challenge,
              const ChallengeAnswer &answer);

/// Result of a handshake.
enum class Entry {
  Admitted,
  /// The other side does not speak this protocol.
  Foreign,
  /// No answer came in time.
  Silent,
  /// The other side does not know this secret.
  WrongSecret,
  /// The other side asks for a secret, and this one has none.
  SecretMissing,
  /// The other side asks for none, so it could be anyone.
  SecretUnwanted,
};
/// One sentence for an entry that is not Admitted; `who` is the process that
/// was called.
std::string textOf(Entry entry, const std::string &who);

/// The caller's part, in two steps, so that a process can call many others at
/// once. `secret` must outlive it.
class Caller {
public:
  Caller(const std::string &secret, Line line) : secret(secret), line(line) {}
  /// Answers the challenge, which may take `challengeSeconds`. Admitted: so
  /// far.
  Entry answer(const Socket &connection, double challengeSeconds);
  /// Whether a verdict of the other side follows.
  bool awaitsVerdict() const { return challenge.wantsProof != 0; }
  /// Receives the verdict.
  Entry conclude(const Socket &connection) const;

private:
  const std::string &secret;
  Line line;
  Challenge challenge{};
  ChallengeAnswer answered{};
};

/// Both steps.
Entry enter(const Socket &connection, const std::string &secret, Line line,
            double challengeSeconds);

/// Parameters of a Listener.
struct ListenerParams {
  /// Empty: all are admitted.
  std::string secret;
  Line line = Line::Store;
  /// Maximum number of connections in a handshake; one more closes the oldest.
  size_t maxStrangers = 256;
  /// Receives a note about each refused connection; may be null.
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
  /// Notes the number of refusals of each address.
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
  /// Refusals by address; under "" those of further addresses than
  /// `maxAddresses` and those of unknown address.
  std::map<std::string, uint64_t> refusals;
};

} // namespace rondo::runtime

#endif // RONDO_RUNTIME_LAUNCH_HANDSHAKE_H
