//===- loopback.cpp - Ranks share one GPU ---------------------------------===//
//
// Each rank's thread enqueues its work and the messages' copies; the GPU itself
// keeps the order by events. A copy waits for the sender's stream at the send
// and for the receiver's stream at the receive. So it can be enqueued once both
// ends have come, and who comes second does that. A thread waits for another
// thread only until that one has enqueued, never for the GPU.
//
// One thread enqueues at a time, and hands over where it waits. That is what a
// recorded iteration needs: a graph may not be touched by two threads at once,
// and one graph holds the iterations of all ranks, since the events between
// them would not order two graphs that are launched again and again.
//
//===----------------------------------------------------------------------===//

#include "runtime/device/cuda/graph.h"
#include "runtime/error.h"
#include "runtime/transport/cuda/gpu_transports.h"
#include "runtime/transport/cuda/idle.h"
#include "runtime/transport/cuda/sums.h"
#include "runtime/transport/match.h"

#include <algorithm>
#include <atomic>
#include <condition_variable>
#include <deque>
#include <mutex>
#include <optional>

using namespace rondo::runtime;
using namespace rondo::runtime::cuda;

namespace {

/// One end of a message; `ready` is the point in its rank's work behind which
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
    // A power of two divides 2^32, so that tickets may wrap.
    size_t capacity = 1;
    while (static_cast<int64_t>(capacity) < params.messages)
      capacity *= 2;
    entries.resize(capacity);
  }
  Entry &entry(uint32_t ticket) { return entries[ticket % entries.size()]; }

  const int32_t from, to;
  OwnedStream stream;
  std::vector<Entry> entries;
  /// Messages so far: of either end, and whose copy has been enqueued.
  uint32_t sent = 0, posted = 0, copied = 0;
};

struct Meeting {
  CollectiveParams parts;
  std::vector<int32_t> ranks;
  size_t arrived = 0;
  uint64_t round = 0;
  Event done;
  /// By rank, of addAll().
  std::vector<double *> sums;
};

struct LocalRank {
  CudaDevice *device = nullptr;
  /// The end of its actions, or its part of a meeting.
  Event reached;
  bool isWarm = false, hasRecorded = false;
  Waiting waiting;
};

class Loopback : public Transport {
public:
  Loopback(const TransportParams &params,
           const std::vector<CudaDevice *> &devices, bool useGraph)
      : gpu(devices.front()->gpu()), useGraph(useGraph) {
    gpu.select();
    ranks.resize(devices.size());
    for (size_t r = 0; r < devices.size(); ++r)
      ranks[r].device = devices[r];
    for (const ChannelParams &channel : params.channels)
      channels.emplace_back(channel);
    meetings.resize(params.collectives.size());
    for (size_t i = 0; i < meetings.size(); ++i) {
      Meeting &meeting = meetings[i];
      meeting.parts = params.collectives[i];
      meeting.sums.resize(devices.size());
      for (const PartParams &part : meeting.parts)
        meeting.ranks.push_back(part.rank);
      std::sort(meeting.ranks.begin(), meeting.ranks.end());
      meeting.ranks.erase(
          std::unique(meeting.ranks.begin(), meeting.ranks.end()),
          meeting.ranks.end());
    }
    start.emplace();
  }

  ~Loopback() override {
    gpu.select();
    graph.cancel();
    for (LocalRank &rank : ranks)
      cudaStreamSynchronize(streamOf(rank));
  }

  void iterate(int32_t rank, bool mayReplay,
               const std::function<void()> &actions) override;

  Ticket send(int32_t channel, MessageName name, const void *data,
              int64_t bytes) override {
    Channel &c = channels[channel];
    Entry &entry = c.entry(c.sent);
    // The data are only read.
    post(c, entry, entry.sender, entry.receiver,
         {name, static_cast<char *>(const_cast<void *>(data)), bytes});
    return c.sent++;
  }

  Ticket receive(int32_t channel, MessageName name, void *data,
                 int64_t bytes) override {
    Channel &c = channels[channel];
    Entry &entry = c.entry(c.posted);
    post(c, entry, entry.receiver, entry.sender,
         {name, static_cast<char *>(data), bytes});
    return c.posted++;
  }

  void waitSent(int32_t channel, Ticket ticket) override {
    Channel &c = channels[channel];
    Entry &entry = c.entry(ticket);
    waitCopied(c, ticket, c.from,
               {Waiting::For::Release, c.to, entry.sender.posting.name});
    entry.done.holdBack(streamOf(ranks[c.from]));
  }

  void waitReceived(int32_t channel, Ticket ticket) override {
    Channel &c = channels[channel];
    Entry &entry = c.entry(ticket);
    waitCopied(c, ticket, c.to,
               {Waiting::For::Arrival, c.from, entry.receiver.posting.name});
    entry.done.holdBack(streamOf(ranks[c.to]));
  }

