//===- handshake.h - How a connection of a run begins -----------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Who is called sends a challenge. If it has a secret, the caller proves that
// it knows it too, then who is called does. Each proof covers the fresh nonces
// of both, what the connection is for, and whose proof it is, so none can be
// used again or sent back. Nothing of the run is said before.
//
//===----------------------------------------------------------------------===//

#ifndef RONDO_RUNTIME_LAUNCH_HANDSHAKE_H
#define RONDO_RUNTIME_LAUNCH_HANDSHAKE_H

#include "runtime/launch/hmac.h"
#include "runtime/launch/socket.h"

#include <cstdint>
#include <string>

namespace rondo::runtime {

/// What a connection is for.
enum class Line { Store, Messages };

/// The first bytes on a connection, from who is called.
struct Challenge {
  uint64_t magic;
  /// 0: whoever calls is let in, and nothing more is said.
  uint64_t wantsProof;
  Nonce nonce;
};
/// From the caller.
struct ChallengeAnswer {
  Nonce nonce;
  Proof proof;
};
/// From who is called.
struct Verdict {
  /// 0: the caller's proof is wrong, and so is the proof here.
  uint64_t isRight;
  Proof proof;
};

/// `secret` may be empty: then whoever calls is let in.
Challenge makeChallenge(const std::string &secret);
/// What who is called says to an answer.
Verdict judge(const std::string &secret, Line line, const Challenge &challenge,
              const ChallengeAnswer &answer);

/// How a call ended.
enum class Entry {
  Admitted,
  /// Nothing that is said here was said there.
  Foreign,
  /// No answer came in time.
  Silent,
  /// The other side does not know this secret.
  WrongSecret,
  /// The other side wants a secret, and this one has none.
  SecretMissing,
  /// The other side wants none, so anybody could be there.
  SecretUnwanted,
};
/// One sentence for an entry that is not Admitted; `who` is who was called.
std::string textOf(Entry entry, const std::string &who);

/// The caller's part, in two steps, so that a process can call many others at
/// once. `secret` must outlive it.
class Caller {
public:
  Caller(const std::string &secret, Line line) : secret(secret), line(line) {}
  /// Answers the challenge, which may take `challengeSeconds`. Admitted: so
  /// far.
  Entry answer(const Socket &connection, double challengeSeconds);
  /// Whether the other side still says whether the answer is right.
  bool awaitsVerdict() const { return challenge.wantsProof != 0; }
  /// Hears the verdict.
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

} // namespace rondo::runtime

#endif // RONDO_RUNTIME_LAUNCH_HANDSHAKE_H
