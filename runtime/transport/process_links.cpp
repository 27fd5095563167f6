//===- process_links.cpp - Measures channels between processes ------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// A process compares its clock with one peer after another. All take pairs in
// one order, so that they do not wait for each other in a cycle: those whose
// lower rank is even first, since the pairs of a chain would otherwise wait for
// each other from its one end to the other.
//
//===----------------------------------------------------------------------===//

#include "runtime/base/clock.h"
#include "runtime/base/error.h"
#include "runtime/launch/store.h"
#include "runtime/transport/process_transport.h"

#include <algorithm>
#include <cstring>
#include <set>
#include <tuple>
#include <utility>

using namespace rondo::runtime;

/// Round trips per comparison. A single one without interference is enough.
static constexpr int numRoundTrips = 16;

static constexpr size_t longestName = 128;

ProcessTransport::Part ProcessTransport::startSend(int32_t to, const void *data,
                                                   int64_t bytes) {
  std::lock_guard<std::mutex> lock(mutex);
  return {endpoint->send(to, Endpoint::Collectives, 0, data, bytes), to};
}

ProcessTransport::Part ProcessTransport::startReceive(int32_t from, void *data,
                                                      int64_t bytes) {
  std::lock_guard<std::mutex> lock(mutex);
  return {endpoint->receive(from, Endpoint::Collectives, data, bytes), from};
}

void ProcessTransport::finish(Part part) {
  Endpoint::Ended ended;
  std::optional<Deadline> deadline;
  spinUntil([&] { return endpoint->test(part.operation, ended); },
            [&] {
              if (!deadline)
                deadline.emplace(timeoutSeconds, waitClock);
              // Its operation stays posted; nobody may advance it any more.
              auto giveUp = [&] { isAborted = true; };
              try {
                if (world.store)
                  world.store->check();
              } catch (...) {
                giveUp();
                throw;
              }
              if (!deadline->hasExpired())
                return;
              giveUp();
              throw Error("rank " + std::to_string(me) + " waits for rank " +
                              std::to_string(part.peer) + " in '" +
                              nameOf(phase) +
                              "', which did not answer within " +
                              secondsText(timeoutSeconds),
                          Exit::RunFailure);
            });
}

void ProcessTransport::beginPhase(Phase entered) {
  phase = entered;
  enter(world, phase);
}

void ProcessTransport::sendNow(int32_t to, const void *data, int64_t bytes) {
  finish(startSend(to, data, bytes));
}

void ProcessTransport::receiveNow(int32_t from, void *data, int64_t bytes) {
  finish(startReceive(from, data, bytes));
}

/// Finds the peers, and compares clocks for the first time.
void ProcessTransport::meetPeers() {
  beginPhase(Phase::Meet);
  /// Whether the lower rank is odd; both ranks.
  std::set<std::tuple<bool, int32_t, int32_t>> pairs;
  for (const Channel &c : channels)
    if (c.from == me || c.to == me) {
      const auto [low, high] = std::minmax(c.from, c.to);
      pairs.emplace(low % 2 != 0, low, high);
    }
  char mine[longestName] = {};
  clock->name().copy(mine, longestName - 1);
  for (const auto &[isOdd, low, high] : pairs) {
    const int32_t rank = low == me ? high : low;
    peers.emplace_back();
    Peer &peer = peers.back();
    peer.rank = rank;
    char theirs[longestName] = {};
    const Part heard = startReceive(rank, theirs, longestName);
    sendNow(rank, mine, longestName);
    finish(heard);
    peer.hasSameClock = *mine && std::memcmp(mine, theirs, longestName) == 0;
    compareClocks(peer);
  }
}

/// The lower rank asks.
std::vector<RoundTrip> ProcessTransport::ask(const Peer &peer) {
  std::vector<RoundTrip> trips(numRoundTrips);
  for (RoundTrip &trip : trips) {
    const Part heard = startReceive(peer.rank, nullptr, 0);
    trip.sent = clock->now();
    sendNow(peer.rank, nullptr, 0);
    finish(heard);
    trip.answered = clock->now();
  }
  std::vector<uint64_t> theirs(numRoundTrips);
  receiveNow(peer.rank, theirs.data(), numRoundTrips * sizeof(uint64_t));
  for (int i = 0; i < numRoundTrips; ++i)
    trips[i].theirs = theirs[i];
  return trips;
}