  void sumParts(int32_t collective, int32_t rank) override {
    Meeting &meeting = meetings[collective];
    meet(meeting, collective, rank, [&](const Stream &stream) {
      const PartParams &first = meeting.parts.front();
      auto *sum = static_cast<float *>(first.data);
      for (size_t p = 1; p < meeting.parts.size(); ++p)
        addTo(stream, sum, static_cast<const float *>(meeting.parts[p].data),
              first.count);
      for (size_t p = 1; p < meeting.parts.size(); ++p)
        copy(meeting.parts[p].data, sum, 4 * first.count, stream.handle);
    });
  }

  void addAll(int32_t collective, int32_t rank, double *sum) override {
    Meeting &meeting = meetings[collective];
    meeting.sums[rank] = sum;
    meet(meeting, collective, rank, [&](const Stream &stream) {
      RONDO_CUDA(cudaMemsetAsync(sum, 0, sizeof *sum, stream.handle));
      for (const PartParams &part : meeting.parts)
        addAllTo(stream, sum, static_cast<const double *>(part.data),
                 part.count);
      for (int32_t other : meeting.ranks)
        if (other != rank)
          copy(meeting.sums[other], sum, sizeof *sum, stream.handle);
    });
  }

  void abort() override {
    isAborted = true;
    changed.notify_all();
  }

  Waiting waiting(int32_t rank) const override {
    std::lock_guard<std::mutex> lock(waitingMutex);
    Waiting waiting = ranks[rank].waiting;
    if (waiting.what != Waiting::For::Collective)
      return waiting;
    for (int32_t other : meetings[waiting.collective].ranks) {
      const Waiting &theirs = ranks[other].waiting;
      if (theirs.what == waiting.what &&
          theirs.collective == waiting.collective)
        continue;
      waiting.onRank = other;
      break;
    }
    return waiting;
  }

  /// A GPU that has work comes to its end without anybody's help.
  uint64_t progress() const override { return looks; }

private:
  static cudaStream_t streamOf(const LocalRank &rank) {
    return rank.device->compute().handle;
  }
  static void copy(void *to, const void *from, int64_t bytes,
                   cudaStream_t stream) {
    RONDO_CUDA(cudaMemcpyAsync(to, from, static_cast<size_t>(bytes),
                               cudaMemcpyDeviceToDevice, stream));
  }

  void post(Channel &c, Entry &entry, Half &mine, Half &other,
            const Posting &posting) {
    const bool isSender = &mine == &entry.sender;
    if (mine.isThere)
      failOnTooMany(isSender, posting.name, c.from, c.to);
    mine.posting = posting;
    mine.isThere = true;
    mine.ready.record(streamOf(ranks[isSender ? c.from : c.to]));
    if (!other.isThere)
      return;
    const Posting &sent = entry.sender.posting,
                  &posted = entry.receiver.posting;
    checkMatch(sent, posted, c.from, c.to);
    entry.sender.ready.holdBack(c.stream.get());
    entry.receiver.ready.holdBack(c.stream.get());
    if (sent.bytes > 0)
      copy(posted.data, sent.data, sent.bytes, c.stream.get());
    entry.done.record(c.stream.get());
    mine.isThere = other.isThere = false;
    ++c.copied;
    changed.notify_all();
  }

  void waitCopied(Channel &c, Ticket ticket, int32_t rank,
                  const Waiting &waiting) {
    // The distance is right across the wrap of the counters.
    waitFor(rank, waiting,
            [&] { return static_cast<int32_t>(c.copied - ticket) > 0; });
  }

  /// `work` is enqueued by the last rank to come, behind what all have enqueued
  /// before; all go on behind it.
  template <typename Work>
  void meet(Meeting &meeting, int32_t collective, int32_t rank, Work work) {
    LocalRank &me = ranks[rank];
    me.reached.record(streamOf(me));
    const uint64_t round = meeting.round;
    if (++meeting.arrived < meeting.ranks.size()) {
      Waiting waiting;
      waiting.what = Waiting::For::Collective;
      waiting.collective = collective;
      waitFor(rank, waiting, [&] { return meeting.round != round; });
      meeting.done.holdBack(streamOf(me));
      return;
    }
    for (int32_t other : meeting.ranks)
      ranks[other].reached.holdBack(streamOf(me));
    work(me.device->compute());
    meeting.done.record(streamOf(me));
    meeting.arrived = 0;
    ++meeting.round;
    changed.notify_all();
  }

  /// Lets other threads enqueue until the condition holds.
  template <typename Ready>
  void waitFor(int32_t rank, const Waiting &waiting, Ready isReady) {
    if (isReady())
      return;
    note(rank, waiting);
    // The calling thread has the mutex, from iterate() on.
    std::unique_lock<std::mutex> lock(turn, std::adopt_lock);
    while (!isReady() && !isAborted)
      changed.wait_for(lock, std::chrono::milliseconds(50));
    lock.release();
    if (!isReady())
      throw Aborted();
    note(rank, {});
  }

