//===- tcp_connect.cpp - Connects the processes of a run by TCP -----------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "runtime/transport/endpoint.h"

#include "runtime/base/clock.h"
#include "runtime/base/error.h"
#include "runtime/launch/handshake.h"
#include "runtime/launch/socket.h"
#include "runtime/launch/store.h"
#include "runtime/launch/world.h"

#include <algorithm>
#include <atomic>
#include <cerrno>
#include <cstring>
#include <deque>
#include <exception>
#include <functional>
#include <poll.h>
#include <random>
#include <sstream>
#include <sys/socket.h>
#include <thread>
#include <unistd.h>

using namespace rondo::runtime;

namespace {

/// The first bytes of a connection after the handshake.
struct Greeting {
  /// Sent by the process that was called: others do not know it.
  uint64_t token;
  int32_t process, purpose;
};

/// Sent by a process to the others before it listens.
struct Place {
  std::string machine;
  Store::Addresses addresses;
};

/// The port on which a process listens.
struct Called {
  int port = 0;
  uint64_t token = 0;
};

} // namespace

static std::string wordsOf(const Place &place) {
  auto word = [](const std::string &text) {
    return text.empty() ? std::string("unknown") : text;
  };
  return place.machine + " " + word(place.addresses.own) + " " +
         word(place.addresses.atFirst);
}

static std::vector<Place> placesOf(const std::vector<std::string> &texts) {
  std::vector<Place> places;
  for (const std::string &text : texts) {
    std::istringstream words(text);
    Place &place = places.emplace_back();
    words >> place.machine >> place.addresses.own >> place.addresses.atFirst;
  }
  return places;
}

static Called calledOf(const std::string &text) {
  std::istringstream words(text);
  Called called;
  words >> called.port >> called.token;
  return called;
}

/// The addresses of this machine at which others call process `me`.
static std::vector<std::string>
addressesFor(int32_t me, const std::vector<Place> &places,
             const std::function<bool(int32_t)> &isCaller) {
  const Place &mine = places[me];
  std::vector<std::string> addresses;
  auto add = [&](const std::string &address) {
    if (std::find(addresses.begin(), addresses.end(), address) ==
        addresses.end())
      addresses.push_back(address);
  };
  for (int32_t p = me + 1; p < static_cast<int32_t>(places.size()); ++p)
    if (!isCaller(p))
      continue;
    else if (places[p].machine == mine.machine)
      add(loopbackAddress);
    // They reach this machine as they have reached process 0.
    else if (mine.machine == places.front().machine)
      add(places[p].addresses.atFirst);
    else
      add(mine.addresses.own);
  if (addresses.empty())
    add(loopbackAddress);
  return addresses;
}

/// Equal for processes that share a loopback interface; containers on one
/// machine may not.
static std::string machineName() {
  char space[64] = {};
  if (readlink("/proc/self/ns/net", space, sizeof space - 1) < 0)
    *space = '\0';
  char host[256] = {};
  gethostname(host, sizeof host - 1);
  const std::string clock = clockName();
  return (clock.empty() ? host : clock) + "/" + space;
}

namespace {

/// Somebody who has been let in and has not said which process he is.
struct PendingPeer {
  Socket socket;
  Greeting greeting{};
  size_t received = 0;
  int64_t deadlineNs = 0;
};

} // namespace

/// Returns whether the pending has not said all.
static bool isStillToSay(PendingPeer &pending, int64_t now) {
  auto *to = reinterpret_cast<char *>(&pending.greeting);
  const ssize_t count =
      recv(pending.socket.descriptor(), to + pending.received,
           sizeof pending.greeting - pending.received, MSG_DONTWAIT);
  if (count < 0 && (errno == EINTR || errno == EAGAIN))
    return now <= pending.deadlineNs;
  if (count <= 0) {
    pending.received = 0;
    return false;
  }
  pending.received += static_cast<size_t>(count);
  return pending.received < sizeof pending.greeting &&
         now <= pending.deadlineNs;
}

/// The time in which all connections must have been made.
static double limitOf(double timeoutSeconds) {
  constexpr double most = 60;
  return timeoutSeconds > 0 ? std::min(timeoutSeconds, most) : most;
}

/// The processes with higher numbers that have not connected.
static std::string missingPeers(const World &world, int purposes,
                                const std::vector<bool> &isPeer,
                                const std::vector<Socket> &sockets) {
  std::vector<int32_t> missing;
  for (int32_t p = world.process + 1; p < world.processes; ++p)
    for (int purpose = 0; purpose < purposes; ++purpose) {
      const size_t place = static_cast<size_t>(p) * purposes + purpose;
      if (isPeer[place] && !sockets[place] &&
          (missing.empty() || missing.back() != p))
        missing.push_back(p);
    }
  return ranksText(missing);
}