/// When each question came.
std::vector<uint64_t> ProcessTransport::answer(Peer &peer) {
  std::vector<uint64_t> stamps(numRoundTrips);
  for (uint64_t &stamp : stamps) {
    receiveNow(peer.rank, nullptr, 0);
    stamp = clock->now();
    sendNow(peer.rank, nullptr, 0);
  }
  sendNow(peer.rank, stamps.data(), numRoundTrips * sizeof(uint64_t));
  return stamps;
}

void ProcessTransport::compareClocks(Peer &peer) {
  ClockPoint point;
  uint64_t shortest = UINT64_MAX;
  if (me < peer.rank) {
    const std::vector<RoundTrip> trips = ask(peer);
    for (const RoundTrip &trip : trips)
      shortest = std::min(shortest, trip.answered - trip.sent);
    point = rondo::runtime::compareClocks(trips);
    sendNow(peer.rank, &point, sizeof point);
  } else {
    // The time from one question to the next is a round trip, too.
    const std::vector<uint64_t> stamps = answer(peer);
    for (int i = 1; i < numRoundTrips; ++i)
      shortest = std::min(shortest, stamps[i] - stamps[i - 1]);
    receiveNow(peer.rank, &point, sizeof point);
    std::swap(point.mine, point.theirs);
  }
  peer.roundTrip = std::min(peer.roundTrip, shortest);
  if (peer.hasSameClock)
    return;
  peer.clock.add(point);
  peer.errors[0] = std::exchange(peer.errors[1], shortest / 2);
}

const ProcessTransport::Peer &ProcessTransport::peerOf(int32_t rank) const {
  return *std::find_if(peers.begin(), peers.end(),
                       [&](const Peer &peer) { return peer.rank == rank; });
}

/// Brings the stamps of both ends together at the receivers.
std::vector<std::vector<Transfer>> ProcessTransport::takeTransfers() {
  if (!params.measures)
    return {};
  beginPhase(Phase::TakeTransfers);
  for (Peer &peer : peers)
    if (!peer.hasSameClock)
      compareClocks(peer);
  std::vector<std::vector<Transfer>> all(channels.size());
  for (size_t i = 0; i < channels.size(); ++i) {
    Channel &c = channels[i];
    if (c.from != me && c.to != me)
      continue;
    std::vector<Stamps> mine = c.stamps.take(c.next);
    const int64_t bytes = static_cast<int64_t>(mine.size() * sizeof(Stamps));
    if (c.from == me) {
      sendNow(c.to, mine.data(), bytes);
      continue;
    }
    std::vector<Stamps> theirs(mine.size());
    receiveNow(c.from, theirs.data(), bytes);
    all[i] = addTransfers(c.meter, theirs, mine, peerOf(c.from).clock,
                          clock->nsPerUnit());
  }
  return all;
}

std::vector<LinkFigures> ProcessTransport::links() {
  if (!params.measures)
    return {};
  takeTransfers();
  const double nsPerUnit = clock->nsPerUnit();
  std::vector<LinkFigures> figures(channels.size());
  for (size_t i = 0; i < channels.size(); ++i) {
    Channel &c = channels[i];
    if (c.to != me)
      continue;
    const Peer &peer = peerOf(c.from);
    const int64_t latencyNs = c.link ? c.link->at(nowNs()).latencyNs : 0;
    figures[i] = fitLink(c.meter.sizes(), /*nsPerUnit=*/1,
                         0.5 * nsPerUnit * static_cast<double>(peer.roundTrip) +
                             static_cast<double>(latencyNs),
                         /*stepNs=*/1);
    figures[i].from = c.from;
    figures[i].to = c.to;
    figures[i].clockErrorNs =
        nsPerUnit *
        static_cast<double>(std::max(peer.errors[0], peer.errors[1]));
  }
  share(figures);
  return figures;
}

/// Through process 0.
void ProcessTransport::share(std::vector<LinkFigures> &figures) {
  const int64_t bytes =
      static_cast<int64_t>(figures.size() * sizeof(LinkFigures));
  if (bytes == 0)
    return;
  if (me != 0) {
    sendNow(0, figures.data(), bytes);
    receiveNow(0, figures.data(), bytes);
    return;
  }
  std::vector<LinkFigures> theirs(figures.size());
  for (int32_t p = 1; p < processes; ++p) {
    receiveNow(p, theirs.data(), bytes);
    for (size_t i = 0; i < figures.size(); ++i)
      if (channels[i].to == p)
        figures[i] = theirs[i];
  }
  for (int32_t p = 1; p < processes; ++p)
    sendNow(p, figures.data(), bytes);
}
