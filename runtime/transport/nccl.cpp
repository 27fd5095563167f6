//===- nccl.cpp - Ranks on GPUs of their own ------------------------------===//
//
// A channel is a communicator of two ranks that carries messages one way, so
// that crossing messages of two ranks never share one, and each end has a
// stream for it. Messages of a channel are issued in the compiled order on both
// sides, which is all that NCCL matches them by; a rank's thread issues all its
// operations in the rank's compiled order, which is the one that
// NCCL_LAUNCH_ORDER_IMPLICIT keeps on the device.
//
// Collectives gather the parts and add them on each rank in the order of the
// parts, as every transport does; a sum by NCCL would depend on the ring.
//
//===----------------------------------------------------------------------===//

#include "runtime/clock.h"
#include "runtime/launch/store.h"
#include "runtime/transport/cuda/ends.h"
#include "runtime/transport/cuda/gpu_transports.h"
#include "runtime/transport/cuda/idle.h"
#include "runtime/transport/cuda/sums.h"
#include "runtime/transport/match.h"

#include <algorithm>
#include <atomic>
#include <cstdio>
#include <functional>

using namespace rondo::runtime;
using namespace rondo::runtime::cuda;

/// Elements of a collective that are gathered at once: the memory for it is not
/// in the arena.
static constexpr int64_t elementsAtOnce = 1 << 20;

namespace {

class NcclTransport : public Transport {
public:
  NcclTransport(const TransportParams &params,
                const std::vector<CudaDevice *> &devices,
                const TransportOptions &options, const World &world);
  ~NcclTransport() override;

  void iterate(int32_t rank, bool mayReplay,
               const std::function<void()> &actions) override;
  Ticket send(int32_t channel, MessageName name, const void *data,
              int64_t bytes) override {
    ChannelEnd &end = *senders[channel];
    return issue(end, name, bytes, {Waiting::For::Release, end.to, name}, [&] {
      return ncclSend(data, static_cast<size_t>(bytes), ncclInt8, 1,
                      end.communicator.get(), end.stream.get());
    });
  }
  Ticket receive(int32_t channel, MessageName name, void *data,
                 int64_t bytes) override {
    ChannelEnd &end = *receivers[channel];
    return issue(end, name, bytes, {Waiting::For::Arrival, end.from, name},
                 [&] {
                   return ncclRecv(data, static_cast<size_t>(bytes), ncclInt8,
                                   0, end.communicator.get(), end.stream.get());
                 });
  }
  void waitSent(int32_t channel, Ticket ticket) override {
    ChannelEnd &end = *senders[channel];
    end.doneOf(ticket).holdBack(computeOf(end).handle);
  }
  void waitReceived(int32_t channel, Ticket ticket) override {
    ChannelEnd &end = *receivers[channel];
    end.doneOf(ticket).holdBack(computeOf(end).handle);
  }
  void sumParts(int32_t collective, int32_t rank) override;
  void addAll(int32_t collective, int32_t rank, double *sum) override;
  void abort() override { isAborted = true; }
  Waiting waiting(int32_t rank) const override;
  uint64_t progress() const override;

private:
  void connect(const TransportParams &params, const World &world);
  void warmUp();
  void awaitCommunicators(int64_t deadlineNs);
  void awaitWarmUp(int64_t deadlineNs);
  void checkDeadline(const Communicator &communicator,
                     int64_t deadlineNs) const;
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
  template <typename T, typename Add>
  void gather(Member &member, int64_t first, int64_t count, Add add);
  void beginCollective(Member &member);
  void endCollective(Member &member);
  void log(GpuRank &rank, const Issued &issued) {
    std::lock_guard<std::mutex> lock(rank.logMutex);
    rank.log.push_back(issued);
  }
  void record(GpuRank &me, const std::function<void()> &actions);
  void enqueueActions(GpuRank &me, const std::function<void()> &actions);
  void awaitIdle(GpuRank &me);

