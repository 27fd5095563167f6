//===- processes.cpp - Ranks are processes --------------------------------===//
//
// The rank's thread starts operations and brings them forward while it waits. A
// second thread brings them forward now and then while the rank computes, for a
// large message needs both sides. One lock keeps the two apart.
//
// The name of a message travels as its tag, so that both ends notice where they
// disagree.
//
//===----------------------------------------------------------------------===//

#include "runtime/clock.h"
#include "runtime/error.h"
#include "runtime/transport/endpoint.h"

#include <algorithm>
#include <atomic>
#include <condition_variable>
#include <cstring>
#include <mutex>
#include <sched.h>
#include <sys/prctl.h>
#include <thread>

using namespace rondo::runtime;

Endpoint::~Endpoint() = default;

namespace {

constexpr int microbatchBits = 17, stageBits = 13;

/// All names up to 8,192 stages and 131,072 micro-batches differ.
int32_t tagOf(MessageName name) {
  uint32_t microbatch =
      static_cast<uint32_t>(name.microbatch) & ((1u << microbatchBits) - 1);
  uint32_t stage = static_cast<uint32_t>(name.stage) & ((1u << stageBits) - 1);
  return static_cast<int32_t>(microbatch | stage << microbatchBits |
                              static_cast<uint32_t>(name.kind)
                                  << (microbatchBits + stageBits));
}

MessageName nameOfTag(int32_t tag) {
  uint32_t bits = static_cast<uint32_t>(tag);
  return {
      static_cast<Message>(bits >> (microbatchBits + stageBits) & 1),
      static_cast<int32_t>(bits >> microbatchBits & ((1u << stageBits) - 1)),
      static_cast<int32_t>(bits & ((1u << microbatchBits) - 1))};
}

struct Entry {
  bool isBusy = false, hasEnded = false;
  /// Of a receive, until it has been waited for.
  bool isUnchecked = false;
  int32_t operation = -1;
  MessageName name;
  int64_t bytes = 0;
  Endpoint::Ended ended;
  /// When an imposed link has carried it, and when it arrives.
  int64_t carriedNs = 0, arrivalNs = 0;
};

/// One end of a channel.
struct Channel {
  int32_t from = 0, to = 0;
  std::vector<Entry> entries;
  uint32_t next = 0;
  int64_t linkFreeNs = 0;

  Entry &entry(uint32_t ticket) { return entries[ticket % entries.size()]; }
};

class ProcessTransport : public Transport {
public:
  ProcessTransport(const TransportParams &params, const World &world,
                   std::unique_ptr<Endpoint> endpoint, int cores)
      : params(params), me(world.process), endpoint(std::move(endpoint)),
        isLinkImposed(params.link.latencyNs > 0 || params.link.bytesPerUs > 0),
        spinNs(world.localProcesses <= cores ? 50'000 : 2'000),
        channels(params.channels.size()) {
    for (size_t i = 0; i < channels.size(); ++i) {
      channels[i].from = params.channels[i].from;
      channels[i].to = params.channels[i].to;
      if (channels[i].from != me && channels[i].to != me)
        continue;
      // A power of two divides 2^32, so that tickets may wrap.
      size_t capacity = 1;
      while (capacity < static_cast<size_t>(params.channels[i].messages))
        capacity *= 2;
      channels[i].entries.resize(capacity);
    }
    helper = std::thread([this] { help(); });
  }

  ~ProcessTransport() override {
    {
      std::lock_guard<std::mutex> lock(mutex);
      isClosing = true;
    }
    changed.notify_all();
    helper.join();
  }

  /// A message that nobody has waited for has to be the right one too.
  void iterate(int32_t, bool, const std::function<void()> &actions) override {
    actions();
    for (size_t c = 0; c < channels.size(); ++c)
      for (size_t ticket = 0; ticket < channels[c].entries.size(); ++ticket) {
        const Entry &entry = channels[c].entries[ticket];
        if (channels[c].to == me && entry.isUnchecked)
          waitReceived(static_cast<int32_t>(c), static_cast<Ticket>(ticket));
      }
  }

  Ticket send(int32_t channel, MessageName name, const void *data,
              int64_t bytes) override {
    Channel &c = channels[channel];
    std::lock_guard<std::mutex> lock(mutex);
    Entry &entry = start(c, name, bytes, " sends ");
    entry.operation =
        endpoint->send(c.to, Endpoint::Messages, tagOf(name), data, bytes);
    return c.next++;
  }

