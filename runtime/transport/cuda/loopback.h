//===- loopback.h - Ranks that share one GPU --------------------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Each rank's thread enqueues its work and the messages' copies; events keep
// the order on the GPU. A copy waits for the sender's stream at the send and
// for the receiver's stream at the receive. So it can be enqueued once both
// ends have come, and the later one does that. A thread waits only until
// another thread has enqueued, never for the GPU.
//
// One thread enqueues at a time, and lets others go on whenever it waits. A
// recorded iteration requires that: two threads must not touch a graph at once,
// and one graph holds the iterations of all ranks, since the events between
// them would not order two graphs that are launched repeatedly.
//
//===----------------------------------------------------------------------===//

#ifndef RONDO_RUNTIME_TRANSPORT_CUDA_LOOPBACK_H
#define RONDO_RUNTIME_TRANSPORT_CUDA_LOOPBACK_H

#include "runtime/device/cuda/device.h"
#include "runtime/device/cuda/graph.h"
#include "runtime/transport/cuda/device_stamps.h"
#include "runtime/transport/transport.h"

#include <atomic>
#include <condition_variable>
#include <deque>
#include <mutex>

namespace rondo::runtime::cuda {

class Loopback : public Transport {
public:
  Loopback(const TransportParams &params,
           const std::vector<CudaDevice *> &devices, bool useGraph);
  ~Loopback() override;

  bool begin(int32_t rank, int32_t program, const Replay &replay) override;
  void end(int32_t rank) override;
  void abandon(int32_t rank) override;
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
  void letOthersWork(int32_t rank, const std::function<void()> &wait) override;
  void abort() override;
  Waiting waiting(int32_t rank) const override;
  std::vector<LinkFigures> links() override;

private:
  /// One end of a message; `ready` is the point in its rank's work after which
  /// the copy may run.
  struct Half {
    Posting posting;
    bool isThere = false;
    Event ready;
  };

  struct Entry {
    Half sender, receiver;
    Event done;
  };

  struct Channel {
    explicit Channel(const ChannelParams &params)
        : from(params.from), to(params.to),
          stream(OwnedStream::Priority::Urgent) {
      // A power of two divides 2^32, so tickets may wrap.
      size_t capacity = 1;
      while (static_cast<int64_t>(capacity) < params.messages)
        capacity *= 2;
      entries.resize(capacity);
    }
    Entry &entry(uint32_t ticket) { return entries[ticket % entries.size()]; }

    const int32_t from, to;
    OwnedStream stream;
    std::vector<Entry> entries;
    /// Messages so far at either end, and those whose copy has been enqueued.
    uint32_t sent = 0, posted = 0, copied = 0;

    /// Before a copy and after it.
    DeviceStamps begun, arrived;
    StampedSizes sizes;
    DeviceMeter meter;
    /// Everything that the stream has got in an iteration.
    Event tail;
  };

  struct Meeting {
    Meeting(const CollectiveParams &params, size_t numRanks);

    /// A rank's contribution: the point in its work after which the sum may
    /// run, how often it has started, where addAll()'s result goes, and its
    /// memory for all pieces of a gather or scatter.
    struct Member {
      Event ready;
      uint64_t starts = 0;
      double *sum = nullptr;
      float *whole = nullptr;
    };
    /// For a gather or scatter.
    int64_t elementsOfPiece() const {
      return parts.front().count / static_cast<int64_t>(parts.size());
    }
    /// Address of a piece in the memory of the part's rank; pieces are numbered
    /// like the parts.
    float *pieceAt(const PartParams &part, size_t piece) const {
      return members[part.rank].whole +
             static_cast<int64_t>(piece) * elementsOfPiece();
    }

    const CollectiveParams parts;
    const std::vector<int32_t> ranks;
    OwnedStream stream;
    Event done;
    /// Indexed by rank.
    std::vector<Member> members;
    size_t arrived = 0;
    /// Rounds whose sum has been enqueued.
    uint64_t enqueued = 0;
  };

  using Lock = std::unique_lock<std::mutex>;
  struct LocalRank {
    CudaDevice *device = nullptr;
    /// The end of its actions.
    Event reached;
    Waiting waiting;
    /// The lock on `turn` during an iteration; the iteration's step, its
    /// program and its variant.
    Lock turn;
    IterationGraph::Step step = IterationGraph::Step::Enqueue;
    int32_t program = 0;
    int64_t variant = 0;
    /// Whether it has launched what all ranks have recorded.
    bool hasLaunched = false;
  };

  /// The iterations of all ranks of a program, recorded in the first one's
  /// stream.
  struct Recording {
    explicit Recording(size_t ranks) : ranks(ranks), warm(ranks) {}

    const size_t ranks;
    IterationGraph graph;
    /// Indexed by rank: the variants of which it has run an iteration.
    std::vector<RecentVariants> warm;
    /// In an iteration: ranks that have started it, that have enqueued their
    /// part, and that have left it again; whether the GPU has finished it.
    size_t begun = 0, enqueued = 0, left = 0;
    bool isOver = false;
  };

  static cudaStream_t streamOf(const LocalRank &rank) {
    return rank.device->compute().handle;
  }
  void post(Channel &c, Entry &entry, Half &mine, Half &other,
            const Posting &posting);
  void measureStart();
  void beginIteration(const LocalRank &me);
  void waitCopied(Channel &c, Ticket ticket, int32_t rank,
                  const Waiting &waiting);
  /// The last rank to arrive enqueues `work`, after everything that all have
  /// enqueued before.
  void meet(Meeting &meeting, int32_t rank,
            const std::function<void(const Stream &)> &work);
  /// Lets other threads enqueue until the condition holds. The calling thread
  /// holds the mutex, since iterate().
  void waitFor(int32_t rank, const Waiting &waiting,
               const std::function<bool()> &isReady);
  void note(int32_t rank, const Waiting &waiting);

  void endRecording(Recording &recording);
  void finishTogether(Recording &recording, LocalRank &me, bool hasLaunched);
  void awaitIdle(LocalRank &me, const LocalRank &other);

  Gpu &gpu;
  const EdgeNames edges;
  const bool useGraph, measures;
  std::vector<LocalRank> ranks;
  std::deque<Channel> channels;
  std::deque<Meeting> meetings;

  /// Held by the enqueueing thread; guards everything but what `waitingMutex`
  /// guards.
  std::mutex turn;
  std::condition_variable changed;
  /// Guards the ranks' `waiting` and the members' `starts`.
  mutable std::mutex waitingMutex;
  std::atomic<bool> isAborted{false};

  /// Indexed by program id.
  std::deque<Recording> recordings;
  std::unique_ptr<Event> start;
};

/// Ranks are threads of this process and share one GPU. A message is a copy on
/// the GPU.
std::unique_ptr<Transport>
makeLoopbackTransport(const TransportParams &params,
                      const std::vector<CudaDevice *> &devices,
                      const TransportOptions &options);

} // namespace rondo::runtime::cuda

#endif // RONDO_RUNTIME_TRANSPORT_CUDA_LOOPBACK_H
