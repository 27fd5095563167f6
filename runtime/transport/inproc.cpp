//===- inproc.cpp - Ranks are threads of this process ---------------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The two ends of a channel share a ring of entries. Each end fills its half of
// entry n and swaps its mark into the entry's state; an end that finds the
// other's mark there came second and copies. Both ends post in order and the
// second copies before it goes on, so entries of a channel complete in order
// and one counter has the number of completed entries.
//
//===----------------------------------------------------------------------===//

#include "runtime/base/clock.h"
#include "runtime/base/crc32c.h"
#include "runtime/transport/meeting.h"
#include "runtime/transport/transport.h"

#include <algorithm>
#include <atomic>
#include <cstring>
#include <deque>
#include <memory>
#include <utility>

using namespace rondo::runtime;

namespace {

enum Mark : uint32_t { Empty, Sent, Posted };

struct alignas(64) Entry {
  std::atomic<uint32_t> state{Empty};
  Posting sender, receiver;
  /// When the link has carried it, and when it arrives.
  int64_t carriedNs = 0, arrivalNs = 0;
  /// Begin and end of the transfer: in ticks, with an imposed link in ns.
  uint64_t begin = 0, end = 0;
  /// Checksum of the message, if messages are checked.
  uint32_t checksum = 0;
  /// For tests: it changes on its way.
  bool isSpoiled = false;
};

struct alignas(64) Channel {
  int32_t from = 0, to = 0;
  /// A power of two, which divides 2^32, so tickets may wrap.
  int64_t capacity = 1;
  std::unique_ptr<Entry[]> entries;
  /// Null if links are not imposed.
  SerialLink *link = nullptr;
  alignas(64) uint32_t sent = 0;
  /// Messages up to the last call of takeTransfers().
  uint32_t taken = 0;
  /// Copies of this end, in ticks; with an imposed link in ns. One for each
  /// end, so that no cache line moves between their cores.
  LinkMeter sentMeter;
  alignas(64) uint32_t posted = 0;
  LinkMeter postedMeter;
  /// Messages that have been copied.
  alignas(64) Signal done;

  Entry &entry(uint32_t ticket) { return entries[ticket & (capacity - 1)]; }

  /// The copies of both ends.
  std::vector<LinkPoint> sizes() const {
    std::vector<LinkPoint> all = sentMeter.sizes();
    for (const LinkPoint &point : postedMeter.sizes()) {
      auto same =
          std::find_if(all.begin(), all.end(), [&](const LinkPoint &other) {
            return other.bytes == point.bytes;
          });
      if (same == all.end()) {
        all.push_back(point);
        continue;
      }
      same->count += point.count;
      same->take(point.least);
      same->take(point.next);
    }
    return all;
  }
};

/// Written by the rank before it blocks, read by the watchdog at any time,
/// which may see the message of one wait with the channel of the next.
struct alignas(64) WaitRecord {
  /// The kind of wait (32 bits), the channel or collective (32).
  std::atomic<uint64_t> place{0};
  /// For a channel: edge (32), micro-batch (32); replicas it is from (32), for
  /// (32).
  std::atomic<uint64_t> message{0}, replicas{0};
};

uint64_t pack(int32_t high, int32_t low) {
  return static_cast<uint64_t>(high) << 32 | static_cast<uint32_t>(low);
}

class InprocTransport : public Transport {
public:
  InprocTransport(const TransportParams &params, int cores)
      : edges(params.edges),
        network(params.imposeLinks ? params.imposeLinks() : nullptr),
        isLinkImposed(network != nullptr), measures(params.measures),
        checks(params.checks), spins(params.ranks <= cores ? 500 : 40),
        channels(params.channels.size()), records(params.ranks),
        spoils(params.ranks) {
    for (size_t i = 0; i < channels.size(); ++i) {
      channels[i].from = params.channels[i].from;
      channels[i].to = params.channels[i].to;
      while (channels[i].capacity < params.channels[i].messages)
        channels[i].capacity *= 2;
      channels[i].entries = std::make_unique<Entry[]>(channels[i].capacity);
      channels[i].link = imposedLink(channels[i].from, channels[i].to);
    }
    for (const CollectiveParams &collective : params.collectives)
      meetings.emplace_back(collective, network.get());
    // Until an empty message has arrived, nothing but stamps is done.
    for (int i = 0; i < 16; ++i) {
      const uint64_t begin = Ticks::now();
      startTicks = std::min(startTicks, Ticks::now() - begin);
    }
  }