  Ticket receive(int32_t channel, MessageName name, void *data,
                 int64_t bytes) override {
    Channel &c = channels[channel];
    std::lock_guard<std::mutex> lock(mutex);
    Entry &entry = start(c, name, bytes, " receives ");
    entry.isUnchecked = true;
    entry.operation =
        endpoint->receive(c.from, Endpoint::Messages, data, bytes);
    return c.next++;
  }

  void waitSent(int32_t channel, Ticket ticket) override {
    Channel &c = channels[channel];
    Entry &entry = c.entry(ticket);
    waitFor(entry.hasEnded, Waiting::For::Release, channel, ticket);
    if (isLinkImposed)
      waitUntil(entry.carriedNs, Waiting::For::Release, channel, ticket);
  }

  void waitReceived(int32_t channel, Ticket ticket) override {
    Channel &c = channels[channel];
    Entry &entry = c.entry(ticket);
    waitFor(entry.hasEnded, Waiting::For::Arrival, channel, ticket);
    if (isLinkImposed)
      waitUntil(entry.arrivalNs, Waiting::For::Arrival, channel, ticket);
    entry.isUnchecked = false;
    check(c, entry);
  }

  void sumParts(int32_t collective, int32_t rank) override;
  void addAll(int32_t collective, int32_t rank, double *sum) override;

  void abort() override {
    isAborted = true;
    changed.notify_all();
  }

  Waiting waiting(int32_t rank) const override;

private:
  /// An operation of a collective.
  struct Part {
    int32_t operation = -1;
    bool hasEnded = false;
  };

  Entry &start(Channel &c, MessageName name, int64_t bytes, const char *what) {
    Entry &entry = c.entry(c.next);
    if (entry.isBusy)
      progress();
    if (entry.isBusy)
      throw Error("rank " + std::to_string(me) + what + nameOf(name) +
                  " although the channel from rank " + std::to_string(c.from) +
                  " to rank " + std::to_string(c.to) +
                  " has had all messages of the iteration");
    entry = Entry();
    entry.isBusy = true;
    entry.name = name;
    entry.bytes = bytes;
    pending.push_back({&c, &entry});
    changed.notify_all();
    return entry;
  }

  void check(const Channel &c, const Entry &entry) const {
    if (entry.ended.tag != tagOf(entry.name))
      throw Error("rank " + std::to_string(me) + " expects " +
                  nameOf(entry.name) + " from rank " + std::to_string(c.from) +
                  ", which sends " + nameOf(nameOfTag(entry.ended.tag)));
    if (entry.ended.bytes != entry.bytes)
      throw Error("message " + nameOf(entry.name) + " of rank " +
                  std::to_string(c.from) + " has " +
                  (entry.ended.bytes > entry.bytes
                       ? "more"
                       : std::to_string(entry.ended.bytes)) +
                  " bytes, rank " + std::to_string(me) + " expects " +
                  std::to_string(entry.bytes));
  }

  /// Brings everything forward. `mutex` is held.
  void progress() {
    for (size_t i = 0; i < pending.size();) {
      auto [channel, entry] = pending[i];
      if (!endpoint->test(entry->operation, entry->ended)) {
        ++i;
        continue;
      }
      if (isLinkImposed)
        impose(*channel, *entry);
      entry->isBusy = false;
      entry->hasEnded = true;
      pending.erase(pending.begin() + static_cast<int64_t>(i));
    }
    for (Part &part : parts)
      if (!part.hasEnded) {
        Endpoint::Ended ended;
        part.hasEnded = endpoint->test(part.operation, ended);
      }
  }

  void impose(Channel &c, Entry &entry) {
    const int64_t scaled = 1000 * entry.bytes, rate = params.link.bytesPerUs;
    c.linkFreeNs = std::max(nowNs(), c.linkFreeNs) +
                   (rate > 0 ? scaled / rate + (scaled % rate != 0) : 0);
    entry.carriedNs = c.linkFreeNs;
    entry.arrivalNs = c.linkFreeNs + params.link.latencyNs;
  }

