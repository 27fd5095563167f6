//===- loopback.cpp - Ranks that share one GPU ----------------------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "runtime/transport/cuda/loopback.h"

#include "runtime/base/cuda/stream.h"
#include "runtime/base/error.h"
#include "runtime/device/cuda/kernels.h"

#include <algorithm>

using namespace rondo::runtime::cuda;
using namespace rondo::runtime;

Loopback::Loopback(const TransportParams &params,
                   const std::vector<CudaDevice *> &devices, bool useGraph)
    : gpu(devices.front()->gpu()), edges(params.edges), useGraph(useGraph),
      measures(params.measures) {
  gpu.select();
  ranks.resize(devices.size());
  for (size_t r = 0; r < devices.size(); ++r)
    ranks[r].device = devices[r];
  for (const ChannelParams &channel : params.channels)
    channels.emplace_back(channel);
  for (const CollectiveParams &collective : params.collectives)
    meetings.emplace_back(collective, devices.size());
  for (int32_t count : params.ranksOfProgram)
    recordings.emplace_back(static_cast<size_t>(count));
  if (recordings.empty())
    recordings.emplace_back(ranks.size());
  start = std::make_unique<Event>();
  if (measures)
    measureStart();
}

Loopback::~Loopback() {
  gpu.select();
  for (Recording &recording : recordings)
    recording.graph.drop();
  for (LocalRank &rank : ranks)
    cudaStreamSynchronize(streamOf(rank));
}

static void copy(void *to, const void *from, int64_t bytes,
                 cudaStream_t stream) {
  RONDO_CUDA(cudaMemcpyAsync(to, from, static_cast<size_t>(bytes),
                             cudaMemcpyDeviceToDevice, stream));
}

//===----------------------------------------------------------------------===//
// Messages.
//===----------------------------------------------------------------------===//

void Loopback::post(Channel &c, Entry &entry, Half &mine, Half &other,
                    const Posting &posting) {
  const bool isSender = &mine == &entry.sender;
  if (mine.isThere)
    failOnTooMany(isSender, posting.name, c.from, c.to, edges);
  mine.posting = posting;
  mine.isThere = true;
  mine.ready.record(streamOf(ranks[isSender ? c.from : c.to]));
  if (!other.isThere)
    return;
  const Posting &sent = entry.sender.posting, &posted = entry.receiver.posting;
  checkMatch(sent, posted, c.from, c.to, edges);
  entry.sender.ready.holdBack(c.stream.get());
  entry.receiver.ready.holdBack(c.stream.get());
  const bool isStamped = measures && c.sizes.isNew(sent.bytes);
  if (isStamped)
    c.begun.stamp(c.stream.get(), sent.bytes);
  if (sent.bytes > 0)
    copy(posted.data, sent.data, sent.bytes, c.stream.get());
  entry.done.record(c.stream.get());
  if (isStamped)
    c.arrived.stamp(c.stream.get(), sent.bytes);
  mine.isThere = other.isThere = false;
  ++c.copied;
  changed.notify_all();
}

void Loopback::waitCopied(Channel &c, Ticket ticket, int32_t rank,
                          const Waiting &waiting) {
  // The difference is right even when the counters wrap.
  waitFor(rank, waiting,
          [&] { return static_cast<int32_t>(c.copied - ticket) > 0; });
}

Transport::Ticket Loopback::send(int32_t channel, MessageName name,
                                 const void *data, int64_t bytes) {
  Channel &c = channels[channel];
  Entry &entry = c.entry(c.sent);
  // The data are only read.
  post(c, entry, entry.sender, entry.receiver,
       {name, static_cast<char *>(const_cast<void *>(data)), bytes});
  return c.sent++;
}

Transport::Ticket Loopback::receive(int32_t channel, MessageName name,
                                    void *data, int64_t bytes) {
  Channel &c = channels[channel];
  Entry &entry = c.entry(c.posted);
  post(c, entry, entry.receiver, entry.sender,
       {name, static_cast<char *>(data), bytes});
  return c.posted++;
}