  const TransportOptions options;
  /// By rank; null where another process holds it.
  std::vector<std::unique_ptr<GpuRank>> ranks;
  std::vector<std::unique_ptr<ChannelEnd>> ends;
  std::vector<std::unique_ptr<Member>> members;
  /// By channel.
  std::vector<ChannelEnd *> senders, receivers;
  std::atomic<bool> isAborted{false};
};

} // namespace

//===----------------------------------------------------------------------===//
// Connecting.
//===----------------------------------------------------------------------===//

NcclTransport::NcclTransport(const TransportParams &params,
                             const std::vector<CudaDevice *> &devices,
                             const TransportOptions &options,
                             const World &world)
    : options(options), ranks(devices.size()), senders(params.channels.size()),
      receivers(params.channels.size()) {
  for (size_t r = 0; r < devices.size(); ++r) {
    if (!devices[r])
      continue;
    devices[r]->gpu().select();
    ranks[r] = std::make_unique<GpuRank>();
    ranks[r]->device = devices[r];
  }
  const int64_t deadlineNs =
      options.timeoutSeconds > 0
          ? nowNs() + static_cast<int64_t>(options.timeoutSeconds * 1e9)
          : INT64_MAX;
  connect(params, world);
  awaitCommunicators(deadlineNs);
  warmUp();
  awaitWarmUp(deadlineNs);
}

static std::vector<int32_t> ranksOf(const CollectiveParams &parts) {
  std::vector<int32_t> ranks;
  for (const PartParams &part : parts)
    ranks.push_back(part.rank);
  std::sort(ranks.begin(), ranks.end());
  ranks.erase(std::unique(ranks.begin(), ranks.end()), ranks.end());
  return ranks;
}

/// Begins all communicators, in the same order in all processes. The lowest
/// rank of each makes its identifier.
void NcclTransport::connect(const TransportParams &params, const World &world) {
  // Processes make their transports in the same order.
  static std::atomic<int> numTransports{0};
  const std::string prefix = "nccl/" + std::to_string(numTransports++) + "/";
  auto idOf = [&](const std::string &key, int32_t lowest) {
    if (world.isAlone())
      return makeCommunicatorId();
    if (!world.holds(lowest))
      return world.store->get(prefix + key);
    const std::string id = makeCommunicatorId();
    world.store->set(prefix + key, id);
    return id;
  };
  for (size_t c = 0; c < params.channels.size(); ++c) {
    const ChannelParams &channel = params.channels[c];
    if (!ranks[channel.from] && !ranks[channel.to])
      continue;
    const auto number = static_cast<int32_t>(c);
    const std::string id = idOf("channel/" + std::to_string(c),
                                std::min(channel.from, channel.to));
    for (bool isSender : {true, false}) {
      GpuRank *rank = ranks[isSender ? channel.from : channel.to].get();
      if (!rank)
        continue;
      rank->device->enter();
      ends.push_back(
          std::make_unique<ChannelEnd>(channel, number, isSender, id));
      (isSender ? senders : receivers)[c] = ends.back().get();
      rank->ends.push_back(ends.back().get());
    }
  }
  for (size_t c = 0; c < params.collectives.size(); ++c) {
    const std::vector<int32_t> all = ranksOf(params.collectives[c]);
    std::string id;
    for (int32_t r : all) {
      if (!ranks[r])
        continue;
      if (id.empty() && all.size() > 1)
        id = idOf("collective/" + std::to_string(c), all.front());
      ranks[r]->device->enter();
      members.push_back(std::make_unique<Member>(
          params.collectives[c], static_cast<int32_t>(c), r, all, id));
      Member &member = *members.back();
      ranks[r]->members.push_back(&member);
      if (!member.communicator)
        continue;
      const auto bytes = static_cast<size_t>(
          8 *
          std::min(elementsAtOnce, std::max<int64_t>(1, member.mostElements)));
      member.mine = std::make_unique<DeviceMemory>(bytes);
      member.all = std::make_unique<DeviceMemory>(bytes * all.size());
    }
  }
  callingRank = -1;
}

