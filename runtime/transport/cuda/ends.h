//===- ends.h - A rank's ends of channels and collectives -------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#ifndef RONDO_RUNTIME_TRANSPORT_CUDA_ENDS_H
#define RONDO_RUNTIME_TRANSPORT_CUDA_ENDS_H

#include "kinds/Residency.h"
#include "runtime/device/cuda/counter.h"
#include "runtime/device/cuda/device.h"
#include "runtime/device/cuda/graph.h"
#include "runtime/transport/cuda/communicator.h"
#include "runtime/transport/cuda/device_stamps.h"
#include "runtime/transport/exchange.h"
#include "runtime/transport/match.h"

#include <algorithm>
#include <atomic>
#include <deque>
#include <memory>
#include <mutex>
#include <vector>

namespace rondo::runtime::cuda {

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
  const bool isSender;
  const int64_t messages;
  OwnedStream stream;
  Communicator communicator;
  /// By ticket: the message has been handed over or has arrived.
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
  /// parts take, and behind them the parts of each rank.
  size_t gatheredBytes() const {
    return sizeof(double) * static_cast<size_t>(maxElements);
  }
};

/// What a rank has issued in an iteration, for reports of what it waits for.
struct Issued {
  Waiting waiting;
  /// The counter, and the count at which it is done.
  const Counter *counter;
  uint64_t number;
};

/// Keeps a rank's launches, which it issues in one order, to so many in flight:
/// launch i begins behind the end of launch i - K (kinds/Residency.h), as an
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
  /// What the compute stream has got when a message or a collective is issued.
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
    RecordedGraph graph;
    bool isWarm = false;
    LaunchWindow launches;
    /// Guarded by logMutex.
    std::vector<Issued> log;
  };
  /// By program id; and the one that is running.
  std::deque<Recording> recordings;
  std::atomic<int32_t> program{0};

  Recording &recording() { return recordings[program]; }
  const Recording &recording() const { return recordings[program]; }

  mutable std::mutex logMutex;
};

} // namespace rondo::runtime::cuda

#endif // RONDO_RUNTIME_TRANSPORT_CUDA_ENDS_H