  Ticket send(int32_t channel, MessageName name, const void *data,
              int64_t bytes) override {
    Channel &c = channels[channel];
    Entry &entry = c.entry(c.sent);
    // The data are only read.
    entry.sender = {name, static_cast<char *>(const_cast<void *>(data)), bytes};
    entry.checksum = checks ? crc32c(data, static_cast<size_t>(bytes)) : 0;
    entry.isSpoiled = bytes > 0 && std::exchange(spoils[c.from], 0) != 0;
    post(c, entry, Sent);
    return c.sent++;
  }

  Ticket receive(int32_t channel, MessageName name, void *data,
                 int64_t bytes) override {
    Channel &c = channels[channel];
    Entry &entry = c.entry(c.posted);
    entry.receiver = {name, static_cast<char *>(data), bytes};
    post(c, entry, Posted);
    return c.posted++;
  }

  void waitSent(int32_t channel, Ticket ticket) override {
    Channel &c = channels[channel];
    waitDone(c, ticket, Waiting::For::Release, c.from, channel);
    if (isLinkImposed)
      waitUntil(c.entry(ticket).carriedNs, Waiting::For::Release, c.from,
                channel, ticket);
  }

  void waitReceived(int32_t channel, Ticket ticket) override {
    Channel &c = channels[channel];
    waitDone(c, ticket, Waiting::For::Arrival, c.to, channel);
    if (isLinkImposed)
      waitUntil(c.entry(ticket).arrivalNs, Waiting::For::Arrival, c.to, channel,
                ticket);
    if (checks)
      checkContent("message " + nameOf(c.entry(ticket).receiver.name, edges),
                   c.from, c.to, c.entry(ticket).receiver.data,
                   c.entry(ticket).receiver.bytes, c.entry(ticket).checksum);
  }

  void startSumParts(int32_t collective, int32_t rank) override {
    meetings[collective].start(rank, Meeting::Work::SumParts, nullptr);
  }

  void startAddAll(int32_t collective, int32_t rank, double *sum) override {
    meetings[collective].start(rank, Meeting::Work::AddAll, sum);
  }

  void startGather(int32_t collective, int32_t rank, float *whole) override {
    meetings[collective].start(rank, Meeting::Work::Gather, whole);
  }

  void startScatter(int32_t collective, int32_t rank, float *whole) override {
    meetings[collective].start(rank, Meeting::Work::Scatter, whole);
  }

  void waitCollective(int32_t collective, int32_t rank) override {
    meetings[collective].finish(rank, [&](Signal &signal, auto isReady) {
      waitFor(signal, rank, Waiting::For::Collective, collective, 0, isReady);
    });
    if (isLinkImposed)
      waitUntil(meetings[collective].end(), Waiting::For::Collective, rank,
                collective, 0);
  }

  void abort() override {
    isAborted.store(true, std::memory_order_seq_cst);
    for (Channel &channel : channels)
      channel.done.wakeAll();
    for (Meeting &meeting : meetings)
      meeting.wakeAll();
  }

  void beginIteration(int64_t iteration) override {
    if (network)
      network->beginIteration(iteration, nowNs());
  }
  void spoilNext(int32_t rank) override { spoils[rank] = 1; }
  SerialLink *imposedLink(int32_t from, int32_t to) final {
    return network ? &network->link(from, to) : nullptr;
  }

