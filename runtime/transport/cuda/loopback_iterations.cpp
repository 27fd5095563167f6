//===- loopback_iterations.cpp - Iterations of ranks on one GPU -----------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "runtime/transport/cuda/loopback.h"

#include "runtime/transport/cuda/idle.h"

using namespace rondo::runtime;
using namespace rondo::runtime::cuda;

void Loopback::iterateProgram(int32_t program, int32_t rank, bool mayReplay,
                              const std::function<void()> &actions) {
  Recording &recording = recordings[program];
  LocalRank &me = ranks[rank];
  me.device->enter();
  Lock lock(turn);
  if (!useGraph || !mayReplay || !recording.isWarm[rank])
    runActions(recording, me, lock, actions);
  else if (!recording.hasRecorded[rank])
    record(recording, me, lock, actions);
  else
    replay(recording, me, lock);
}

void Loopback::runActions(Recording &recording, LocalRank &me, Lock &lock,
                          const std::function<void()> &actions) {
  me.device->beginIteration();
  beginIteration(me);
  actions();
  awaitIdle(me, me, lock);
  recording.isWarm[me.device->rank()] = true;
}

void Loopback::record(Recording &recording, LocalRank &me, Lock &lock,
                      const std::function<void()> &actions) {
  LocalRank &origin = ranks.front();
  if (recording.begun++ == 0) {
    origin.device->beginIteration();
    // Threads take turns, and the last of them ends the recording.
    recording.graph.begin(streamOf(origin), cudaStreamCaptureModeRelaxed);
    start->record(streamOf(origin));
  }
  if (&me != &origin)
    start->holdBack(streamOf(me));
  beginIteration(me);
  actions();
  me.reached.record(streamOf(me));
  recording.hasRecorded[me.device->rank()] = true;
  const bool isLast = ++recording.enqueued == recording.ranks;
  if (isLast) {
    for (size_t r = 1; r < recording.ranks; ++r)
      ranks[r].reached.holdBack(streamOf(origin));
    for (Channel &c : channels) {
      if (c.from >= static_cast<int32_t>(recording.ranks) || c.sizes.isEmpty())
        continue;
      c.tail.record(c.stream.get());
      c.tail.holdBack(streamOf(origin));
    }
    recording.graph.end();
    recording.graph.launch(streamOf(origin));
  }
  finishTogether(recording, me, isLast, lock);
}

/// The rank's messages of the last iteration have been matched.
void Loopback::beginIteration(const LocalRank &me) {
  for (Channel &c : channels)
    if (c.from == me.device->rank())
      c.sizes.beginIteration();
}

void Loopback::replay(Recording &recording, LocalRank &me, Lock &lock) {
  LocalRank &origin = ranks.front();
  const bool isFirst = recording.begun++ == 0;
  if (isFirst) {
    origin.device->beginIteration();
    recording.graph.launch(streamOf(origin));
  }
  finishTogether(recording, me, isFirst, lock);
}

/// All ranks leave once the GPU has finished what one of them launched.
void Loopback::finishTogether(Recording &recording, LocalRank &me,
                              bool hasLaunched, Lock &lock) {
  if (hasLaunched) {
    awaitIdle(me, ranks.front(), lock);
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
void Loopback::awaitIdle(LocalRank &me, const LocalRank &other, Lock &lock) {
  me.device->hasEnqueued();
  lock.unlock();
  cuda::awaitIdle(streamOf(other), [] {});
  lock.lock();
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
