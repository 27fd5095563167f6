//===- handshake.cpp - How a connection of a run begins -------------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "runtime/launch/handshake.h"

#include "runtime/base/clock.h"

#include <algorithm>
#include <cerrno>
#include <poll.h>
#include <sys/socket.h>

using namespace rondo::runtime;

namespace {

/// "RONDO", "hs" and the version of the handshake.
constexpr uint64_t magic = 0x0173684f444e4f52;
/// The time for the verdict.
constexpr double verdictSeconds = 10;

enum class Side { Caller, Called };

} // namespace

static Proof proofBy(Side side, const std::string &secret, Line line,
                     const Nonce &called, const Nonce &caller) {
  std::string text = "rondo handshake 1 ";
  text += line == Line::Store ? "store " : "messages ";
  text += side == Side::Caller ? "caller " : "called ";
  text.append(called.begin(), called.end());
  text.append(caller.begin(), caller.end());
  return proofOf(secret, text);
}

Challenge rondo::runtime::makeChallenge(const std::string &secret) {
  Challenge challenge{magic, secret.empty() ? 0u : 1u, {}};
  if (challenge.wantsProof)
    challenge.nonce = freshNonce();
  return challenge;
}

Verdict rondo::runtime::judge(const std::string &secret, Line line,
                              const Challenge &challenge,
                              const ChallengeAnswer &answer) {
  Verdict verdict{};
  if (!areEqual(answer.proof, proofBy(Side::Caller, secret, line,
                                      challenge.nonce, answer.nonce)))
    return verdict;
  verdict.isRight = 1;
  verdict.proof =
      proofBy(Side::Called, secret, line, challenge.nonce, answer.nonce);
  return verdict;
}

std::string rondo::runtime::textOf(Entry entry, const std::string &who) {
  switch (entry) {
  case Entry::Admitted:
    break;
  case Entry::Foreign:
    return "what listens there is not " + who;
  case Entry::Silent:
    return who + " does not answer";
  case Entry::WrongSecret:
    return "this process and " + who + " have different secrets";
  case Entry::SecretMissing:
    return who + " has a secret, but this process has none: set RONDO_SECRET "
                 "or give --secret-file";
  case Entry::SecretUnwanted:
    return "this process has a secret, but what listens there asks for none";
  }
  return std::string();
}

/// Exactly these bytes and none that follow. `isOver`: the stream has ended.
static bool receiveAll(const Socket &socket, void *data, size_t bytes,
                       double seconds, bool &isOver) {
  const int64_t deadlineNs = nowNs() + static_cast<int64_t>(seconds * 1e9);
  auto *to = static_cast<char *>(data);
  while (bytes > 0) {
    const int64_t leftMs = (deadlineNs - nowNs()) / 1'000'000;
    pollfd waiting = {socket.descriptor(), POLLIN, 0};
    const int ready =
        poll(&waiting, 1, static_cast<int>(std::max<int64_t>(0, leftMs)));
    if (ready < 0 && errno == EINTR)
      continue;
    if (ready <= 0)
      return false;
    const ssize_t count = recv(socket.descriptor(), to, bytes, MSG_DONTWAIT);
    if (count < 0 && (errno == EINTR || errno == EAGAIN))
      continue;
    isOver = count <= 0;
    if (isOver)
      return false;
    to += count;
    bytes -= static_cast<size_t>(count);
  }
  return true;
}

template <typename T> static std::string bytesOf(const T &value) {
  return std::string(reinterpret_cast<const char *>(&value), sizeof value);
}

Entry Caller::answer(const Socket &connection, double challengeSeconds) {
  bool isOver = false;
  // Another program may listen there and send nothing.
  if (!receiveAll(connection, &challenge, sizeof challenge, challengeSeconds,
                  isOver))
    return isOver ? Entry::Silent : Entry::Foreign;
  if (challenge.magic != magic)
    return Entry::Foreign;
  if (challenge.wantsProof == 0)
    return secret.empty() ? Entry::Admitted : Entry::SecretUnwanted;
  // Without a secret, zeros: the other side counts who comes without one.
  if (!secret.empty()) {
    answered.nonce = freshNonce();
    answered.proof =
        proofBy(Side::Caller, secret, line, challenge.nonce, answered.nonce);
  }
  return sendAll(connection, bytesOf(answered)) ? Entry::Admitted
                                                : Entry::Silent;
}

Entry Caller::conclude(const Socket &connection) const {
  if (challenge.wantsProof == 0)
    return Entry::Admitted;
  Verdict verdict{};
  bool isOver = false;
  const bool isHeard =
      receiveAll(connection, &verdict, sizeof verdict, verdictSeconds, isOver);
  if (secret.empty())
    return Entry::SecretMissing;
  if (!isHeard)
    return Entry::Silent;
  return verdict.isRight && areEqual(verdict.proof,
                                     proofBy(Side::Called, secret, line,
                                             challenge.nonce, answered.nonce))
             ? Entry::Admitted
             : Entry::WrongSecret;
}

Entry rondo::runtime::enter(const Socket &connection, const std::string &secret,
                            Line line, double challengeSeconds) {
  Caller caller(secret, line);
  const Entry entry = caller.answer(connection, challengeSeconds);
  return entry == Entry::Admitted ? caller.conclude(connection) : entry;
}