/// Fills in the sockets of processes with higher numbers.
static void admit(const World &world, int purposes,
                  const std::vector<bool> &isPeer,
                  std::vector<Socket> listeners, uint64_t token,
                  const Deadline &deadline, const std::atomic<bool> &isGivenUp,
                  std::vector<Socket> &sockets) {
  Store &store = *world.store;
  constexpr int64_t pendingNs = 5'000'000'000;
  constexpr size_t maxStrangers = 256;
  auto missing =
      std::count(isPeer.begin() + int64_t(world.process + 1) * purposes,
                 isPeer.end(), true);
  const size_t most = maxStrangers + static_cast<size_t>(missing);
  Listener listener(std::move(listeners),
                    {store.secret(), Line::Messages, most, sayNote});
  std::deque<PendingPeer> pendingPeers;
  auto seat = [&](PendingPeer &pending) {
    const Greeting &greeting = pending.greeting;
    if (pending.received != sizeof greeting || greeting.token != token ||
        greeting.process <= world.process ||
        greeting.process >= world.processes || greeting.purpose < 0 ||
        greeting.purpose >= purposes)
      return;
    const size_t place = static_cast<size_t>(greeting.process) * purposes +
                         static_cast<size_t>(greeting.purpose);
    Socket &socket = sockets[place];
    if (socket || !isPeer[place])
      return;
    socket = std::move(pending.socket);
    --missing;
  };
  while (missing > 0) {
    if (isGivenUp)
      return;
    store.check();
    if (deadline.hasExpired())
      throw Error("rank " + std::to_string(world.process) + " waits in '" +
                      nameOf(Phase::Connect) + "' for " +
                      missingPeers(world, purposes, isPeer, sockets) +
                      ", which did not connect within " +
                      secondsText(deadline.limitSeconds()),
                  Exit::RunFailure);
    std::vector<pollfd> waiting;
    listener.addTo(waiting, nowNs());
    const size_t atListener = waiting.size();
    for (const PendingPeer &pending : pendingPeers)
      waiting.push_back({pending.socket.descriptor(), POLLIN, 0});
    poll(waiting.data(), waiting.size(), 100);
    const int64_t now = nowNs();
    for (auto it = pendingPeers.begin(); it != pendingPeers.end();) {
      if (isStillToSay(*it, now)) {
        ++it;
        continue;
      }
      seat(*it);
      it = pendingPeers.erase(it);
    }
    waiting.resize(atListener);
    for (Socket &socket : listener.admit(waiting, now)) {
      if (pendingPeers.size() >= most)
        pendingPeers.pop_front();
      PendingPeer pending;
      pending.socket = std::move(socket);
      pending.deadlineNs = now + pendingNs;
      pendingPeers.push_back(std::move(pending));
    }
  }
  listener.sayCounts();
}

namespace {

/// A connection to a process with a lower number.
struct Call {
  Socket socket;
  int32_t process;
  HostPort to;
  Greeting greeting;
  Caller caller;
  bool hasAnswered = false;
};

} // namespace

/// Answers challenges in the order in which they arrive: the other processes
/// wait only some seconds for an answer, so a slow one must not delay it.
/// `admitted` gets each connection that is admitted, `fail` never returns.
template <typename Admitted, typename Fail>
static void answerAll(std::vector<Call> &calls, const Deadline &deadline,
                      const std::function<void()> &look, Admitted admitted,
                      Fail fail) {
  constexpr double sliceSeconds = 0.1;
  // The rest of an answer comes with its first bytes.
  constexpr double answerSeconds = 1;
  auto check = [&](const Call &call, Entry entry) {
    if (entry != Entry::Admitted)
      fail(call, textOf(entry, "rank " + std::to_string(call.process)));
  };
  for (size_t open = calls.size(); open > 0;) {
    std::vector<pollfd> waiting;
    for (const Call &call : calls)
      waiting.push_back(
          {call.socket ? call.socket.descriptor() : -1, POLLIN, 0});
    poll(waiting.data(), waiting.size(),
         static_cast<int>(1000 * deadline.leftSeconds(sliceSeconds)));
    for (size_t c = 0; c < calls.size(); ++c) {
      Call &call = calls[c];
      if (!call.socket || waiting[c].revents == 0)
        continue;
      if (!call.hasAnswered) {
        check(call, call.caller.answer(call.socket, answerSeconds));
        call.hasAnswered = true;
        if (call.caller.awaitsVerdict())
          continue;
      }
      check(call, call.caller.conclude(call.socket));
      admitted(call);
      call.socket = Socket();
      --open;
    }
    look();
    if (!deadline.hasExpired())
      continue;
    for (const Call &call : calls)
      if (call.socket)
        fail(call, "it did not answer within " +
                       secondsText(deadline.limitSeconds()));
  }
}

