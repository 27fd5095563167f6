//===- handshake.cpp - Proofs of the secret on a new connection -----------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "runtime/launch/handshake.h"

#include "runtime/base/clock.h"

#include <algorithm>
#include <cerrno>
#include <fcntl.h>
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

/// The time for an answer, and the rest without descriptors.
static constexpr int64_t patienceNs = 5'000'000'000, restNs = 100'000'000;
/// Calls that are taken in a turn, and addresses that are counted one by one.
static constexpr int maxCalls = 64;
static constexpr size_t maxAddresses = 16;

Listener::Listener(std::vector<Socket> listeners, ListenerParams params)
    : listeners(std::move(listeners)), params(std::move(params)) {
  for (const Socket &listener : this->listeners)
    fcntl(listener.descriptor(), F_SETFL,
          fcntl(listener.descriptor(), F_GETFL) | O_NONBLOCK);
}

void Listener::addTo(std::vector<pollfd> &all, int64_t now) const {
  if (now >= restsUntilNs)
    for (const Socket &listener : listeners)
      all.push_back({listener.descriptor(), POLLIN, 0});
  for (const auto &[fd, stranger] : waiting)
    all.push_back({fd, POLLIN, 0});
}

std::vector<Socket> Listener::admit(const std::vector<pollfd> &found,
                                    int64_t now) {
  std::vector<Socket> admitted;
  hasNoFiles = false;
  for (const pollfd &ready : found) {
    if (ready.revents == 0)
      continue;
    if (auto it = waiting.find(ready.fd); it != waiting.end())
      if (!hear(it->second, admitted))
        waiting.erase(it);
  }
  for (auto it = waiting.begin(); it != waiting.end();)
    it = now > it->second.deadlineNs ? waiting.erase(it) : std::next(it);
  // Last, so that no descriptor of `found` belongs to somebody new.
  for (const pollfd &ready : found)
    for (const Socket &listener : listeners)
      if (ready.revents != 0 && ready.fd == listener.descriptor())
        call(listener, now, admitted);
  return admitted;
}

void Listener::call(const Socket &listener, int64_t now,
                    std::vector<Socket> &admitted) {
  for (int i = 0; i < maxCalls; ++i) {
    Socket socket(::accept4(listener.descriptor(), nullptr, nullptr,
                            SOCK_CLOEXEC | SOCK_NONBLOCK));
    if (socket) {
      keepAlive(socket);
      take(std::move(socket), now, admitted);
      continue;
    }
    if (errno == EMFILE || errno == ENFILE) {
      hasNoFiles = waiting.empty();
      restsUntilNs = now + restNs;
      sendOldestAway();
    }
    return;
  }
}

void Listener::take(Socket connection, int64_t now,
                    std::vector<Socket> &admitted) {
  Stranger stranger;
  stranger.challenge = makeChallenge(params.secret);
  // A new connection has room for this.
  if (send(connection.descriptor(), &stranger.challenge,
           sizeof stranger.challenge,
           MSG_NOSIGNAL) != sizeof stranger.challenge)
    return;
  if (!stranger.challenge.wantsProof)
    return admitted.push_back(std::move(connection));
  while (waiting.size() >= params.maxStrangers)
    sendOldestAway();
  // Later it may have gone, and its address with it.
  stranger.address = addressOf(connection, true);
  stranger.socket = std::move(connection);
  stranger.deadlineNs = now + patienceNs;
  stranger.number = ++calls;
  const int fd = stranger.socket.descriptor();
  waiting[fd] = std::move(stranger);
}

bool Listener::hear(Stranger &stranger, std::vector<Socket> &admitted) {
  auto *to = reinterpret_cast<char *>(&stranger.answer);
  const ssize_t count =
      recv(stranger.socket.descriptor(), to + stranger.received,
           sizeof stranger.answer - stranger.received, MSG_DONTWAIT);
  if (count < 0 && (errno == EINTR || errno == EAGAIN))
    return true;
  // An early disconnect is not counted as a refusal.
  if (count <= 0)
    return false;
  stranger.received += static_cast<size_t>(count);
  if (stranger.received < sizeof stranger.answer)
    return true;
  const Verdict verdict =
      judge(params.secret, params.line, stranger.challenge, stranger.answer);
  const bool isSent = send(stranger.socket.descriptor(), &verdict,
                           sizeof verdict, MSG_NOSIGNAL) == sizeof verdict;
  if (!verdict.isRight)
    turnAway(stranger);
  else if (isSent)
    admitted.push_back(std::move(stranger.socket));
  return false;
}

static std::string whoAt(const std::string &address) {
  return (address.empty() ? "other addresses, which do"
                          : address + ", which does") +
         std::string(" not know the secret of this run");
}

void Listener::turnAway(const Stranger &stranger) {
  std::string address = stranger.address;
  if (refusals.size() >= maxAddresses && refusals.count(address) == 0)
    address.clear();
  if (++refusals[address] == 1 && params.note)
    params.note("refused a connection from " + whoAt(address));
}

void Listener::sendOldestAway() {
  auto oldest = std::min_element(waiting.begin(), waiting.end(),
                                 [](const auto &a, const auto &b) {
                                   return a.second.number < b.second.number;
                                 });
  if (oldest != waiting.end())
    waiting.erase(oldest);
}

void Listener::sayCounts() {
  for (const auto &[address, count] : refusals)
    if (count > 1 && params.note)
      params.note("refused " + std::to_string(count) + " connections from " +
                  whoAt(address));
  refusals.clear();
}
