//===- process_transport.h - Ranks are processes ----------------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The rank's thread starts operations and advances them while it waits. A
// second thread advances them from time to time while the rank computes,
// because a large message needs both sides. One lock separates the two.
//
//===----------------------------------------------------------------------===//

#ifndef RONDO_RUNTIME_TRANSPORT_PROCESS_TRANSPORT_H
#define RONDO_RUNTIME_TRANSPORT_PROCESS_TRANSPORT_H

#include "runtime/launch/world.h"
#include "runtime/transport/endpoint.h"
#include "runtime/transport/exchange.h"

#include <atomic>
#include <condition_variable>
#include <deque>
#include <exception>
#include <functional>
#include <mutex>
#include <optional>
#include <thread>
#include <vector>

namespace rondo::runtime {

/// Encodes the names of messages as tags up to a largest one: the edge and the
/// micro-batch. The replicas follow from the edge and the channel's ranks,
/// since a rank has at most one replica of a stage. Different names have
/// different tags as long as edges and micro-batches are few: up to 16,384 and
/// 131,072 with tags of 31 bits, 1,024 and 8,192 with the 23 of some MPIs.
/// Larger numbers wrap.
class MessageTags {
public:
  explicit MessageTags(int32_t largest);
  int32_t tagOf(MessageName name) const;
  MessageName nameOf(int32_t tag) const;

private:
  int edgeBits = 0, microbatchBits = 0;
};

/// Channels, waits and ordered sums over an endpoint.
class ProcessTransport : public Transport {
public:
  ProcessTransport(const TransportParams &params, const World &world,
                   std::unique_ptr<Endpoint> endpoint,
                   const TransportOptions &options,
                   std::unique_ptr<StampClock> clock);
  ~ProcessTransport() override;

  bool begin(int32_t rank, int32_t program, const Replay &replay) override;
  void end(int32_t rank) override;
  Ticket send(int32_t channel, MessageName name, const void *data,
              int64_t bytes) override;
  Ticket receive(int32_t channel, MessageName name, void *data,
                 int64_t bytes) override;
  void waitSent(int32_t channel, Ticket ticket) override;
  void waitReceived(int32_t channel, Ticket ticket) override;
  void startSumParts(int32_t collective, int32_t rank) override;
  void startAddAll(int32_t collective, int32_t rank, double *sum) override;
  void startGather(int32_t collective, int32_t rank, float *whole) override;
  void startScatter(int32_t collective, int32_t rank, float *whole) override;
  void waitCollective(int32_t collective, int32_t rank) override;
  void abort() override;
  Waiting waiting(int32_t rank) const override;
  void beginIteration(int64_t iteration) override;
  void spoilNext(int32_t) override { spoils = true; }
  SerialLink *imposedLink(int32_t from, int32_t to) final;
  std::vector<LinkFigures> links() override;
  std::vector<std::vector<Transfer>> takeTransfers() override;

private:
  struct Entry {
    /// The message's number in the channel.
    uint32_t number = 0;
    bool isBusy = false, hasEnded = false;
    /// For a receive, until it has been waited for.
    bool isUnchecked = false;
    int32_t operation = -1;
    MessageName name;
    int64_t bytes = 0;
    Endpoint::Ended ended;
    // If messages are checked:
    const char *data = nullptr;
    /// The sender's, which follows the message.
    uint32_t checksum = 0;
    int32_t checksumOperation = -1;
    bool hasContentEnded = false;
    /// For tests: what is sent in place of the message.
    std::vector<char> spoiled;
    /// When an imposed link has carried it, and when it arrives.
    int64_t carriedNs = 0, arrivalNs = 0;
  };

  /// One end of a channel.
  struct Channel {
    int32_t from = 0, to = 0;
    /// Per iteration.
    int64_t messages = 0;
    bool isEndless = false;
    std::vector<Entry> entries;
    uint32_t next = 0, firstOfIteration = 0;
    /// Null if links are not imposed, or if neither end is here.
    SerialLink *link = nullptr;
    StampRing stamps;
    /// At the receiver.
    LinkMeter meter;

    Entry &entry(uint32_t ticket) { return entries[ticket % entries.size()]; }
  };

  /// A process with which this one shares a channel.
  struct Peer {
    int32_t rank = -1;
    bool hasSameClock = false;
    ClockMap clock;
    /// Upper bounds of the last two comparisons' errors, in units of this
    /// process's clock.
    uint64_t errors[2] = {};
    /// The shortest round trip of empty messages, in units of this process's
    /// clock.
    uint64_t roundTrip = UINT64_MAX;
  };

  /// An operation that does not belong to a channel.
  struct Part {
    int32_t operation = -1;
    int32_t peer = -1;
    bool hasEnded = false;
  };

  /// The checksum that follows a part of a sum, if messages are checked.
  struct Checksum {
    uint32_t value = 0;
    int32_t peer = -1;
    /// The received part; null: the part has been sent.
    const void *data = nullptr;
    int64_t bytes = 0;
  };

  /// A collective in which this rank has a part.
  struct Sum {
    enum class State : uint8_t { Idle, Queued, Exchanges, Gathers, Spreads };
    State state = State::Idle;
    bool hasEnded = false;
    /// Address of addAll()'s result; null for a sum of parts.
    double *total = nullptr;
    /// For a sum of parts; none if this rank has no part.
    std::optional<SumExchange> exchange;
    /// The exchange of the last start, if it gathers or scatters shards.
    std::optional<ShardExchange> shards;
    /// The round of the exchange that is in flight.
    int64_t round = 0;
    /// When imposed links let it end; known once all have started.
    int64_t endNs = 0;
    /// The operations in flight.
    std::vector<Part> operations;
    std::deque<Checksum> checksums;
    /// For addAll(), by part: the elements of other ranks.
    std::vector<std::vector<char>> received;
  };