/// A pair connects with its first message, which takes the hosts of both and
/// must not fall into a recorded iteration: all do at once, in one group.
void NcclTransport::warmUp() {
  RONDO_NCCL(ncclGroupStart());
  for (const std::unique_ptr<ChannelEnd> &end : ends) {
    const GpuRank &rank = *ranks[end->isSender ? end->from : end->to];
    rank.device->gpu().select();
    // Any memory will do that this end has alone.
    if (end->isSender)
      RONDO_NCCL(ncclSend(end->scratch.get(), 1, ncclInt8, 1,
                          end->communicator.get(), end->stream.get()));
    else
      RONDO_NCCL(ncclRecv(end->scratch.get(), 1, ncclInt8, 0,
                          end->communicator.get(), end->stream.get()));
  }
  for (const std::unique_ptr<Member> &member : members) {
    if (!member->communicator)
      continue;
    const GpuRank &rank = *ranks[member->rank];
    rank.device->gpu().select();
    RONDO_NCCL(ncclAllGather(member->mine->get(), member->all->get(), 1,
                             ncclInt8, member->communicator->get(),
                             rank.device->compute().handle));
  }
  RONDO_NCCL(ncclGroupEnd());
}

std::vector<Communicator *>
NcclTransport::communicatorsOf(const GpuRank &rank) const {
  std::vector<Communicator *> all;
  for (ChannelEnd *end : rank.ends)
    all.push_back(&end->communicator);
  for (Member *member : rank.members)
    if (member->communicator)
      all.push_back(member->communicator.get());
  return all;
}

void NcclTransport::checkDeadline(const Communicator &communicator,
                                  int64_t deadlineNs) const {
  if (nowNs() <= deadlineNs)
    return;
  char limit[32];
  std::snprintf(limit, sizeof limit, "%g", options.timeoutSeconds);
  throw Error(communicator.name() + " has not connected within " + limit + " s",
              Exit::RunFailure);
}

void NcclTransport::awaitCommunicators(int64_t deadlineNs) {
  for (size_t r = 0; r < ranks.size(); ++r) {
    if (!ranks[r])
      continue;
    ranks[r]->device->enter();
    for (const Communicator *communicator : communicatorsOf(*ranks[r]))
      while (!communicator->isSettled()) {
        checkDeadline(*communicator, deadlineNs);
        std::this_thread::sleep_for(lookInterval);
      }
  }
  callingRank = -1;
}

void NcclTransport::awaitWarmUp(int64_t deadlineNs) {
  awaitCommunicators(deadlineNs);
  for (const std::unique_ptr<ChannelEnd> &end : ends)
    cuda::awaitIdle(end->stream.get(),
                    [&] { checkDeadline(end->communicator, deadlineNs); });
}

NcclTransport::~NcclTransport() {
  for (const std::unique_ptr<GpuRank> &rank : ranks) {
    if (!rank)
      continue;
    rank->device->enter();
    rank->graph.cancel();
    for (Communicator *communicator : communicatorsOf(*rank))
      communicator->part();
  }
  // What NCCL and the streams have must be gone before their memory is.
  ends.clear();
  members.clear();
  callingRank = -1;
}

//===----------------------------------------------------------------------===//
// Messages.
//===----------------------------------------------------------------------===//

void NcclTransport::settle(const Communicator &communicator) {
  while (!communicator.isSettled()) {
    if (isAborted)
      throw Aborted();
    std::this_thread::yield();
  }
}

template <typename Call>
Transport::Ticket NcclTransport::issue(ChannelEnd &end, MessageName name,
                                       int64_t bytes, const Waiting &waiting,
                                       Call call) {
  const uint32_t number = end.tickets - end.firstOfIteration;
  if (number >= end.messages)
    failOnTooMany(end.isSender, name, end.from, end.to);
  GpuRank &rank = *ranks[end.isSender ? end.from : end.to];
  log(rank, {waiting, &end.ended, number + 1});
  // Behind the task that made the data or used the buffer before.
  rank.posted.record(computeOf(end).handle);
  rank.posted.holdBack(end.stream.get());
  if (bytes > 0) {
    RONDO_NCCL(call());
    settle(end.communicator);
  }
  end.doneOf(end.tickets).record(end.stream.get());
  end.ended.countUp(end.stream.get());
  return end.tickets++;
}

