//===- process_transport.cpp - Ranks are processes ------------------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// A message's name travels as its tag, so that both ends notice if they
// disagree.
//
//===----------------------------------------------------------------------===//

#include "runtime/transport/process_transport.h"

#include "runtime/base/clock.h"
#include "runtime/base/crc32c.h"
#include "runtime/base/error.h"
#include "runtime/transport/endpoint.h"
#include "runtime/transport/exchange.h"
#include "runtime/transport/transport.h"

#include <algorithm>
#include <sched.h>
#include <sys/prctl.h>
#include <utility>

using namespace rondo::runtime;

Endpoint::~Endpoint() = default;

/// The lowest bits of a number.
static uint32_t low(uint32_t number, int bits) {
  return number & ((1u << bits) - 1);
}

/// Micro-batch in the lowest bits, then the edge.
MessageTags::MessageTags(int32_t largest) {
  int bits = 0;
  while ((int64_t(2) << bits) - 1 <= largest)
    ++bits;
  edgeBits = 1 + (bits - 1) * 13 / 30;
  microbatchBits = bits - edgeBits;
}

int32_t MessageTags::tagOf(MessageName name) const {
  return static_cast<int32_t>(
      low(static_cast<uint32_t>(name.microbatch), microbatchBits) |
      low(static_cast<uint32_t>(name.edge), edgeBits) << microbatchBits);
}

MessageName MessageTags::nameOf(int32_t tag) const {
  const uint32_t bits = static_cast<uint32_t>(tag);
  MessageName name;
  name.edge = static_cast<int32_t>(low(bits >> microbatchBits, edgeBits));
  name.microbatch = static_cast<int32_t>(low(bits, microbatchBits));
  return name;
}

ProcessTransport::ProcessTransport(const TransportParams &params,
                                   const World &world,
                                   std::unique_ptr<Endpoint> endpoint,
                                   const TransportOptions &options,
                                   std::unique_ptr<StampClock> clock)
    : params(params), world(world), timeoutSeconds(options.timeoutSeconds),
      waitClock(options.clock), me(world.process),
      staging(params.stagingOf(me)), sums(params.collectives.size()),
      endpoint(std::move(endpoint)),
      clock(clock ? std::move(clock) : makeTickClock()),
      processes(world.processes), tags(this->endpoint->largestTag()),
      network(params.imposeLinks ? params.imposeLinks() : nullptr),
      isLinkImposed(network != nullptr),
      spinNs(world.localProcesses <= options.cores ? 50'000 : 2'000),
      channels(params.channels.size()) {
  for (size_t i = 0; i < channels.size(); ++i) {
    channels[i].from = params.channels[i].from;
    channels[i].to = params.channels[i].to;
    channels[i].messages = params.channels[i].messages;
    channels[i].isEndless = params.channels[i].isEndless;
    if (channels[i].from != me && channels[i].to != me)
      continue;
    // A power of two divides 2^32, so tickets may wrap.
    size_t capacity = 1;
    while (capacity < static_cast<size_t>(params.channels[i].messages))
      capacity *= 2;
    channels[i].entries.resize(capacity);
    channels[i].link = imposedLink(channels[i].from, channels[i].to);
    if (params.measures)
      channels[i].stamps.enable();
  }
  for (size_t c = 0; c < sums.size(); ++c)
    for (const PartParams &part : params.collectives[c])
      if (part.rank == me && !sums[c].exchange)
        sums[c].exchange.emplace(params.collectives[c], me,
                                 sumsOfProcesses.elementsAtOnce);
  if (params.measures)
    meetPeers();
  helper = std::thread([this] { help(); });
}

ProcessTransport::~ProcessTransport() {
  {
    std::lock_guard<std::mutex> lock(mutex);
    isClosing = true;
  }
  changed.notify_all();
  helper.join();
}

bool ProcessTransport::begin(int32_t, int32_t, const Replay &) {
  for (Channel &c : channels)
    c.firstOfIteration = c.next;
  return true;
}

/// A message that nobody has waited for must match too.
void ProcessTransport::end(int32_t) {
  for (size_t c = 0; c < channels.size(); ++c)
    for (size_t ticket = 0; ticket < channels[c].entries.size(); ++ticket) {
      const Entry &entry = channels[c].entries[ticket];
      if (channels[c].to == me && entry.isUnchecked)
        waitReceived(static_cast<int32_t>(c), static_cast<Ticket>(ticket));
    }
}

