//===- nccl_transport.cpp - Ranks on GPUs of their own --------------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "runtime/transport/cuda/nccl_transport.h"

#include "runtime/base/clock.h"
#include "runtime/transport/cuda/idle.h"
#include "runtime/transport/match.h"

#include <functional>

using namespace rondo::runtime;
using namespace rondo::runtime::cuda;

//===----------------------------------------------------------------------===//
// Messages.
//===----------------------------------------------------------------------===//

void NcclTransport::settle(const Communicator &communicator) {
  // It takes NCCL's thread a few microseconds.
  constexpr int spins = 200;
  for (int looks = 0; !communicator.isSettled(); ++looks) {
    if (isAborted)
      throw Aborted();
    if (looks > spins)
      std::this_thread::yield();
  }
}

template <typename Call>
Transport::Ticket NcclTransport::issue(ChannelEnd &end, MessageName name,
                                       int64_t bytes, const Waiting &waiting,
                                       Call call) {
  const uint32_t number = end.tickets - end.firstOfIteration;
  if (number >= end.messages)
    failOnTooMany(end.isSender, name, end.from, end.to, edges);
  GpuRank &rank = *ranks[end.isSender ? end.from : end.to];
  log(rank, {waiting, &end.ended, number + 1});
  // After the task that made the data or last used the buffer.
  rank.posted.record(computeOf(end).handle);
  rank.posted.holdBack(end.stream.get());
  rank.recording().launches.begin(end.stream.get());
  if (!rank.recording().isWarm)
    end.firstPostings.push_back({name, nullptr, bytes});
  const bool isStamped = measures && end.sizes.isNew(bytes);
  if (isStamped)
    end.begun.stamp(end.stream.get(), bytes);
  if (bytes > 0) {
    RONDO_NCCL(call());
    settle(end.communicator);
  }
  end.doneOf(end.tickets).record(end.stream.get());
  end.ended.countUp(end.stream.get());
  rank.recording().launches.end(end.stream.get());
  if (isStamped && !end.isSender)
    end.arrived.stamp(end.stream.get(), bytes);
  return end.tickets++;
}

Transport::Ticket NcclTransport::send(int32_t channel, MessageName name,
                                      const void *data, int64_t bytes) {
  ChannelEnd &end = *senders[channel];
  return issue(end, name, bytes, {Waiting::For::Release, end.to, name}, [&] {
    return ncclSend(data, static_cast<size_t>(bytes), ncclInt8, 1,
                    end.communicator.get(), end.stream.get());
  });
}

Transport::Ticket NcclTransport::receive(int32_t channel, MessageName name,
                                         void *data, int64_t bytes) {
  ChannelEnd &end = *receivers[channel];
  return issue(end, name, bytes, {Waiting::For::Arrival, end.from, name}, [&] {
    return ncclRecv(data, static_cast<size_t>(bytes), ncclInt8, 0,
                    end.communicator.get(), end.stream.get());
  });
}

//===----------------------------------------------------------------------===//
// Iterations.
//===----------------------------------------------------------------------===//

void NcclTransport::iterateProgram(int32_t program, int32_t rank,
                                   bool mayReplay,
                                   const std::function<void()> &actions) {
  GpuRank &me = *ranks[rank];
  me.program = program;
  GpuRank::Recording &recording = me.recording();
  me.device->enter();
  try {
    me.device->beginIteration();
    me.met.beginIteration();
    for (ChannelEnd *end : me.ends)
      end->ended.beginIteration();
    if (!options.useGraph || !mayReplay || !recording.isWarm)
      enqueueActions(me, actions);
    else if (!recording.graph.isRecorded())
      record(me, actions);
    else
      recording.graph.launch(me.device->compute().handle);
    awaitIdle(me);
    if (!recording.isWarm)
      compareEnds(me);
    recording.isWarm = true;
  } catch (const CommunicatorFailed &) {
    abandon(me);
    awaitFailureOfOthers();
    throw;
  } catch (...) {
    abandon(me);
    throw;
  }
}