//===----------------------------------------------------------------------===//
// Collectives.
//===----------------------------------------------------------------------===//

/// Brings elements [first, first + count) of every part here and calls
/// add(part, its elements) in the order of the parts. All on the compute
/// stream.
template <typename T, typename Add>
void NcclTransport::gather(Member &member, int64_t first, int64_t count,
                           Add add) {
  const Stream &stream = ranks[member.rank]->device->compute();
  auto countOf = [&](const PartParams &part) {
    return std::max<int64_t>(0, std::min(count, part.count - first));
  };
  if (!member.communicator) {
    for (const PartParams &part : member.parts)
      add(part, static_cast<const T *>(part.data) + first, countOf(part));
    return;
  }
  // A rank gives its parts one behind the other.
  std::vector<int64_t> elements(member.ranks.size()), offsets;
  auto indexOf = [&](int32_t rank) {
    return std::find(member.ranks.begin(), member.ranks.end(), rank) -
           member.ranks.begin();
  };
  auto *mine = reinterpret_cast<T *>(member.mine->get());
  for (const PartParams &part : member.parts) {
    int64_t &end = elements[indexOf(part.rank)];
    offsets.push_back(end);
    if (part.rank == member.rank && countOf(part) > 0)
      RONDO_CUDA(cudaMemcpyAsync(mine + end,
                                 static_cast<const T *>(part.data) + first,
                                 sizeof(T) * static_cast<size_t>(countOf(part)),
                                 cudaMemcpyDeviceToDevice, stream.handle));
    end += countOf(part);
  }
  const int64_t most = *std::max_element(elements.begin(), elements.end());
  auto *all = reinterpret_cast<const T *>(member.all->get());
  RONDO_NCCL(ncclAllGather(mine, member.all->get(),
                           sizeof(T) * static_cast<size_t>(most), ncclInt8,
                           member.communicator->get(), stream.handle));
  settle(*member.communicator);
  for (size_t p = 0; p < member.parts.size(); ++p)
    add(member.parts[p],
        all + indexOf(member.parts[p].rank) * most + offsets[p],
        countOf(member.parts[p]));
}

/// Which rank is late, nobody here knows: the first other one is named.
void NcclTransport::beginCollective(Member &member) {
  GpuRank &rank = *ranks[member.rank];
  Waiting waiting;
  waiting.what = Waiting::For::Collective;
  waiting.collective = member.collective;
  for (int32_t other : member.ranks)
    if (other != member.rank && waiting.onRank < 0)
      waiting.onRank = other;
  log(rank, {waiting, &rank.met, ++rank.collectives});
}

void NcclTransport::endCollective(Member &member) {
  GpuRank &rank = *ranks[member.rank];
  rank.met.countUp(rank.device->compute().handle);
}

void NcclTransport::sumParts(int32_t collective, int32_t rank) {
  Member &member = memberOf(collective, rank);
  beginCollective(member);
  const Stream &stream = ranks[rank]->device->compute();
  // All of a rank's parts have room at once; the same steps on all ranks.
  const int64_t total = member.parts.front().count;
  const int64_t step = std::max<int64_t>(1, elementsAtOnce / member.mostParts);
  for (int64_t first = 0; first < total; first += step) {
    const int64_t count = std::min(step, total - first);
    float *sum = nullptr;
    for (const PartParams &part : member.parts)
      if (!sum && part.rank == rank)
        sum = static_cast<float *>(part.data) + first;
    bool isFirst = true;
    auto copy = [&](float *to, const float *from) {
      if (to != from)
        RONDO_CUDA(cudaMemcpyAsync(to, from, 4 * static_cast<size_t>(count),
                                   cudaMemcpyDeviceToDevice, stream.handle));
    };
    gather<float>(member, first, count,
                  [&](const PartParams &, const float *values, int64_t) {
                    if (isFirst)
                      copy(sum, values);
                    else
                      addTo(stream, sum, values, count);
                    isFirst = false;
                  });
    for (const PartParams &part : member.parts)
      if (part.rank == rank)
        copy(static_cast<float *>(part.data) + first, sum);
  }
  endCollective(member);
}