Transport::Ticket ProcessTransport::send(int32_t channel, MessageName name,
                                         const void *data, int64_t bytes) {
  Channel &c = channels[channel];
  const uint64_t now = c.stamps.isEnabled() ? clock->now() : 0;
  std::lock_guard<std::mutex> lock(mutex);
  Entry &entry = start(c, name, bytes, now);
  const int32_t tag = tags.tagOf(name);
  const void *sent = data;
  if (bytes > 0 && std::exchange(spoils, false)) {
    const char *first = static_cast<const char *>(data);
    entry.spoiled.assign(first, first + bytes);
    entry.spoiled[bytes / 2] ^= 1;
    sent = entry.spoiled.data();
  }
  entry.operation = endpoint->send(c.to, Endpoint::Messages, tag, sent, bytes);
  if (params.checks) {
    entry.checksum = crc32c(data, static_cast<size_t>(bytes));
    entry.checksumOperation = endpoint->send(
        c.to, Endpoint::Messages, tag, &entry.checksum, sizeof entry.checksum);
  }
  return c.next++;
}

Transport::Ticket ProcessTransport::receive(int32_t channel, MessageName name,
                                            void *data, int64_t bytes) {
  Channel &c = channels[channel];
  const uint64_t now = c.stamps.isEnabled() ? clock->now() : 0;
  std::lock_guard<std::mutex> lock(mutex);
  Entry &entry = start(c, name, bytes, now);
  entry.isUnchecked = true;
  entry.operation = endpoint->receive(c.from, Endpoint::Messages, data, bytes);
  if (params.checks) {
    entry.data = static_cast<const char *>(data);
    entry.checksumOperation = endpoint->receive(
        c.from, Endpoint::Messages, &entry.checksum, sizeof entry.checksum);
  }
  return c.next++;
}

void ProcessTransport::waitSent(int32_t channel, Ticket ticket) {
  Channel &c = channels[channel];
  Entry &entry = c.entry(ticket);
  // An entry is used again only after its message has ended.
  if (entry.number != ticket)
    return;
  waitFor(entry.hasEnded, Waiting::For::Release, channel, ticket);
  if (isLinkImposed)
    waitUntil(entry.carriedNs, Waiting::For::Release, channel, ticket);
}

void ProcessTransport::waitReceived(int32_t channel, Ticket ticket) {
  Channel &c = channels[channel];
  Entry &entry = c.entry(ticket);
  waitFor(entry.hasEnded, Waiting::For::Arrival, channel, ticket);
  if (isLinkImposed)
    waitUntil(entry.arrivalNs, Waiting::For::Arrival, channel, ticket);
  entry.isUnchecked = false;
  check(c, entry);
}

void ProcessTransport::abort() {
  isAborted = true;
  changed.notify_all();
}

ProcessTransport::Entry &ProcessTransport::start(Channel &c, MessageName name,
                                                 int64_t bytes, uint64_t now) {
  Entry &entry = c.entry(c.next);
  if (entry.isBusy)
    bringForward();
  if (entry.isBusy || entry.isUnchecked ||
      (!c.isEndless && c.next - c.firstOfIteration >= c.messages))
    failOnTooMany(c.from == me, name, c.from, c.to, params.edges);
  entry = Entry();
  entry.number = c.next;
  entry.isBusy = true;
  entry.name = name;
  entry.bytes = bytes;
  if (c.stamps.isEnabled())
    c.stamps.of(c.next) = {bytes, now, 0, 0};
  pending.push_back({&c, &entry});
  changed.notify_all();
  return entry;
}

void ProcessTransport::check(const Channel &c, const Entry &entry) const {
  if (entry.ended.tag != tags.tagOf(entry.name))
    failOnMismatch(tags.nameOf(entry.ended.tag), entry.name, c.from, me,
                   params.edges);
  if (entry.ended.bytes != entry.bytes)
    throw Error("message " + nameOf(entry.name, params.edges) + " of rank " +
                std::to_string(c.from) + " has " +
                (entry.ended.bytes > entry.bytes
                     ? "more"
                     : std::to_string(entry.ended.bytes)) +
                " bytes, rank " + std::to_string(me) + " expects " +
                std::to_string(entry.bytes));
  if (params.checks)
    checkContent("message " + nameOf(entry.name, params.edges), c.from, me,
                 entry.data, entry.bytes, entry.checksum);
}

