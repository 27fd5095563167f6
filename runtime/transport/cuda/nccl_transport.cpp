//===- nccl_transport.cpp - Ranks with a GPU each -------------------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "runtime/transport/cuda/nccl_transport.h"

#include "runtime/base/clock.h"
#include "runtime/base/cuda/stream.h"
#include "runtime/device/cuda/kernels.h"
#include "runtime/transport/transport.h"

#include <algorithm>
#include <functional>
#include <sstream>

using namespace rondo::runtime::cuda;
using namespace rondo::runtime;

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
  if (number >= end.messages && !end.isEndless)
    failOnTooMany(end.isSender, name, end.from, end.to, edges);
  GpuRank &rank = *ranks[end.isSender ? end.from : end.to];
  log(rank, {waiting, &end.ended, number + 1});
  // After the task that made the data or last used the buffer.
  rank.posted.record(computeOf(end).handle);
  rank.posted.holdBack(end.stream.get());
  rank.recording().launches.begin(end.stream.get());
  if (!rank.recording().graph.hasRun())
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

bool NcclTransport::begin(int32_t rank, int32_t program, const Replay &replay) {
  GpuRank &me = *ranks[rank];
  me.program = program;
  GpuRank::Recording &recording = me.recording();
  me.device->enter();
  me.device->beginIteration();
  me.met.beginIteration();
  for (ChannelEnd *end : me.ends)
    end->ended.beginIteration();
  const cudaStream_t stream = me.device->compute().handle;
  me.step = recording.graph.next(options.useGraph && replay.isAllowed,
                                 replay.variant);
  if (me.step == IterationGraph::Step::Replay) {
    recording.graph.replay(stream);
    return false;
  }
  // Meanwhile other threads go on with their own GPUs.
  if (me.step == IterationGraph::Step::Record)
    recording.graph.begin(stream, cudaStreamCaptureModeThreadLocal);
  beginActions(me);
  return true;
}

void NcclTransport::end(int32_t rank) {
  GpuRank &me = *ranks[rank];
  IterationGraph &graph = me.recording().graph;
  if (me.step != IterationGraph::Step::Replay)
    endActions(me);
  if (me.step == IterationGraph::Step::Record)
    graph.end(me.device->compute().handle);
  awaitIdle(me);
  if (!graph.hasRun())
    compareEnds(me);
  graph.setHasRun();
}