void NcclTransport::addAll(int32_t collective, int32_t rank, double *sum) {
  Member &member = memberOf(collective, rank);
  beginCollective(member);
  const Stream &stream = ranks[rank]->device->compute();
  RONDO_CUDA(cudaMemsetAsync(sum, 0, sizeof *sum, stream.handle));
  gather<double>(member, 0, INT64_MAX,
                 [&](const PartParams &, const double *values, int64_t count) {
                   addAllTo(stream, sum, values, count);
                 });
  endCollective(member);
}

//===----------------------------------------------------------------------===//
// Iterations.
//===----------------------------------------------------------------------===//

void NcclTransport::iterate(int32_t rank, bool mayReplay,
                            const std::function<void()> &actions) {
  GpuRank &me = *ranks[rank];
  me.device->enter();
  try {
    me.device->beginIteration();
    me.met.beginIteration();
    for (ChannelEnd *end : me.ends)
      end->ended.beginIteration();
    if (!options.useGraph || !mayReplay || !me.isWarm)
      enqueueActions(me, actions);
    else if (!me.graph.isRecorded())
      record(me, actions);
    else
      me.graph.launch(me.device->compute().handle);
    awaitIdle(me);
    me.isWarm = true;
  } catch (...) {
    // Operations that wait for another rank would never end. No call of NCCL
    // is made while the rank's streams record.
    me.graph.cancel();
    for (Communicator *communicator : communicatorsOf(me))
      communicator->abort();
    throw;
  }
}

void NcclTransport::enqueueActions(GpuRank &me,
                                   const std::function<void()> &actions) {
  {
    std::lock_guard<std::mutex> lock(me.logMutex);
    me.log.clear();
  }
  me.collectives = 0;
  for (ChannelEnd *end : me.ends)
    end->firstOfIteration = end->tickets;
  actions();
  // The compute stream ends last.
  for (ChannelEnd *end : me.ends) {
    if (end->tickets == end->firstOfIteration)
      continue;
    end->tail.record(end->stream.get());
    end->tail.holdBack(me.device->compute().handle);
  }
}

void NcclTransport::record(GpuRank &me, const std::function<void()> &actions) {
  const cudaStream_t stream = me.device->compute().handle;
  // Other threads go on with their own GPUs meanwhile.
  me.graph.begin(stream, cudaStreamCaptureModeThreadLocal);
  enqueueActions(me, actions);
  me.graph.end();
  me.graph.launch(stream);
}

void NcclTransport::awaitIdle(GpuRank &me) {
  const std::vector<Communicator *> communicators = communicatorsOf(me);
  cuda::awaitIdle(me.device->compute().handle, [&] {
    if (isAborted)
      throw Aborted();
    for (const Communicator *communicator : communicators)
      communicator->isSettled();
  });
}

//===----------------------------------------------------------------------===//
// Reports.
//===----------------------------------------------------------------------===//

Waiting NcclTransport::waiting(int32_t rank) const {
  if (!ranks[rank])
    return {};
  const GpuRank &me = *ranks[rank];
  std::lock_guard<std::mutex> lock(me.logMutex);
  // What comes first in the rank's order and has not been done. A send may well
  // be under way while later tasks run: it counts where nothing else is.
  Waiting sent;
  for (const Issued &issued : me.log) {
    if (issued.counter->ofIteration() >= issued.number)
      continue;
    if (issued.waiting.what != Waiting::For::Release)
      return issued.waiting;
    if (sent.what == Waiting::For::Nothing)
      sent = issued.waiting;
  }
  return sent;
}

uint64_t NcclTransport::progress() const {
  uint64_t done = 0;
  for (const std::unique_ptr<ChannelEnd> &end : ends)
    done += end->ended.value();
  for (const std::unique_ptr<GpuRank> &rank : ranks)
    done += rank ? rank->met.value() : 0;
  return done;
}

std::unique_ptr<Transport> rondo::runtime::cuda::makeNcclTransport(
    const TransportParams &params, const std::vector<CudaDevice *> &devices,
    const TransportOptions &options, const World &world) {
  return std::make_unique<NcclTransport>(params, devices, options, world);
}
