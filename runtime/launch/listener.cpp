//===- listener.cpp - Lets connections of the run in ----------------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "runtime/launch/listener.h"

#include <algorithm>
#include <cerrno>
#include <fcntl.h>
#include <poll.h>
#include <sys/socket.h>

using namespace rondo::runtime;

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
  // Who leaves has claimed nothing.
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