void NcclTransport::abandon(int32_t rank) {
  stop(*ranks[rank]);
  try {
    throw;
  } catch (const CommunicatorFailed &) {
    awaitFailureOfOthers();
  } catch (...) {
    // Not a consequence of another failure.
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
void NcclTransport::stop(GpuRank &rank) {
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
  // after NCCL's: memory that they use may be freed from here on.
  awaitAborted(rank);
}

void NcclTransport::beginActions(GpuRank &me) {
  {
    std::lock_guard<std::mutex> lock(me.logMutex);
    me.recording().log.clear();
  }
  me.collectives = 0;
  me.recording().launches.beginIteration();
  for (ChannelEnd *end : me.ends) {
    end->firstOfIteration = end->tickets;
    end->sizes.beginIteration();
    if (!me.recording().graph.hasRun())
      end->firstPostings.clear();
  }
}

/// The compute stream ends last.
void NcclTransport::endActions(GpuRank &me) {
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

//===----------------------------------------------------------------------===//
// Compares both ends of a channel.
//===----------------------------------------------------------------------===//

/// Never empty.
static std::string textOf(const std::vector<Posting> &postings) {
  std::ostringstream text;
  text << postings.size();
  for (const Posting &posting : postings)
    text << ' ' << posting.name.edge << ' ' << posting.name.microbatch << ' '
         << posting.name.fromReplica << ' ' << posting.name.toReplica << ' '
         << posting.bytes;
  return text.str();
}

static std::vector<Posting> postingsOf(const std::string &text) {
  std::istringstream stream(text);
  size_t count = 0;
  stream >> count;
  std::vector<Posting> postings(count);
  for (Posting &posting : postings)
    stream >> posting.name.edge >> posting.name.microbatch >>
        posting.name.fromReplica >> posting.name.toReplica >> posting.bytes;
  return postings;
}

static void compare(const ChannelEnd &end, const std::vector<Posting> &sent,
                    const std::vector<Posting> &received,
                    const EdgeNames &edges) {
  for (size_t i = 0; i < std::min(sent.size(), received.size()); ++i)
    checkMatch(sent[i], received[i], end.from, end.to, edges);
  if (sent.size() != received.size())
    throw Error("rank " + std::to_string(end.from) + " sends " +
                std::to_string(sent.size()) + " messages to rank " +
                std::to_string(end.to) + ", which receives " +
                std::to_string(received.size()));
}

/// NCCL does not identify messages: one that matched the wrong receive would
/// train on wrong data. So both ends compare what they have posted in the first
/// iteration of a program; later ones repeat it.
void NcclTransport::compareEnds(GpuRank &me) {
  for (ChannelEnd *end : me.ends) {
    const std::string key = prefix + "posted/" + std::to_string(me.program) +
                            "/" + std::to_string(end->channel),
                      mine = textOf(end->firstPostings);
    std::string theirs;
    if (world.isAlone()) {
      // The later end compares.
      std::lock_guard<std::mutex> lock(postedMutex);
      std::string &other = posted[key];
      if (other.empty()) {
        other = mine;
        continue;
      }
      theirs = other;
    } else if (end->isSender) {
      world.store->set(key, mine);
      continue;
    } else {
      theirs = world.store->get(key);
    }
    if (end->isSender)
      compare(*end, end->firstPostings, postingsOf(theirs), edges);
    else
      compare(*end, postingsOf(theirs), end->firstPostings, edges);
  }
}

//===----------------------------------------------------------------------===//
// Sums in the order of the parts.
//===----------------------------------------------------------------------===//

/// Brings every part here and calls add(its elements, their number) in the
/// order of the parts, all on the rank's stream for collectives.
template <typename Add> void NcclTransport::gather(Member &member, Add add) {
  const GpuRank &rank = *ranks[member.rank];
  const cudaStream_t stream = rank.collectiveStream.get();
  if (!member.communicator) {
    for (const PartParams &part : member.parts)
      add(static_cast<const double *>(part.data), part.count);
    return;
  }
  const size_t bytes = member.gatheredBytes();
  checkStaging(rank.staging,
               static_cast<int64_t>((1 + member.ranks.size()) * bytes),
               member.collective, member.rank);
  // A rank's parts are consecutive.
  std::vector<int64_t> elements(member.ranks.size()), offsets;
  auto *mine = static_cast<double *>(rank.staging.data);
  for (const PartParams &part : member.parts) {
    int64_t &end = elements[static_cast<size_t>(member.peerOf(part.rank))];
    offsets.push_back(end);
    if (part.rank == member.rank && part.count > 0)
      RONDO_CUDA(
          cudaMemcpyAsync(mine + end, part.data,
                          sizeof(double) * static_cast<size_t>(part.count),
                          cudaMemcpyDeviceToDevice, stream));
    end += part.count;
  }
  char *all = static_cast<char *>(rank.staging.data) + bytes;
  RONDO_NCCL(ncclAllGather(mine, all, bytes, ncclInt8,
                           member.communicator->get(), stream));
  settle(*member.communicator);
  for (size_t p = 0; p < member.parts.size(); ++p)
    add(reinterpret_cast<const double *>(
            all +
            bytes * static_cast<size_t>(member.peerOf(member.parts[p].rank))) +
            offsets[p],
        member.parts[p].count);
}

/// A round, on the rank's stream for collectives: one launch.
template <typename Exchange>
void NcclTransport::move(Member &member, const Exchange &exchange,
                         int64_t round, float *staging) {
  const auto receives = exchange.receives(round, staging);
  const auto sends = exchange.sends(round);
  if (receives.empty() && sends.empty())
    return;
  const ncclComm_t communicator = member.communicator->get();
  const cudaStream_t stream = ranks[member.rank]->collectiveStream.get();
  auto countOf = [](const SumExchange::Move &move) {
    return static_cast<size_t>(move.count);
  };
  Group group;
  for (const SumExchange::Move &move : receives)
    RONDO_NCCL(ncclRecv(move.data, countOf(move), ncclFloat32,
                        member.peerOf(move.peer), communicator, stream));
  for (const SumExchange::Move &move : sends)
    RONDO_NCCL(ncclSend(move.data, countOf(move), ncclFloat32,
                        member.peerOf(move.peer), communicator, stream));
  group.end();
  settle(*member.communicator);
}

/// Runs after everything that the compute stream has got so far.
Stream NcclTransport::beginCollective(Member &member) {
  GpuRank &rank = *ranks[member.rank];
  member.number = ++rank.collectives;
  rank.posted.record(rank.device->compute().handle);
  rank.posted.holdBack(rank.collectiveStream.get());
  rank.recording().launches.begin(rank.collectiveStream.get());
  return {rank.collectiveStream.get(), nullptr};
}

void NcclTransport::endCollective(Member &member) {
  GpuRank &rank = *ranks[member.rank];
  member.done.record(rank.collectiveStream.get());
  rank.met.countUp(rank.collectiveStream.get());
  rank.recording().launches.end(rank.collectiveStream.get());
}

/// Which rank is late is not known here: the first other one is named.
void NcclTransport::waitCollective(int32_t collective, int32_t r) {
  Member &member = memberOf(collective, r);
  GpuRank &rank = *ranks[r];
  Waiting waiting;
  waiting.what = Waiting::For::Collective;
  waiting.collective = collective;
  for (int32_t other : member.ranks)
    if (other != r && waiting.onRank < 0)
      waiting.onRank = other;
  log(rank, {waiting, &rank.met, member.number});
  member.done.holdBack(rank.device->compute().handle);
}

void NcclTransport::startSumParts(int32_t collective, int32_t rank) {
  Member &member = memberOf(collective, rank);
  checkStaging(ranks[rank]->staging, member.exchange.stagingBytes(), collective,
               rank);
  const Stream stream = beginCollective(member);
  runRounds(member, member.exchange, stream);
  endCollective(member);
}

void NcclTransport::startShards(int32_t collective, int32_t rank,
                                ShardExchange::Kind kind, float *whole) {
  Member &member = memberOf(collective, rank);
  // A gather stages nothing, so one launch moves all.
  const ShardExchange exchange(member.parts, rank, kind, whole,
                               kind == ShardExchange::Kind::Gather
                                   ? INT64_MAX
                                   : sumsOfGpus.elementsAtOnce);
  checkStaging(ranks[rank]->staging, exchange.stagingBytes(), collective, rank,
               "reduce_grad's collective");
  const Stream stream = beginCollective(member);
  runRounds(member, exchange, stream);
  endCollective(member);
}

template <typename Exchange>
void NcclTransport::runRounds(Member &member, const Exchange &exchange,
                              const Stream &stream) {
  auto *staging = static_cast<float *>(ranks[member.rank]->staging.data);
  auto add = [&](float *sum, const float *values, int64_t count) {
    addTo(stream, sum, values, count);
  };
  auto copy = [&](float *to, const float *from, int64_t count) {
    RONDO_CUDA(cudaMemcpyAsync(to, from,
                               sizeof(float) * static_cast<size_t>(count),
                               cudaMemcpyDeviceToDevice, stream.handle));
  };
  for (int64_t round = 0; round < exchange.numRounds(); ++round) {
    move(member, exchange, round, staging);
    exchange.finish(round, staging, add, copy);
  }
}

void NcclTransport::startAddAll(int32_t collective, int32_t rank, double *sum) {
  Member &member = memberOf(collective, rank);
  const Stream stream = beginCollective(member);
  RONDO_CUDA(cudaMemsetAsync(sum, 0, sizeof *sum, stream.handle));
  gather(member, [&](const double *values, int64_t count) {
    addAllTo(stream, sum, values, count);
  });
  endCollective(member);
}