bool ProcessTransport::advance(Entry &entry) {
  if (!entry.hasContentEnded) {
    if (!endpoint->test(entry.operation, entry.ended))
      return false;
    entry.hasContentEnded = true;
  }
  // If the wrong message arrived, no checksum follows.
  const bool isOther =
      entry.data && (entry.ended.bytes != entry.bytes ||
                     entry.ended.tag != tags.tagOf(entry.name));
  Endpoint::Ended ended;
  return entry.checksumOperation < 0 || isOther ||
         endpoint->test(entry.checksumOperation, ended);
}

void ProcessTransport::bringForward() {
  for (size_t i = 0; i < pending.size();) {
    auto [channel, entry] = pending[i];
    if (!advance(*entry)) {
      ++i;
      continue;
    }
    const bool isMeasured = channel->to == me && channel->stamps.isEnabled();
    if (isMeasured)
      channel->stamps.of(entry->number).arrived = clock->now();
    if (isLinkImposed) {
      const int64_t now = nowNs();
      const SerialLink::Passage passage =
          channel->link->carry(entry->bytes, now);
      entry->carriedNs = passage.carriedNs;
      entry->arrivalNs = passage.arrivalNs;
      if (isMeasured)
        channel->stamps.of(entry->number).imposedNs = entry->arrivalNs - now;
    }
    entry->isBusy = false;
    entry->hasEnded = true;
    pending.erase(pending.begin() + static_cast<int64_t>(i));
  }
  bringSumsForward();
}

void ProcessTransport::beginIteration(int64_t iteration) {
  if (network)
    network->beginIteration(iteration, nowNs());
}

SerialLink *ProcessTransport::imposedLink(int32_t from, int32_t to) {
  return network ? &network->link(from, to) : nullptr;
}

void ProcessTransport::waitFor(const bool &flag, Waiting::For what,
                               int32_t place, uint32_t ticket) {
  auto isReady = [&] {
    if (helpersFailure)
      std::rethrow_exception(helpersFailure);
    if (!flag)
      bringForward();
    return flag;
  };
  {
    std::lock_guard<std::mutex> lock(mutex);
    if (isReady())
      return;
  }
  note(what, place, ticket);
  spinUntil(isReady);
  note(Waiting::For::Nothing, 0, 0);
}