  /// `now`: on `clock`, if the channel keeps stamps.
  Entry &start(Channel &c, MessageName name, int64_t bytes, uint64_t now);
  void check(const Channel &c, const Entry &entry) const;
  /// Whether an operation of a channel and its checksum have ended.
  bool advance(Entry &entry);
  /// Advances all operations. Requires `mutex`.
  void bringForward();
  /// Spins briefly, then yields the core between looks, then sleeps for longer
  /// and longer. `isReady` is called under the lock; `look`, which may be null,
  /// about every 20 ms without it. Both may throw.
  void spinUntil(const std::function<bool()> &isReady,
                 const std::function<void()> &look = {});
  /// `flag` is written under the lock.
  void waitFor(const bool &flag, Waiting::For what, int32_t place,
               uint32_t ticket);
  /// Waits for an imposed link. `place`: the channel or collective.
  void waitUntil(int64_t deadlineNs, Waiting::For what, int32_t place,
                 uint32_t ticket);
  /// The helping thread.
  void help();
  bool isWaiting() const {
    return record.load(std::memory_order_relaxed) >> 60 != 0;
  }
  /// Kind of the rank's wait (4 bits), channel or collective (28), ticket (32).
  void note(Waiting::For what, int32_t place, uint32_t ticket);

  // For collectives; these require `mutex`.
  void startSum(int32_t collective, double *total,
                const ShardExchange *shards = nullptr);
  /// Advances the collectives of the lane as far as possible.
  void bringSumsForward();
  /// Starts the next operations of a collective; false once it is done.
  bool goOn(int32_t collective, Sum &sum);
  void startShards(int32_t collective, ShardExchange::Kind kind, float *whole);
  /// Starts the next round of an exchange; false: there is none.
  template <typename Exchange>
  bool exchangeNext(int32_t collective, Sum &sum, const Exchange &exchange);
  /// Ends a round of an exchange that moves `halves` of what a sum does, and
  /// starts the next one.
  template <typename Exchange>
  bool finishRound(int32_t collective, Sum &sum, const Exchange &exchange,
                   int64_t halves);
  void gatherAll(int32_t collective, Sum &sum);
  void addAll(int32_t collective, const Sum &sum) const;
  void checkParts(int32_t collective, const Sum &sum) const;
  void sendPart(Sum &sum, int32_t to, int32_t collective, const void *data,
                int64_t bytes);
  void receivePart(Sum &sum, int32_t from, void *data, int64_t bytes);

  // Between iterations; no watchdog checks these waits. The peer makes the
  // matching calls at the same time.
  void beginPhase(Phase phase);
  void meetPeers();
  void compareClocks(Peer &peer);
  const Peer &peerOf(int32_t rank) const;
  std::vector<RoundTrip> ask(const Peer &peer);
  std::vector<uint64_t> answer(Peer &peer);
  Part startSend(int32_t to, const void *data, int64_t bytes);
  Part startReceive(int32_t from, void *data, int64_t bytes);
  /// Throws Error if the peer does not do its part before the deadline, and
  /// PeerFailed if another process has failed.
  void finish(Part part);
  void sendNow(int32_t to, const void *data, int64_t bytes);
  void receiveNow(int32_t from, void *data, int64_t bytes);
  /// Each process gets the figures of the channels that it knows from the
  /// receiver's process.
  void share(std::vector<LinkFigures> &figures);

  const TransportParams params;
  const World world;
  const double timeoutSeconds;
  /// Null: an AwakeClock for each wait.
  const std::shared_ptr<Clock> waitClock;
  /// Between iterations, for errors.
  Phase phase = Phase::Meet;
  const int32_t me;
  /// For the sum of parts that is under way.
  const StagingParams staging;
  /// Indexed by collective. Their memory must outlive the endpoint's
  /// operations.
  std::vector<Sum> sums;
  const std::unique_ptr<Endpoint> endpoint;
  /// For stamps.
  const std::unique_ptr<StampClock> clock;
  const int32_t processes;
  const MessageTags tags;
  /// Null if links are not imposed.
  const std::unique_ptr<ImposedNetwork> network;
  const bool isLinkImposed;
  const int64_t spinNs;
  std::vector<Channel> channels;
  /// For tests: the next message changes on its way.
  bool spoils = false;
  /// Indexed by rank.
  std::vector<Peer> peers;

  /// Guards the endpoint and everything below.
  mutable std::mutex mutex;
  std::condition_variable changed;
  std::vector<std::pair<Channel *, Entry *>> pending;
  /// Collectives that have been started and not ended. They run one after
  /// another: all share the endpoint's lane, where only the order distinguishes
  /// their parts. With imposed links the first may have ended and still take
  /// its time.
  std::deque<int32_t> lane;
  /// An exception of the helping thread; the rank's thread throws it.
  std::exception_ptr helpersFailure;
  bool isClosing = false;
  std::atomic<bool> isAborted{false};
  std::atomic<uint64_t> record{0};
  std::thread helper;
};

} // namespace rondo::runtime

#endif // RONDO_RUNTIME_TRANSPORT_PROCESS_TRANSPORT_H
