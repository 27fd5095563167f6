//===- nccl_transport.h - Ranks with a GPU each -----------------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#ifndef RONDO_RUNTIME_TRANSPORT_CUDA_NCCL_TRANSPORT_H
#define RONDO_RUNTIME_TRANSPORT_CUDA_NCCL_TRANSPORT_H

#include "runtime/base/deadline.h"
#include "runtime/launch/store.h"
#include "runtime/transport/cuda/ends.h"
#include "runtime/transport/cuda/gpu_transports.h"
#include "runtime/transport/match.h"
#include "runtime/transport/shard_exchange.h"

#include <atomic>
#include <map>
#include <mutex>

namespace rondo::runtime::cuda {

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

  void iterate(int32_t rank, bool mayReplay,
               const std::function<void()> &actions) override {
    iterateProgram(0, rank, mayReplay, actions);
  }
  void iterateProgram(int32_t program, int32_t rank, bool mayReplay,
                      const std::function<void()> &actions) override;
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
  void record(GpuRank &me, const std::function<void()> &actions);
  void enqueueActions(GpuRank &me, const std::function<void()> &actions);
  void awaitIdle(GpuRank &me);
  void abandon(GpuRank &rank);
  void release();
  void awaitFailureOfOthers() const;
  void compareEnds(GpuRank &me);

  const TransportOptions options;
  const World world;
  const EdgeNames edges;
  const bool measures;
  /// Prefix of this transport's keys in the store.
  std::string prefix;
  /// What the ends in this process have posted.
  std::mutex postedMutex;
  std::map<std::string, std::string> posted;
  /// By rank; null if another process holds it.
  std::vector<std::unique_ptr<GpuRank>> ranks;
  std::vector<std::unique_ptr<ChannelEnd>> ends;
  std::vector<std::unique_ptr<Member>> members;
  /// By channel.
  std::vector<ChannelEnd *> senders, receivers;
  /// Ends of this process that may be in flight together at the start, when
  /// nothing else is; all processes take the same turns.
  std::vector<std::vector<ChannelEnd *>> turns;
  /// Maps this process's nowNs() to process 0's clock.
  ClockMap hostClock;
  std::atomic<bool> isAborted{false};
};

} // namespace rondo::runtime::cuda

#endif // RONDO_RUNTIME_TRANSPORT_CUDA_NCCL_TRANSPORT_H