void Loopback::waitSent(int32_t channel, Ticket ticket) {
  Channel &c = channels[channel];
  Entry &entry = c.entry(ticket);
  waitCopied(c, ticket, c.from,
             {Waiting::For::Release, c.to, entry.sender.posting.name});
  entry.done.holdBack(streamOf(ranks[c.from]));
}

void Loopback::waitReceived(int32_t channel, Ticket ticket) {
  Channel &c = channels[channel];
  Entry &entry = c.entry(ticket);
  waitCopied(c, ticket, c.to,
             {Waiting::For::Arrival, c.from, entry.receiver.posting.name});
  entry.done.holdBack(streamOf(ranks[c.to]));
}

//===----------------------------------------------------------------------===//
// Collectives.
//===----------------------------------------------------------------------===//

Loopback::Meeting::Meeting(const CollectiveParams &params, size_t numRanks)
    : parts(params), ranks(ranksOf(params)),
      stream(OwnedStream::Priority::Urgent), members(numRanks) {}

void Loopback::meet(Meeting &meeting, int32_t rank,
                    const std::function<void(const Stream &)> &work) {
  Meeting::Member &me = meeting.members[rank];
  me.ready.record(streamOf(ranks[rank]));
  {
    std::lock_guard<std::mutex> lock(waitingMutex);
    ++me.starts;
  }
  if (++meeting.arrived < meeting.ranks.size())
    return;
  const Stream stream = {meeting.stream.get(), nullptr};
  for (int32_t other : meeting.ranks)
    meeting.members[other].ready.holdBack(stream.handle);
  work(stream);
  meeting.done.record(stream.handle);
  meeting.arrived = 0;
  ++meeting.enqueued;
  changed.notify_all();
}

void Loopback::startSumParts(int32_t collective, int32_t rank) {
  Meeting &meeting = meetings[collective];
  meet(meeting, rank, [&](const Stream &stream) {
    const PartParams &first = firstContribution(meeting.parts);
    auto *sum = static_cast<float *>(first.data);
    for (const PartParams *part = &first + 1; part <= &meeting.parts.back();
         ++part)
      if (part->contributes)
        addTo(stream, sum, static_cast<const float *>(part->data), first.count);
    for (const PartParams &part : meeting.parts)
      if (&part != &first && part.count > 0)
        copy(part.data, sum, 4 * part.count, stream.handle);
  });
}

void Loopback::startAddAll(int32_t collective, int32_t rank, double *sum) {
  Meeting &meeting = meetings[collective];
  meeting.members[rank].sum = sum;
  meet(meeting, rank, [&](const Stream &stream) {
    RONDO_CUDA(cudaMemsetAsync(sum, 0, sizeof *sum, stream.handle));
    for (const PartParams &part : meeting.parts)
      addAllTo(stream, sum, static_cast<const double *>(part.data), part.count);
    for (int32_t other : meeting.ranks)
      if (other != rank)
        copy(meeting.members[other].sum, sum, sizeof *sum, stream.handle);
  });
}

/// Each piece goes from its rank to all others.
void Loopback::startGather(int32_t collective, int32_t rank, float *whole) {
  Meeting &meeting = meetings[collective];
  meeting.members[rank].whole = whole;
  meet(meeting, rank, [&](const Stream &stream) {
    const std::vector<PartParams> &parts = meeting.parts;
    for (size_t p = 0; p < parts.size(); ++p)
      for (const PartParams &other : parts)
        if (&other != &parts[p] && parts[p].count > 0)
          copy(meeting.pieceAt(other, p), meeting.pieceAt(parts[p], p),
               4 * meeting.elementsOfPiece(), stream.handle);
  });
}