  Waiting waiting(int32_t rank) const override;
  std::vector<LinkFigures> links() override;
  std::vector<std::vector<Transfer>> takeTransfers() override;

private:
  void post(Channel &c, Entry &entry, Mark mark) {
    uint32_t before = entry.state.exchange(mark, std::memory_order_acq_rel);
    if (before == Empty)
      return;
    if (before == mark)
      failOnTooMany(mark == Sent,
                    mark == Sent ? entry.sender.name : entry.receiver.name,
                    c.from, c.to, edges);
    checkMatch(entry.sender, entry.receiver, c.from, c.to, edges);
    LinkMeter &meter = mark == Sent ? c.sentMeter : c.postedMeter;
    // The later end starts the transfer.
    const uint64_t begin = measures ? Ticks::now() : 0;
    if (entry.sender.bytes > 0)
      std::memcpy(entry.receiver.data, entry.sender.data,
                  static_cast<size_t>(entry.sender.bytes));
    if (entry.isSpoiled)
      entry.receiver.data[entry.sender.bytes / 2] ^= 1;
    if (isLinkImposed) {
      const int64_t beginNs = nowNs();
      const SerialLink::Passage passage =
          c.link->carry(entry.sender.bytes, beginNs);
      entry.carriedNs = passage.carriedNs;
      entry.arrivalNs = passage.arrivalNs;
      meter.add(entry.sender.bytes,
                static_cast<uint64_t>(entry.arrivalNs - beginNs));
      entry.begin = static_cast<uint64_t>(beginNs);
      entry.end = static_cast<uint64_t>(entry.arrivalNs);
    } else if (measures) {
      entry.begin = begin;
      entry.end = Ticks::now();
      meter.add(entry.sender.bytes, entry.end - begin);
    }
    entry.state.store(Empty, std::memory_order_relaxed);
    c.done.advance();
  }

  void waitDone(Channel &c, Ticket ticket, Waiting::For what, int32_t rank,
                int32_t channel) {
    // The difference is right even when the counters wrap.
    waitFor(c.done, rank, what, channel, ticket, [&](uint32_t value) {
      return static_cast<int32_t>(value - ticket) > 0;
    });
  }

  template <typename Ready>
  void waitFor(Signal &signal, int32_t rank, Waiting::For what, int32_t place,
               uint32_t ticket, Ready isReady) {
    for (int i = 0; i < spins; ++i) {
      if (isReady(signal.value()))
        return;
      pauseCpu();
    }
    note(rank, what, place, ticket);
    for (;;) {
      uint32_t value = signal.value();
      if (isReady(value))
        break;
      if (isAborted.load(std::memory_order_seq_cst))
        throw Aborted();
      signal.blockWhile(value);
    }
    note(rank, Waiting::For::Nothing, 0, 0);
  }

  /// Waits for an imposed link. `place`: the channel or collective.
  void waitUntil(int64_t deadlineNs, Waiting::For what, int32_t rank,
                 int32_t place, uint32_t ticket) {
    constexpr int64_t sliceNs = 50'000'000;
    int64_t now = nowNs();
    if (now >= deadlineNs)
      return;
    note(rank, what, place, ticket);
    for (; now < deadlineNs; now = nowNs()) {
      if (isAborted.load(std::memory_order_relaxed))
        throw Aborted();
      sleepUntil(std::min(deadlineNs, now + sliceNs));
    }
    note(rank, Waiting::For::Nothing, 0, 0);
  }

  void note(int32_t rank, Waiting::For what, int32_t place, uint32_t ticket) {
    WaitRecord &record = records[rank];
    if (what == Waiting::For::Arrival || what == Waiting::For::Release) {
      // The rank's own half of the entry: no other thread writes it.
      const Entry &entry = channels[place].entry(ticket);
      const MessageName name = what == Waiting::For::Arrival
                                   ? entry.receiver.name
                                   : entry.sender.name;
      record.message.store(pack(name.edge, name.microbatch),
                           std::memory_order_relaxed);
      record.replicas.store(pack(name.fromReplica, name.toReplica),
                            std::memory_order_relaxed);
    }
    record.place.store(pack(static_cast<int32_t>(what), place),
                       std::memory_order_release);
  }

