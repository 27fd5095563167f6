//===- nccl_transport.h - Ranks with a GPU each -----------------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#ifndef RONDO_RUNTIME_TRANSPORT_CUDA_NCCL_TRANSPORT_H
#define RONDO_RUNTIME_TRANSPORT_CUDA_NCCL_TRANSPORT_H

#include "kinds/Residency.h"
#include "runtime/base/clock.h"
#include "runtime/base/cuda/stream.h"
#include "runtime/device/cuda/device.h"
#include "runtime/device/cuda/graph.h"
#include "runtime/device/cuda/kernels.h"
#include "runtime/launch/store.h"
#include "runtime/transport/cuda/device_stamps.h"
#include "runtime/transport/exchange.h"
#include "runtime/transport/transport.h"

#include <algorithm>
#include <atomic>
#include <deque>
#include <map>
#include <memory>
#include <mutex>
#include <nccl.h>
#include <string>
#include <vector>

namespace rondo::runtime::cuda {

/// NCCL's text for an error, and for its cause if NCCL knows it.
std::string reasonOf(ncclResult_t result);

/// Throws Error if a call failed; a call in progress has not.
inline void check(ncclResult_t result, const char *call, const char *file,
                  int line) {
  if (result != ncclSuccess && result != ncclInProgress)
    fail(call, reasonOf(result), file, line);
}
#define RONDO_NCCL(call)                                                       \
  ::rondo::runtime::cuda::check((call), #call, __FILE__, __LINE__)

/// A communicator has failed, often because another rank has.
struct CommunicatorFailed : Error {
  using Error::Error;
};

/// An identifier that the ranks of one communicator must share.
std::string makeCommunicatorId();

/// Non-blocking, since only then can it be aborted: a call may not have taken
/// effect when it returns, and nothing that depends on it may be enqueued
/// before isSettled(). The rank's GPU must be current in all calls.
class Communicator {
public:
  /// Starts connecting `rank` of `ranks`; isSettled() says when that is done.
  /// `name` is for messages: "the channel from rank 0 to rank 1". A call takes
  /// at most `maxBlocks` thread blocks, the same on all ranks.
  Communicator(const std::string &id, int ranks, int rank, int maxBlocks,
               const std::string &name);
  ~Communicator();
  Communicator(const Communicator &) = delete;
  Communicator &operator=(const Communicator &) = delete;

  ncclComm_t get() const { return handle; }
  const std::string &name() const { return myName; }
  /// Whether all calls so far have taken effect. Throws CommunicatorFailed.
  bool isSettled() const;
  /// Starts leaving; all ranks do so before any communicator is destroyed, so
  /// that no rank frees memory that another still reads.
  void part();
  /// Ends its work on the device after a failure of the run; the communicator
  /// cannot be used afterwards.
  void abort();

private:
  const std::string myName;
  ncclComm_t handle = nullptr;
  bool isParting = false;
};

/// Calls that NCCL takes as one. The thread's group is closed even if a call
/// fails, or later calls would fall into it.
class Group {
public:
  Group();
  ~Group() {
    if (isOpen)
      ncclGroupEnd();
  }
  void end();

private:
  bool isOpen = true;
};

/// Thread blocks that all ends of one rank which are in flight may take
/// together, and a collective. NCCL's kernels keep their multiprocessors while
/// they wait for the peer, and each of them may be waiting for any other: all
/// must fit at once. A rank with more ends than its program lets be in flight
/// keeps to that (LaunchWindow).
inline constexpr int maxBlocksOfRank = maxBlocksOfMessages;

/// One end of a channel: a communicator of two ranks with its own stream.
struct ChannelEnd {
  ChannelEnd(const ChannelParams &params, int32_t channel, bool isSender,
             int maxBlocks, const std::string &id);

  const int32_t channel, from, to;
  const bool isSender, isEndless;
  const int64_t messages;
  OwnedStream stream;
  Communicator communicator;
  /// Indexed by ticket: the message has been handed over or has arrived.
  std::vector<Event> done;
  uint32_t tickets = 0, firstOfIteration = 0;
  /// Names and sizes of the messages of the first iteration, in order.
  std::vector<Posting> firstPostings;
  /// Everything that the stream has got in an iteration.
  Event tail;
  Counter ended;
  /// Before a message; at the receiver, after it.
  DeviceStamps begun, arrived;
  StampedSizes sizes;
  /// For the receiver.
  DeviceMeter meter;
  /// For the first message.
  DeviceMemory scratch{1};

  int32_t peer() const { return isSender ? to : from; }
  Event &doneOf(uint32_t ticket) { return done[ticket % done.size()]; }
};

/// One rank's share of a collective.
struct Member {
  Member(const CollectiveParams &parts, int32_t collective, int32_t rank,
         const std::vector<int32_t> &ranks, const std::string &id);

  CollectiveParams parts;
  const int32_t collective, rank;
  const std::vector<int32_t> ranks;
  /// For a sum of parts.
  const SumExchange exchange;
  // Null if one rank has all parts.
  /// For the first collective: a byte to send and one from each rank.
  std::unique_ptr<DeviceMemory> scratch;
  std::unique_ptr<Communicator> communicator;
  /// When the rank has the result. For its last start: its number among the
  /// rank's collectives of the iteration.
  Event done;
  uint64_t number = 0;
  /// Elements of all parts of the rank that has most.
  int64_t maxElements = 0;

  int peerOf(int32_t other) const {
    return static_cast<int>(std::find(ranks.begin(), ranks.end(), other) -
                            ranks.begin());
  }
  /// In the rank's staging memory, for the sum of all elements: what its own
  /// parts take, followed by the parts of each rank.
  size_t gatheredBytes() const {
    return sizeof(double) * static_cast<size_t>(maxElements);
  }
};

/// An operation that a rank has issued in an iteration, for reports of its
/// waits.
struct Issued {
  Waiting waiting;
  /// The counter, and the count at which it is done.
  const Counter *counter;
  uint64_t number;
};

/// Limits a rank's launches, which it issues in one order, to K in flight:
/// launch i begins after the end of launch i - K (kinds/Residency.h), as an
/// event that its stream waits for, which a graph records as an edge. All
/// launches of an iteration end within it.
class LaunchWindow {
public:
  /// 0: no limit.
  explicit LaunchWindow(int32_t most = 0) {
    for (int32_t k = 0; k < most; ++k)
      ended.emplace_back();
  }

  void beginIteration() { launches = 0; }
  /// Around what a launch enqueues in its stream, by the rank's thread.
  void begin(cudaStream_t stream) const {
    if (launches >= ended.size() && !ended.empty())
      ended[launches % ended.size()].holdBack(stream);
  }
  void end(cudaStream_t stream) {
    if (ended.empty())
      return;
    ended[launches % ended.size()].record(stream);
    ++launches;
  }

private:
  std::vector<Event> ended;
  size_t launches = 0;
};

/// A rank of this process.
struct GpuRank {
  CudaDevice *device = nullptr;
  GpuClock clock;
  std::vector<ChannelEnd *> ends;
  std::vector<Member *> members;
  /// The state of the compute stream when a message or a collective is issued.
  Event posted;
  /// For the collective that runs.
  StagingParams staging;
  /// Runs the collectives, one after another; and everything that it has got in
  /// an iteration.
  OwnedStream collectiveStream{OwnedStream::Priority::Urgent};
  Event tail;
  /// Collectives that the device has finished, and those issued in the
  /// iteration.
  Counter met;
  uint64_t collectives = 0;

  /// A rank's recording of one program.
  struct Recording {
    IterationGraph graph;
    LaunchWindow launches;
    /// Guarded by logMutex.
    std::vector<Issued> log;
  };
  /// Indexed by program id; and the one that is running.
  std::deque<Recording> recordings;
  std::atomic<int32_t> program{0};
  /// The step of the current iteration.
  IterationGraph::Step step = IterationGraph::Step::Enqueue;

  Recording &recording() { return recordings[program]; }
  const Recording &recording() const { return recordings[program]; }

  mutable std::mutex logMutex;
};

/// A channel is a communicator of two ranks that carries messages one way, so
/// that crossing messages of two ranks never share one, and each end has a
/// stream for it. Messages of a channel are issued in the compiled order on
/// both sides; NCCL matches them by that order alone.
///
/// Channels are not ordered relative to each other: a receive is posted early,
/// and what its message waits for may be issued after it. So NCCL must not
/// order them either (NCCL_LAUNCH_ORDER_IMPLICIT), and all that are in flight
/// must fit on the GPU at once (maxBlocksOfRank). How many may be is a number
/// of the program, which its compiler has proved to suffice (LaunchWindow).
///
/// Collectives add in the order of the parts, like every transport; a sum by
/// NCCL would depend on the ring.
class NcclTransport : public Transport {
public:
  NcclTransport(const TransportParams &params,
                const std::vector<CudaDevice *> &devices,
                const TransportOptions &options, const World &world);
  ~NcclTransport() override;

  bool begin(int32_t rank, int32_t program, const Replay &replay) override;
  void end(int32_t rank) override;
  void abandon(int32_t rank) override;
  Ticket send(int32_t channel, MessageName name, const void *data,
              int64_t bytes) override;
  Ticket receive(int32_t channel, MessageName name, void *data,
                 int64_t bytes) override;
  void waitSent(int32_t channel, Ticket ticket) override {
    ChannelEnd &end = *senders[channel];
    end.doneOf(ticket).holdBack(computeOf(end).handle);
  }
  void waitReceived(int32_t channel, Ticket ticket) override {
    ChannelEnd &end = *receivers[channel];
    end.doneOf(ticket).holdBack(computeOf(end).handle);
  }
  void startSumParts(int32_t collective, int32_t rank) override;
  void startAddAll(int32_t collective, int32_t rank, double *sum) override;
  void startGather(int32_t collective, int32_t rank, float *whole) override {
    startShards(collective, rank, ShardExchange::Kind::Gather, whole);
  }
  void startScatter(int32_t collective, int32_t rank, float *whole) override {
    startShards(collective, rank, ShardExchange::Kind::Scatter, whole);
  }
  void waitCollective(int32_t collective, int32_t rank) override;
  void abort() override { isAborted = true; }
  Waiting waiting(int32_t rank) const override;
  uint64_t progress() const override;
  std::vector<LinkFigures> links() override;

private:
  void connect(const TransportParams &params);
  void meet() const;
  void divideIntoTurns(const TransportParams &params);
  void sendOneByte(const ChannelEnd &end) const;
  void warmUp(const Deadline &deadline);
  void awaitCommunicators(const Deadline &deadline);
  void awaitWarmUp(const Deadline &deadline);
  void measureStart(const Deadline &deadline);
  void compareClocks();
  std::vector<DeviceStamp> takeStamps(const ChannelEnd &end,
                                      DeviceStamps &stamps);
  std::vector<DeviceStamp> stampsOfSender(size_t channel);
  void share(std::vector<LinkFigures> &figures) const;
  void checkDeadline(const Communicator &communicator,
                     const Deadline &deadline) const;
  std::vector<Communicator *> communicatorsOf(const GpuRank &rank) const;

  const Stream &computeOf(const ChannelEnd &end) const {
    return ranks[end.isSender ? end.from : end.to]->device->compute();
  }
  Member &memberOf(int32_t collective, int32_t rank) const {
    for (Member *member : ranks[rank]->members)
      if (member->collective == collective)
        return *member;
    throw Error("rank " + std::to_string(rank) + " has no part in all_reduce " +
                std::to_string(collective));
  }

  template <typename Call>
  Ticket issue(ChannelEnd &end, MessageName name, int64_t bytes,
               const Waiting &waiting, Call call);
  /// Returns once NCCL has enqueued what was issued.
  void settle(const Communicator &communicator);
  template <typename Add> void gather(Member &member, Add add);
  template <typename Exchange>
  void move(Member &member, const Exchange &exchange, int64_t round,
            float *staging);
  template <typename Exchange>
  void runRounds(Member &member, const Exchange &exchange,
                 const Stream &stream);
  void startShards(int32_t collective, int32_t rank, ShardExchange::Kind kind,
                   float *whole);
  Stream beginCollective(Member &member);
  void endCollective(Member &member);
  void log(GpuRank &rank, const Issued &issued) {
    std::lock_guard<std::mutex> lock(rank.logMutex);
    rank.recording().log.push_back(issued);
  }
  void beginActions(GpuRank &me);
  void endActions(GpuRank &me);
  void awaitIdle(GpuRank &me);
  void stop(GpuRank &rank);
  void release();
  void awaitFailureOfOthers() const;
  void compareEnds(GpuRank &me);

  const TransportOptions options;
  const World world;
  const EdgeNames edges;
  const bool measures;
  /// Prefix of this transport's keys in the store.
  std::string prefix;
  /// Messages that the ends in this process have posted.
  std::mutex postedMutex;
  std::map<std::string, std::string> posted;
  /// Indexed by rank; null if another process holds it.
  std::vector<std::unique_ptr<GpuRank>> ranks;
  std::vector<std::unique_ptr<ChannelEnd>> ends;
  std::vector<std::unique_ptr<Member>> members;
  /// Indexed by channel.
  std::vector<ChannelEnd *> senders, receivers;
  /// Ends of this process that may be in flight together at the start, when
  /// nothing else is; all processes take the same turns.
  std::vector<std::vector<ChannelEnd *>> turns;
  /// Maps this process's nowNs() to process 0's clock.
  ClockMap hostClock;
  std::atomic<bool> isAborted{false};
};

/// Every rank has its own GPU, in this process or another; devices of other
/// processes are null. Throws Error if the ranks do not connect within the time
/// limit.
std::unique_ptr<Transport>
makeNcclTransport(const TransportParams &params,
                  const std::vector<CudaDevice *> &devices,
                  const TransportOptions &options, const World &world);

} // namespace rondo::runtime::cuda

#endif // RONDO_RUNTIME_TRANSPORT_CUDA_NCCL_TRANSPORT_H