  /// Spins for a moment, then gives the core away between looks, then sleeps
  /// for longer and longer. `flag` is written under the lock.
  void waitFor(const bool &flag, Waiting::For what, int32_t place,
               uint32_t ticket, int32_t onRank = -1) {
    {
      std::lock_guard<std::mutex> lock(mutex);
      if (!flag)
        progress();
      if (flag)
        return;
    }
    note(what, place, ticket, onRank);
    const int64_t beginNs = nowNs();
    for (;;) {
      {
        std::lock_guard<std::mutex> lock(mutex);
        progress();
        if (flag)
          break;
      }
      if (isAborted)
        throw Aborted();
      const int64_t waitedNs = nowNs() - beginNs;
      if (waitedNs < spinNs) {
        pauseCpu();
      } else if (waitedNs < 4 * spinNs) {
        sched_yield();
      } else {
        // The message is late by a fraction of the wait at most.
        int64_t sleepNs = std::clamp<int64_t>(waitedNs / 32, 5'000, 1'000'000);
        timespec time = {0, sleepNs};
        nanosleep(&time, nullptr);
      }
    }
    note(Waiting::For::Nothing, 0, 0);
  }

  /// Waits for an imposed link.
  void waitUntil(int64_t deadlineNs, Waiting::For what, int32_t channel,
                 uint32_t ticket) {
    constexpr int64_t sliceNs = 50'000'000;
    int64_t now = nowNs();
    if (now >= deadlineNs)
      return;
    note(what, channel, ticket);
    for (; now < deadlineNs; now = nowNs()) {
      if (isAborted)
        throw Aborted();
      sleepUntil(std::min(deadlineNs, now + sliceNs));
    }
    note(Waiting::For::Nothing, 0, 0);
  }

  void waitForPart(size_t part, int32_t collective, int32_t onRank) {
    waitFor(parts[part].hasEnded, Waiting::For::Collective, collective, 0,
            onRank);
  }
  void sendPart(int32_t to, int32_t collective, const void *data,
                int64_t bytes) {
    std::lock_guard<std::mutex> lock(mutex);
    parts.push_back(
        {endpoint->send(to, Endpoint::Collectives, collective, data, bytes)});
  }
  void receivePart(int32_t from, void *data, int64_t bytes) {
    std::lock_guard<std::mutex> lock(mutex);
    parts.push_back(
        {endpoint->receive(from, Endpoint::Collectives, data, bytes)});
  }
  void forgetParts() {
    std::lock_guard<std::mutex> lock(mutex);
    parts.clear();
  }

  std::vector<int32_t> ranksOf(const CollectiveParams &all) const {
    std::vector<int32_t> ranks;
    for (const PartParams &part : all)
      ranks.push_back(part.rank);
    std::sort(ranks.begin(), ranks.end());
    ranks.erase(std::unique(ranks.begin(), ranks.end()), ranks.end());
    return ranks;
  }

  /// The helping thread.
  void help() {
    prctl(PR_SET_TIMERSLACK, 1000UL, 0, 0, 0);
    std::unique_lock<std::mutex> lock(mutex);
    while (!isClosing) {
      if (pending.empty() || isAborted) {
        changed.wait_for(lock, std::chrono::milliseconds(50));
        continue;
      }
      lock.unlock();
      std::this_thread::sleep_for(std::chrono::microseconds(250));
      lock.lock();
      try {
        if (!isWaiting())
          progress();
      } catch (const Error &) {
        // The rank's thread meets it too, and says it.
      }
    }
  }

  bool isWaiting() const {
    return record.load(std::memory_order_relaxed) >> 60 != 0;
  }

  /// What the rank waits for (4 bits), the channel or collective (28), the
  /// ticket or the rank that is waited for (32).
  void note(Waiting::For what, int32_t place, uint32_t ticket,
            int32_t onRank = -1) {
    uint32_t low = what == Waiting::For::Collective
                       ? static_cast<uint32_t>(onRank)
                       : ticket;
    record.store(static_cast<uint64_t>(what) << 60 |
                     static_cast<uint64_t>(place) << 32 | low,
                 std::memory_order_release);
  }

  const TransportParams params;
  const int32_t me;
  const std::unique_ptr<Endpoint> endpoint;
  const bool isLinkImposed;
  const int64_t spinNs;
  std::vector<Channel> channels;

  /// Guards the endpoint and all that follows.
  mutable std::mutex mutex;
  std::condition_variable changed;
  std::vector<std::pair<Channel *, Entry *>> pending;
  /// Of the collective that runs now.
  std::vector<Part> parts;
  bool isClosing = false;
  std::atomic<bool> isAborted{false};
  std::atomic<uint64_t> record{0};
  std::thread helper;
};

/// Each rank sends its parts to all others and adds all of them itself, chunk
/// by chunk.
void ProcessTransport::sumParts(int32_t collective, int32_t) {
  constexpr int64_t chunk = 1 << 18;
  const CollectiveParams &all = params.collectives[collective];
  const std::vector<int32_t> ranks = ranksOf(all);
  const int64_t count = all.front().count;
  std::vector<std::vector<float>> received(all.size());
  for (int64_t begin = 0; begin < count; begin += chunk) {
    const int64_t size = std::min(chunk, count - begin);
    std::vector<const float *> from(all.size());
    forgetParts();
    for (size_t p = 0; p < all.size(); ++p) {
      if (all[p].rank == me) {
        from[p] = static_cast<const float *>(all[p].data) + begin;
        continue;
      }
      received[p].resize(size);
      from[p] = received[p].data();
      receivePart(all[p].rank, received[p].data(), 4 * size);
    }
    std::vector<int32_t> peers;
    for (const PartParams &part : all)
      if (part.rank != me)
        peers.push_back(part.rank);
    for (const PartParams &part : all)
      for (int32_t rank : ranks)
        if (part.rank == me && rank != me) {
          sendPart(rank, collective, static_cast<float *>(part.data) + begin,
                   4 * size);
          peers.push_back(rank);
        }
    for (size_t i = 0; i < peers.size(); ++i)
      waitForPart(i, collective, peers[i]);
    for (int64_t i = 0; i < size; ++i) {
      float sum = from[0][i];
      for (size_t p = 1; p < all.size(); ++p)
        sum += from[p][i];
      for (const PartParams &part : all)
        if (part.rank == me)
          static_cast<float *>(part.data)[begin + i] = sum;
    }
  }
  forgetParts();
}

/// The rank of the first part adds; the others send theirs and get the sum.
void ProcessTransport::addAll(int32_t collective, int32_t, double *sum) {
  const CollectiveParams &all = params.collectives[collective];
  const int32_t root = all.front().rank;
  forgetParts();
  if (me != root) {
    for (const PartParams &part : all)
      if (part.rank == me)
        sendPart(root, collective, part.data, 8 * part.count);
    receivePart(root, sum, sizeof *sum);
    for (size_t i = 0; i < parts.size(); ++i)
      waitForPart(i, collective, root);
    return forgetParts();
  }
  std::vector<std::vector<double>> received(all.size());
  std::vector<int32_t> peers;
  for (size_t p = 0; p < all.size(); ++p)
    if (all[p].rank != me) {
      received[p].resize(all[p].count);
      receivePart(all[p].rank, received[p].data(), 8 * all[p].count);
      peers.push_back(all[p].rank);
    }
  for (size_t i = 0; i < peers.size(); ++i)
    waitForPart(i, collective, peers[i]);
  double total = 0;
  for (size_t p = 0; p < all.size(); ++p) {
    const double *values = all[p].rank == me
                               ? static_cast<const double *>(all[p].data)
                               : received[p].data();
    for (int64_t i = 0; i < all[p].count; ++i)
      total += values[i];
  }
  *sum = total;
  forgetParts();
  peers.clear();
  for (int32_t rank : ranksOf(all))
    if (rank != me) {
      sendPart(rank, collective, sum, sizeof *sum);
      peers.push_back(rank);
    }
  for (size_t i = 0; i < peers.size(); ++i)
    waitForPart(i, collective, peers[i]);
  forgetParts();
}

Waiting ProcessTransport::waiting(int32_t rank) const {
  Waiting result;
  if (rank != me)
    return result;
  const uint64_t packed = record.load(std::memory_order_acquire);
  result.what = static_cast<Waiting::For>(packed >> 60);
  const int32_t place = static_cast<int32_t>(packed >> 32 & 0xfffffff);
  if (result.what == Waiting::For::Collective) {
    result.collective = place;
    result.onRank = static_cast<int32_t>(packed);
  } else if (result.what != Waiting::For::Nothing) {
    const Channel &c = channels[place];
    std::lock_guard<std::mutex> lock(mutex);
    result.onRank = c.from == me ? c.to : c.from;
    result.message =
        c.entries[static_cast<uint32_t>(packed) % c.entries.size()].name;
  }
  return result;
}

} // namespace

std::unique_ptr<Transport> rondo::runtime::makeProcessTransport(
    const TransportParams &params, const World &world,
    std::unique_ptr<Endpoint> endpoint, int cores) {
  return std::make_unique<ProcessTransport>(params, world, std::move(endpoint),
                                            cores);
}