/// The process that failed first knows the reason; NCCL's errors about its end
/// are a consequence. Throws PeerFailed if such a process has reported.
void NcclTransport::awaitFailureOfOthers() const {
  if (world.isAlone())
    return;
  const int64_t deadlineNs = nowNs() + 2'000'000'000;
  for (; nowNs() < deadlineNs;
       std::this_thread::sleep_for(std::chrono::milliseconds(5)))
    world.store->check();
}

/// Returns once nothing of the rank is on its GPU, or after a time that is
/// ample for aborted work to end.
static void awaitAborted(const GpuRank &rank) {
  const int64_t deadlineNs = nowNs() + 5'000'000'000;
  std::vector<cudaStream_t> streams{rank.device->compute().handle,
                                    rank.collectiveStream.get()};
  for (const ChannelEnd *end : rank.ends)
    streams.push_back(end->stream.get());
  for (cudaStream_t stream : streams)
    while (cudaStreamQuery(stream) == cudaErrorNotReady && nowNs() < deadlineNs)
      std::this_thread::sleep_for(lookInterval);
}

/// Ends what the rank has enqueued: operations that wait for another rank would
/// never end. NCCL must not be called while the rank's streams record.
void NcclTransport::abandon(GpuRank &rank) {
  // At the start, another rank's GPU may be the thread's current one.
  cudaSetDevice(rank.device->gpu().ordinal);
  for (GpuRank::Recording &recording : rank.recordings)
    recording.graph.cancel();
  // The last of the process's ranks to abort a communicator returns when the
  // work of all of them has ended and all graphs with its operations are gone.
  // Both may wait for work of another communicator, so all are aborted at once,
  // and the graph is dropped in between.
  ncclGroupStart();
  for (Communicator *communicator : communicatorsOf(rank))
    communicator->abort();
  for (GpuRank::Recording &recording : rank.recordings)
    recording.graph.drop();
  ncclGroupEnd();
  // The other ranks' aborts do not wait, and none waits for kernels of our own
  // behind NCCL's: memory that they use may be freed from here on.
  awaitAborted(rank);
}

void NcclTransport::enqueueActions(GpuRank &me,
                                   const std::function<void()> &actions) {
  {
    std::lock_guard<std::mutex> lock(me.logMutex);
    me.recording().log.clear();
  }
  me.collectives = 0;
  me.recording().launches.beginIteration();
  for (ChannelEnd *end : me.ends) {
    end->firstOfIteration = end->tickets;
    end->sizes.beginIteration();
    if (!me.recording().isWarm)
      end->firstPostings.clear();
  }
  actions();
  // The compute stream ends last.
  for (ChannelEnd *end : me.ends) {
    if (end->tickets == end->firstOfIteration)
      continue;
    end->tail.record(end->stream.get());
    end->tail.holdBack(me.device->compute().handle);
  }
  if (me.collectives > 0) {
    me.tail.record(me.collectiveStream.get());
    me.tail.holdBack(me.device->compute().handle);
  }
}

void NcclTransport::record(GpuRank &me, const std::function<void()> &actions) {
  const cudaStream_t stream = me.device->compute().handle;
  // Meanwhile other threads go on with their own GPUs.
  RecordedGraph &graph = me.recording().graph;
  graph.begin(stream, cudaStreamCaptureModeThreadLocal);
  enqueueActions(me, actions);
  graph.end();
  graph.launch(stream);
}

void NcclTransport::awaitIdle(GpuRank &me) {
  const std::vector<Communicator *> communicators = communicatorsOf(me);
  me.device->hasEnqueued();
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
  // The first action in the rank's order that has not been done. A send may be
  // in flight while later tasks run: it counts only if nothing else is left.
  Waiting sent;
  for (const Issued &issued : me.recording().log) {
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