/// In the memory of the first part's rank, as startSumParts().
void Loopback::startScatter(int32_t collective, int32_t rank, float *whole) {
  Meeting &meeting = meetings[collective];
  meeting.members[rank].whole = whole;
  meet(meeting, rank, [&](const Stream &stream) {
    const std::vector<PartParams> &parts = meeting.parts;
    const PartParams &first = parts.front();
    for (const PartParams &part : parts)
      if (&part != &first)
        addTo(stream, meeting.pieceAt(first, 0),
              static_cast<const float *>(meeting.pieceAt(part, 0)), part.count);
    for (size_t p = 1; p < parts.size(); ++p)
      if (parts[p].count > 0)
        copy(meeting.pieceAt(parts[p], p), meeting.pieceAt(first, p),
             4 * meeting.elementsOfPiece(), stream.handle);
  });
}

void Loopback::waitCollective(int32_t collective, int32_t rank) {
  Meeting &meeting = meetings[collective];
  Waiting waiting;
  waiting.what = Waiting::For::Collective;
  waiting.collective = collective;
  const uint64_t starts = meeting.members[rank].starts;
  waitFor(rank, waiting, [&] { return meeting.enqueued >= starts; });
  meeting.done.holdBack(streamOf(ranks[rank]));
}

//===----------------------------------------------------------------------===//
// Waiting for other threads.
//===----------------------------------------------------------------------===//

void Loopback::waitFor(int32_t rank, const Waiting &waiting,
                       const std::function<bool()> &isReady) {
  if (isReady())
    return;
  note(rank, waiting);
  Lock lock(turn, std::adopt_lock);
  while (!isReady() && !isAborted)
    changed.wait_for(lock, std::chrono::milliseconds(50));
  lock.release();
  if (!isReady())
    throw Aborted();
  note(rank, {});
}

void Loopback::letOthersWork(int32_t rank, const std::function<void()> &wait) {
  ranks[rank].turn.unlock();
  wait();
  ranks[rank].turn.lock();
}

void Loopback::note(int32_t rank, const Waiting &waiting) {
  std::lock_guard<std::mutex> lock(waitingMutex);
  ranks[rank].waiting = waiting;
}

void Loopback::abort() {
  isAborted = true;
  changed.notify_all();
}

Waiting Loopback::waiting(int32_t rank) const {
  std::lock_guard<std::mutex> lock(waitingMutex);
  Waiting waiting = ranks[rank].waiting;
  if (waiting.what != Waiting::For::Collective)
    return waiting;
  const Meeting &meeting = meetings[waiting.collective];
  for (int32_t other : meeting.ranks)
    if (waiting.onRank < 0 &&
        meeting.members[other].starts < meeting.members[rank].starts)
      waiting.onRank = other;
  return waiting;
}

std::unique_ptr<Transport> rondo::runtime::cuda::makeLoopbackTransport(
    const TransportParams &params, const std::vector<CudaDevice *> &devices,
    const TransportOptions &options) {
  return std::make_unique<Loopback>(params, devices, options.useGraph);
}

//===----------------------------------------------------------------------===//
// Iterations.
//===----------------------------------------------------------------------===//

bool Loopback::begin(int32_t rank, int32_t program, const Replay &replay) {
  Recording &recording = recordings[program];
  LocalRank &me = ranks[rank], &origin = ranks.front();
  me.device->enter();
  me.turn = Lock(turn);
  me.program = program;
  me.variant = replay.variant;
  const bool isWarm = recording.warm[static_cast<size_t>(rank)].has(me.variant);
  me.step =
      recording.graph.next(useGraph && replay.isAllowed && isWarm, me.variant);
  if (me.step == IterationGraph::Step::Enqueue) {
    me.device->beginIteration();
    beginIteration(me);
    return true;
  }
  const bool isFirst = recording.begun++ == 0;
  if (isFirst)
    origin.device->beginIteration();
  if (me.step == IterationGraph::Step::Replay) {
    if (isFirst)
      recording.graph.replay(streamOf(origin));
    me.hasLaunched = isFirst;
    return false;
  }
  if (isFirst) {
    // Threads take turns, and the last of them ends the recording.
    recording.graph.begin(streamOf(origin), cudaStreamCaptureModeRelaxed);
    start->record(streamOf(origin));
  }
  if (&me != &origin)
    start->holdBack(streamOf(me));
  beginIteration(me);
  return true;
}