  const EdgeNames edges;
  /// Null if links are not imposed.
  const std::unique_ptr<ImposedNetwork> network;
  const bool isLinkImposed, measures, checks;
  const Ticks ticks;
  /// The time of an empty message, in ticks.
  uint64_t startTicks = UINT64_MAX;
  const uint64_t stepTicks = Ticks::step();
  /// Number of checks of a waiting thread before it blocks.
  const int spins;
  std::vector<Channel> channels;
  std::deque<Meeting> meetings;
  std::vector<WaitRecord> records;
  /// For tests, indexed by rank: whether its next message changes on its way.
  std::vector<char> spoils;
  std::atomic<bool> isAborted{false};
};

std::vector<LinkFigures> InprocTransport::links() {
  std::vector<LinkFigures> all;
  if (!measures)
    return all;
  const double nsPerTick = ticks.nsPerTick();
  for (const Channel &channel : channels) {
    all.push_back(
        isLinkImposed
            ? fitLink(channel.sizes(), 1,
                      static_cast<double>(channel.link->at(nowNs()).latencyNs))
            : fitLink(channel.sizes(), nsPerTick,
                      nsPerTick * static_cast<double>(startTicks),
                      nsPerTick * static_cast<double>(stepTicks)));
    all.back().from = channel.from;
    all.back().to = channel.to;
  }
  return all;
}

std::vector<std::vector<Transfer>> InprocTransport::takeTransfers() {
  if (!measures)
    return {};
  const double nsPerUnit = isLinkImposed ? 1 : ticks.nsPerTick();
  std::vector<std::vector<Transfer>> all(channels.size());
  for (size_t i = 0; i < channels.size(); ++i) {
    Channel &c = channels[i];
    const auto kept = static_cast<uint32_t>(c.capacity);
    if (c.sent - c.taken > kept)
      c.taken = c.sent - kept;
    if (c.taken == c.sent)
      continue;
    const uint64_t origin = c.entry(c.taken).begin;
    auto nsOf = [&](uint64_t time) {
      return static_cast<int64_t>(
          nsPerUnit * static_cast<double>(static_cast<int64_t>(time - origin)));
    };
    for (; c.taken != c.sent; ++c.taken) {
      const Entry &entry = c.entry(c.taken);
      all[i].push_back(
          {entry.sender.bytes, nsOf(entry.begin), nsOf(entry.end)});
    }
  }
  return all;
}

Waiting InprocTransport::waiting(int32_t rank) const {
  const uint64_t packed = records[rank].place.load(std::memory_order_acquire);
  Waiting result;
  result.what = static_cast<Waiting::For>(packed >> 32);
  if (result.what == Waiting::For::Nothing)
    return result;
  const int32_t place = static_cast<int32_t>(packed);
  if (result.what == Waiting::For::Collective) {
    result.collective = place;
    result.onRank = meetings[place].missing(rank);
    // All have started: another rank is adding, and will end soon.
    return result.onRank < 0 ? Waiting() : result;
  }
  const Channel &c = channels[place];
  result.onRank = result.what == Waiting::For::Arrival ? c.from : c.to;
  const uint64_t name = records[rank].message.load(std::memory_order_relaxed),
                 replicas =
                     records[rank].replicas.load(std::memory_order_relaxed);
  result.message = {
      static_cast<int32_t>(name >> 32), static_cast<int32_t>(name),
      static_cast<int32_t>(replicas >> 32), static_cast<int32_t>(replicas)};
  return result;
}

} // namespace

std::unique_ptr<Transport>
rondo::runtime::makeInprocTransport(const TransportParams &params, int cores) {
  return std::make_unique<InprocTransport>(params, cores);
}