void ProcessTransport::spinUntil(const std::function<bool()> &isReady,
                                 const std::function<void()> &look) {
  constexpr int64_t lookNs = 20'000'000;
  const int64_t beginNs = nowNs();
  int64_t nextLookNs = lookNs;
  for (;;) {
    {
      std::lock_guard<std::mutex> lock(mutex);
      if (isReady())
        return;
    }
    if (isAborted)
      throw Aborted();
    const int64_t waitedNs = nowNs() - beginNs;
    if (look && waitedNs >= nextLookNs) {
      look();
      nextLookNs = waitedNs + lookNs;
    }
    if (waitedNs < spinNs) {
      pauseCpu();
    } else if (waitedNs < 4 * spinNs) {
      sched_yield();
    } else {
      // The message is late by at most a fraction of the wait.
      int64_t sleepNs = std::clamp<int64_t>(waitedNs / 32, 5'000, 1'000'000);
      timespec time = {0, sleepNs};
      nanosleep(&time, nullptr);
    }
  }
}

void ProcessTransport::waitUntil(int64_t deadlineNs, Waiting::For what,
                                 int32_t place, uint32_t ticket) {
  constexpr int64_t sliceNs = 50'000'000;
  int64_t now = nowNs();
  if (now >= deadlineNs)
    return;
  note(what, place, ticket);
  for (; now < deadlineNs; now = nowNs()) {
    if (isAborted)
      throw Aborted();
    sleepUntil(std::min(deadlineNs, now + sliceNs));
  }
  note(Waiting::For::Nothing, 0, 0);
}

void ProcessTransport::help() {
  prctl(PR_SET_TIMERSLACK, 1000UL, 0, 0, 0);
  std::unique_lock<std::mutex> lock(mutex);
  while (!isClosing) {
    if ((pending.empty() && lane.empty()) || isAborted) {
      changed.wait_for(lock, std::chrono::milliseconds(50));
      continue;
    }
    lock.unlock();
    std::this_thread::sleep_for(std::chrono::microseconds(250));
    lock.lock();
    try {
      if (!isWaiting() && !helpersFailure)
        bringForward();
    } catch (...) {
      // The rank's thread throws it in its next wait: it need not meet the same
      // failure, as when there was no memory for a moment.
      helpersFailure = std::current_exception();
    }
  }
}

void ProcessTransport::note(Waiting::For what, int32_t place, uint32_t ticket) {
  record.store(static_cast<uint64_t>(what) << 60 |
                   static_cast<uint64_t>(place) << 32 | ticket,
               std::memory_order_release);
}

Waiting ProcessTransport::waiting(int32_t rank) const {
  Waiting result;
  if (rank != me)
    return result;
  const uint64_t packed = record.load(std::memory_order_acquire);
  result.what = static_cast<Waiting::For>(packed >> 60);
  const int32_t place = static_cast<int32_t>(packed >> 32 & 0xfffffff);
  if (result.what == Waiting::For::Collective) {
    // One that was started earlier may hold it up.
    std::lock_guard<std::mutex> lock(mutex);
    if (lane.empty() || sums[place].hasEnded)
      return {};
    result.collective = lane.front();
    for (const Part &part : sums[lane.front()].operations)
      if (!part.hasEnded && result.onRank < 0)
        result.onRank = part.peer;
    // Nothing of it is under way yet, or all has ended: it goes on by itself.
    if (result.onRank < 0)
      return {};
  } else if (result.what != Waiting::For::Nothing) {
    const Channel &c = channels[place];
    std::lock_guard<std::mutex> lock(mutex);
    result.onRank = c.from == me ? c.to : c.from;
    result.message =
        c.entries[static_cast<uint32_t>(packed) % c.entries.size()].name;
  }
  return result;
}

std::unique_ptr<Transport> rondo::runtime::makeProcessTransport(
    const TransportParams &params, const World &world,
    std::unique_ptr<Endpoint> endpoint, const TransportOptions &options,
    std::unique_ptr<StampClock> clock) {
  return std::make_unique<ProcessTransport>(params, world, std::move(endpoint),
                                            options, std::move(clock));
}

//===----------------------------------------------------------------------===//
// Which processes talk to each other.
//
// Collectives go as process_collectives.cpp sends them, and the figures of
// channels as process_links.cpp does.
//===----------------------------------------------------------------------===//

Peers rondo::runtime::peersOf(const TransportParams &params,
                              const World &world) {
  const int32_t process = world.process;
  Peers peers(static_cast<size_t>(world.processes) * Endpoint::numPurposes);
  auto connect = [&](int32_t one, int32_t other, Endpoint::Purpose purpose) {
    if (one != other && (one == process || other == process))
      peers[static_cast<size_t>(one == process ? other : one) *
                Endpoint::numPurposes +
            purpose] = true;
  };
  for (const ChannelParams &channel : params.channels) {
    connect(channel.from, channel.to, Endpoint::Messages);
    if (params.measures)
      connect(channel.from, channel.to, Endpoint::Collectives);
  }
  // All send process 0 the figures of their channels.
  if (params.measures && !params.channels.empty())
    for (int32_t p = 1; p < world.processes; ++p)
      connect(0, p, Endpoint::Collectives);
  for (size_t c = 0; c < params.collectives.size(); ++c) {
    const CollectiveParams &parts = params.collectives[c];
    const std::vector<int32_t> ranks = ranksOf(parts);
    if (!std::binary_search(ranks.begin(), ranks.end(), process))
      continue;
    for (int32_t rank : ranks)
      if (!params.isTotal(c))
        connect(process, rank, Endpoint::Collectives);
      else
        connect(parts.front().rank, rank, Endpoint::Collectives);
  }
  return peers;
}

std::unique_ptr<Transport> rondo::runtime::makeCpuTransport(
    const TransportParams &params, const TransportOptions &options,
    const World &world,
    std::unique_ptr<Endpoint> (*makeEndpoint)(const World &, const Peers &,
                                              const TransportOptions &)) {
  if (world.isAlone())
    return makeInprocTransport(params, options.cores);
  return makeProcessTransport(
      params, world, makeEndpoint(world, peersOf(params, world), options),
      options);
}