void Loopback::end(int32_t rank) {
  LocalRank &me = ranks[rank];
  Recording &recording = recordings[me.program];
  if (me.step == IterationGraph::Step::Enqueue) {
    awaitIdle(me, me);
  } else {
    if (me.step == IterationGraph::Step::Record) {
      me.reached.record(streamOf(me));
      me.hasLaunched = ++recording.enqueued == recording.ranks;
      if (me.hasLaunched)
        endRecording(recording);
    }
    finishTogether(recording, me, me.hasLaunched);
  }
  recording.warm[static_cast<size_t>(rank)].add(me.variant);
  recording.graph.setHasRun();
  me.turn.unlock();
}

void Loopback::abandon(int32_t rank) {
  if (ranks[rank].turn.owns_lock())
    ranks[rank].turn.unlock();
}

/// Called by the last rank that has enqueued its part.
void Loopback::endRecording(Recording &recording) {
  LocalRank &origin = ranks.front();
  for (size_t r = 1; r < recording.ranks; ++r)
    ranks[r].reached.holdBack(streamOf(origin));
  for (Channel &c : channels) {
    if (c.from >= static_cast<int32_t>(recording.ranks) || c.sizes.isEmpty())
      continue;
    c.tail.record(c.stream.get());
    c.tail.holdBack(streamOf(origin));
  }
  recording.graph.end(streamOf(origin));
}

/// The rank's messages of the last iteration have been matched.
void Loopback::beginIteration(const LocalRank &me) {
  for (Channel &c : channels)
    if (c.from == me.device->rank())
      c.sizes.beginIteration();
}

/// All ranks leave once the GPU has finished what one of them launched.
void Loopback::finishTogether(Recording &recording, LocalRank &me,
                              bool hasLaunched) {
  if (hasLaunched) {
    awaitIdle(me, ranks.front());
    recording.isOver = true;
    changed.notify_all();
  }
  waitFor(me.device->rank(), {}, [&] { return recording.isOver; });
  if (++recording.left < recording.ranks)
    return;
  recording.begun = recording.enqueued = recording.left = 0;
  recording.isOver = false;
}

/// Waits in the thread of `me` for the stream of `other`: the GPU finishes what
/// has been enqueued without anyone's help.
void Loopback::awaitIdle(LocalRank &me, const LocalRank &other) {
  me.device->hasEnqueued();
  me.turn.unlock();
  cuda::awaitIdle(streamOf(other), [] {});
  me.turn.lock();
  if (isAborted)
    throw Aborted();
}

//===----------------------------------------------------------------------===//
// Measurements of the channels.
//===----------------------------------------------------------------------===//

/// Sends empty messages.
void Loopback::measureStart() {
  for (Channel &c : channels) {
    for (int i = 0; i < DeviceMeter::startMessages; ++i) {
      c.begun.stamp(c.stream.get(), 0);
      c.arrived.stamp(c.stream.get(), 0);
    }
    RONDO_CUDA(cudaStreamSynchronize(c.stream.get()));
    c.begun.keep(gpu);
    c.arrived.keep(gpu);
  }
}

std::vector<LinkFigures> Loopback::links() {
  std::vector<LinkFigures> all;
  if (!measures)
    return all;
  gpu.select();
  for (Channel &c : channels) {
    RONDO_CUDA(cudaStreamSynchronize(c.stream.get()));
    // On a GPU a message begins when its stream has waited for both ends.
    const std::vector<DeviceStamp> begun = c.begun.take(gpu);
    c.meter.add(begun, begun, c.arrived.take(gpu));
    all.push_back(c.meter.figures(c.from, c.to));
  }
  return all;
}
