//===- loopback_iterations.cpp - Iterations of ranks on one GPU -----------===//

#include "runtime/transport/cuda/loopback.h"

#include "runtime/transport/cuda/idle.h"

using namespace rondo::runtime;
using namespace rondo::runtime::cuda;

void Loopback::iterate(int32_t rank, bool mayReplay,
                       const std::function<void()> &actions) {
  LocalRank &me = ranks[rank];
  me.device->enter();
  Lock lock(turn);
  if (!useGraph || !mayReplay || !me.isWarm)
    runActions(me, lock, actions);
  else if (!me.hasRecorded)
    record(me, lock, actions);
  else
    replay(me, lock);
}

void Loopback::runActions(LocalRank &me, Lock &lock,
                          const std::function<void()> &actions) {
  me.device->beginIteration();
  actions();
  awaitIdle(me, me, lock);
  me.isWarm = true;
}

void Loopback::record(LocalRank &me, Lock &lock,
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

void Loopback::replay(LocalRank &me, Lock &lock) {
  LocalRank &origin = ranks.front();
  const bool isFirst = begun++ == 0;
  if (isFirst) {
    origin.device->beginIteration();
    graph.launch(streamOf(origin));
  }
  finishTogether(me, isFirst, lock);
}

/// All ranks leave once the GPU has ended what one of them launched.
void Loopback::finishTogether(LocalRank &me, bool hasLaunched, Lock &lock) {
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