/// Fills in the sockets of processes with lower numbers, all at the same time.
static void call(const World &world, std::vector<Call> calls,
                 const Deadline &deadline, std::vector<Socket> &sockets) {
  auto fail = [&](const Call &call, const std::string &why) {
    throw Error("rank " + std::to_string(world.process) + " in '" +
                    nameOf(Phase::Connect) + "' cannot connect to rank " +
                    std::to_string(call.process) + " at " + textOf(call.to) +
                    ": " + why,
                Exit::RunFailure);
  };
  const std::function<void()> look = [&] { world.store->check(); };
  std::vector<HostPort> places;
  for (const Call &call : calls)
    places.push_back(call.to);
  std::vector<std::string> reasons;
  std::vector<Socket> made = connectToAll(places, deadline, look, reasons);
  for (size_t c = 0; c < calls.size(); ++c) {
    calls[c].socket = std::move(made[c]);
    if (!calls[c].socket)
      fail(calls[c], reasons[c]);
  }
  const int purposes = static_cast<int>(sockets.size()) / world.processes;
  auto admitted = [&](Call &call) {
    if (!sendAll(call.socket,
                 std::string(reinterpret_cast<const char *>(&call.greeting),
                             sizeof call.greeting)))
      fail(call, textOf(Entry::Silent, "rank " + std::to_string(call.process)));
    sockets[static_cast<size_t>(call.process) * purposes +
            call.greeting.purpose] = std::move(call.socket);
  };
  answerAll(calls, deadline, look, admitted, fail);
}

/// Connects to the peers with lower numbers, and accepts the others.
/// Machines need not know each other's names, so the addresses are those by
/// which all have reached process 0.
std::vector<Socket>
rondo::runtime::connectProcesses(const World &world, int purposes,
                                 const std::vector<bool> &isPeer,
                                 double timeoutSeconds) {
  Store &store = *world.store;
  const Store::Addresses addresses = store.addresses();
  const std::vector<Place> places = placesOf(store.exchange(
      "the places of processes", wordsOf(Place{machineName(), addresses})));
  const Place &mine = places[world.process];
  const std::vector<std::string> reached =
      addressesFor(world.process, places, [&](int32_t p) {
        const auto first = isPeer.begin() + int64_t(p) * purposes;
        return std::find(first, first + purposes, true) != first + purposes;
      });
  std::vector<Socket> listeners = listenAt(reached, 0);
  if (listeners.empty())
    throw Error("rank " + std::to_string(world.process) + " cannot listen at " +
                    reached.front() + ": " + std::strerror(errno),
                Exit::RunFailure);
  std::random_device random;
  const uint64_t token = static_cast<uint64_t>(random()) << 32 | random();
  const std::vector<std::string> all = store.exchange(
      "the connection of processes",
      std::to_string(portOf(listeners.front())) + " " + std::to_string(token));
  std::vector<Socket> sockets(static_cast<size_t>(world.processes) * purposes);
  const std::string secret = store.secret();
  std::vector<Call> calls;
  for (int32_t p = 0; p < world.process; ++p) {
    const Place &place = places[p];
    const Called called = calledOf(all[p]);
    const HostPort to = {place.machine == mine.machine ? loopbackAddress
                         : place.machine == places.front().machine
                             ? addresses.ofFirst
                             : place.addresses.own,
                         called.port};
    for (int purpose = 0; purpose < purposes; ++purpose)
      if (isPeer[static_cast<size_t>(p) * purposes + purpose])
        calls.push_back({Socket(), p, to,
                         Greeting{called.token, world.process, purpose},
                         Caller(secret, Line::Messages)});
  }
  enter(world, Phase::Connect);
  std::atomic<bool> isGivenUp{false};
  // Others wait for an answer while this process waits for those that it calls.
  // The two fill in different sockets.
  std::exception_ptr failure;
  std::thread acceptor([&] {
    try {
      admit(world, purposes, isPeer, std::move(listeners), token,
            Deadline(limitOf(timeoutSeconds)), isGivenUp, sockets);
    } catch (...) {
      failure = std::current_exception();
    }
  });
  try {
    call(world, std::move(calls), Deadline(limitOf(timeoutSeconds)), sockets);
  } catch (...) {
    // Nobody else would end the other wait.
    isGivenUp = true;
    acceptor.join();
    throw;
  }
  acceptor.join();
  if (failure)
    std::rethrow_exception(failure);
  return sockets;
}