  void note(int32_t rank, const Waiting &waiting) {
    std::lock_guard<std::mutex> lock(waitingMutex);
    ranks[rank].waiting = waiting;
  }

  void runActions(LocalRank &me, std::unique_lock<std::mutex> &lock,
                  const std::function<void()> &actions);
  void record(LocalRank &me, std::unique_lock<std::mutex> &lock,
              const std::function<void()> &actions);
  void replay(LocalRank &me, std::unique_lock<std::mutex> &lock);
  void finishTogether(LocalRank &me, bool hasLaunched,
                      std::unique_lock<std::mutex> &lock);
  void awaitIdle(LocalRank &me, const LocalRank &other,
                 std::unique_lock<std::mutex> &lock);

  Gpu &gpu;
  const bool useGraph;
  std::vector<LocalRank> ranks;
  std::deque<Channel> channels;
  std::vector<Meeting> meetings;

  /// Of the thread that enqueues; guards all but `waiting` of the ranks.
  std::mutex turn;
  std::condition_variable changed;
  mutable std::mutex waitingMutex;
  std::atomic<bool> isAborted{false};
  std::atomic<uint64_t> looks{0};

  /// The iterations of all ranks, recorded in the first one's stream.
  RecordedGraph graph;
  std::optional<Event> start;
  /// Of a recorded iteration: ranks that have begun it, that have enqueued
  /// their part, and that have left it again; whether the GPU has ended it.
  size_t begun = 0, enqueued = 0, left = 0;
  bool isOver = false;
};

} // namespace

void Loopback::iterate(int32_t rank, bool mayReplay,
                       const std::function<void()> &actions) {
  LocalRank &me = ranks[rank];
  me.device->enter();
  std::unique_lock<std::mutex> lock(turn);
  if (!useGraph || !mayReplay || !me.isWarm)
    runActions(me, lock, actions);
  else if (!me.hasRecorded)
    record(me, lock, actions);
  else
    replay(me, lock);
}

void Loopback::runActions(LocalRank &me, std::unique_lock<std::mutex> &lock,
                          const std::function<void()> &actions) {
  me.device->beginIteration();
  actions();
  awaitIdle(me, me, lock);
  me.isWarm = true;
}

void Loopback::record(LocalRank &me, std::unique_lock<std::mutex> &lock,
                      const std::function<void()> &actions) {
  LocalRank &origin = ranks.front();
  if (begun++ == 0) {
    origin.device->beginIteration();
    // Threads take turns, and the last of them ends the recording.
    graph.begin(streamOf(origin), cudaStreamCaptureModeRelaxed);
    start->record(streamOf(origin));
  }
  if (&me != &origin)
    start->holdBack(streamOf(me));
  actions();
  me.reached.record(streamOf(me));
  me.hasRecorded = true;
  const bool isLast = ++enqueued == ranks.size();
  if (isLast) {
    for (LocalRank &rank : ranks)
      if (&rank != &origin)
        rank.reached.holdBack(streamOf(origin));
    graph.end();
    graph.launch(streamOf(origin));
  }
  finishTogether(me, isLast, lock);
}

void Loopback::replay(LocalRank &me, std::unique_lock<std::mutex> &lock) {
  LocalRank &origin = ranks.front();
  const bool isFirst = begun++ == 0;
  if (isFirst) {
    origin.device->beginIteration();
    graph.launch(streamOf(origin));
  }
  finishTogether(me, isFirst, lock);
}

/// All ranks leave once the GPU has ended what one of them launched.
void Loopback::finishTogether(LocalRank &me, bool hasLaunched,
                              std::unique_lock<std::mutex> &lock) {
  if (hasLaunched) {
    awaitIdle(me, ranks.front(), lock);
    isOver = true;
    changed.notify_all();
  }
  waitFor(me.device->rank(), {}, [&] { return isOver; });
  if (++left < ranks.size())
    return;
  begun = enqueued = left = 0;
  isOver = false;
}

/// Waits in the thread of `me` for the stream of `other`.
void Loopback::awaitIdle(LocalRank &me, const LocalRank &other,
                         std::unique_lock<std::mutex> &lock) {
  me.device->hasEnqueued();
  lock.unlock();
  cuda::awaitIdle(streamOf(other), [&] {
    ++looks;
    if (isAborted)
      throw Aborted();
  });
  lock.lock();
}

std::unique_ptr<Transport> rondo::runtime::cuda::makeLoopbackTransport(
    const TransportParams &params, const std::vector<CudaDevice *> &devices,
    const TransportOptions &options) {
  return std::make_unique<Loopback>(params, devices, options.useGraph);
}
