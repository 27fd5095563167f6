//===- copy_threads.cpp - Copies to the host and back, in threads ---------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "runtime/execution/copy_threads.h"

#include "runtime/base/error.h"
#include "runtime/device/host_link.h"

#include <algorithm>
#include <cstring>
#include <sys/prctl.h>

using namespace rondo;
using namespace rondo::runtime;

//===----------------------------------------------------------------------===//
// The threads of the lanes.
//===----------------------------------------------------------------------===//

CopyThreads::CopyThreads(const RankContext &context, const Messages &messages,
                         HostLinks *links)
    : context(context), links(links), list(context, messages),
      hasEnded(list.nodes().size()), times(list.copies().size()),
      entering(list.lanes().size(), -1) {
  for (size_t lane = 0; lane < list.lanes().size(); ++lane)
    threads.emplace_back([this, lane] { work(lane); });
}

CopyThreads::~CopyThreads() { stopThreads(); }

void CopyThreads::stopThreads() {
  {
    std::lock_guard<std::mutex> lock(mutex);
    isStopping = true;
  }
  changed.notify_all();
  for (std::thread &thread : threads)
    thread.join();
  threads.clear();
}

//===----------------------------------------------------------------------===//
// An iteration.
//===----------------------------------------------------------------------===//

int32_t CopyThreads::openOf(int32_t node) const {
  for (int32_t awaited : list.nodes()[node].awaited)
    if (!hasEnded[awaited])
      return awaited;
  return -1;
}

void CopyThreads::begin(bool traces) {
  {
    std::lock_guard<std::mutex> lock(mutex);
    hasEnded.assign(hasEnded.size(), false);
    isTraced = traces;
    numDone = 0;
    isFinishing = false;
    ++round;
    if (links)
      links->begin(context.rank, context.program);
  }
  changed.notify_all();
}

bool CopyThreads::await(ActionKind kind, int64_t replica, int64_t microbatch) {
  const int32_t node = list.findNode(kind, replica, microbatch);
  if (node < 0 || list.nodes()[node].awaited.empty())
    return false;
  std::unique_lock<std::mutex> lock(mutex);
  blockRank(lock, [&] {
    waiting = openOf(node);
    return waiting < 0 || isAborted;
  });
  return true;
}

void CopyThreads::blockRank(std::unique_lock<std::mutex> &lock,
                            const std::function<bool()> &isReady) {
  if (!isReady())
    block(lock, isReady);
  if (failure)
    std::rethrow_exception(failure);
  if (isAborted)
    throw Aborted();
}

void CopyThreads::ended(ActionKind kind, int64_t replica, int64_t microbatch) {
  const int32_t node = list.findNode(kind, replica, microbatch);
  if (node < 0)
    return;
  {
    std::lock_guard<std::mutex> lock(mutex);
    hasEnded[node] = true;
  }
  changed.notify_all();
}

size_t CopyThreads::laneOf(int32_t copy) const {
  const std::vector<std::vector<int32_t>> &lanes = list.lanes();
  return std::find_if(lanes.begin(), lanes.end(),
                      [&](const std::vector<int32_t> &lane) {
                        return std::find(lane.begin(), lane.end(), copy) !=
                               lane.end();
                      }) -
         lanes.begin();
}

/// A thread of a lane.
void CopyThreads::work(size_t number) {
  // Otherwise sleeps of imposed links would end 50 us late.
  prctl(PR_SET_TIMERSLACK, 1000UL, 0, 0, 0);
  uint64_t seen = 0;
  std::unique_lock<std::mutex> lock(mutex);
  for (;;) {
    changed.wait(lock, [&] { return isStopping || round != seen; });
    seen = round;
    for (const int32_t copy : list.lanes()[number]) {
      const int32_t node = list.copies()[copy].node;
      changed.wait(lock, [&] { return isStopping || openOf(node) < 0; });
      if (isStopping)
        return;
      entering[number] = copy;
      lock.unlock();
      bool hasRun = false;
      std::exception_ptr why;
      try {
        hasRun = run(number, copy);
      } catch (...) {
        why = std::current_exception();
      }
      lock.lock();
      entering[number] = -1;
      if (why) {
        failure = why;
        isAborted = true;
        changed.notify_all();
      }
      if (!hasRun)
        return;
      hasEnded[node] = true;
      changed.notify_all();
      lock.unlock();
      leave(copy);
      numEnded.fetch_add(1, std::memory_order_relaxed);
      lock.lock();
    }
    if (isStopping)
      return;
    ++numDone;
    changed.notify_all();
  }
}

bool CopyThreads::run(size_t, int32_t number) {
  const CopyList::Copy &copy = list.copies()[number];
  const HostLinks::Copy turn = onLink(number);
  if (links && !links->enter(turn))
    return false;
  const int64_t beginNs = links || isTraced ? nowNs() : 0;
  for (int part = 0; part < 2; ++part) {
    const auto bytes = static_cast<size_t>(copy.bytes[part]);
    if (bytes == 0)
      continue;
    std::memcpy(copy.to(part), copy.from(part), bytes);
    // A task that reads a slot after its SAVE gets NaNs.
    if (context.state.isPoisoned())
      std::memset(copy.from(part), 0xff, bytes);
  }
  if (links)
    links->impose(turn, copy.bytes[0] + copy.bytes[1], beginNs);
  if (isTraced)
    times[number] = {beginNs, nowNs()};
  return true;
}

void CopyThreads::leave(int32_t number) {
  if (links)
    links->leave(onLink(number));
}

void CopyThreads::finish(std::vector<TraceEvent> &trace, int64_t iteration) {
  std::unique_lock<std::mutex> lock(mutex);
  isFinishing = true;
  blockRank(lock, [&] { return numDone == list.lanes().size() || isAborted; });
  isFinishing = false;
  for (size_t c = 0; isTraced && c < times.size(); ++c)
    trace.push_back(list.eventOf(list.copies()[c], iteration, times[c].startNs,
                                 times[c].endNs));
}

void CopyThreads::abort() {
  {
    std::lock_guard<std::mutex> lock(mutex);
    isAborted = true;
  }
  changed.notify_all();
  if (links)
    links->stop();
}

void CopyThreads::check() const {
  std::lock_guard<std::mutex> lock(mutex);
  if (failure)
    std::rethrow_exception(failure);
}

CopyWait CopyThreads::waitsFor() const {
  std::lock_guard<std::mutex> lock(mutex);
  int32_t node = waiting;
  for (const CopyList::Copy &copy : list.copies())
    if (isFinishing && node < 0 && !hasEnded[copy.node])
      node = copy.node;
  if (node < 0)
    return {};
  CopyWait wait{list.nameOf(node)};
  // Goes on to the copy that keeps it waiting, up to one that waits for its
  // turn.
  for (size_t n = 0; links && n < list.copies().size(); ++n) {
    const int32_t copy = list.copyOn(node);
    if (copy < 0)
      break;
    const size_t lane = laneOf(copy);
    const std::vector<int32_t> &copies = list.lanes()[lane];
    const auto next =
        std::find_if(copies.begin(), copies.end(), [&](int32_t c) {
          return !hasEnded[list.copies()[c].node];
        });
    if (next == copies.end())
      break;
    const int32_t first = list.copies()[*next].node;
    if (entering[lane] != *next) {
      node = openOf(first);
      if (node < 0)
        break;
      continue;
    }
    const CopyWait turn = links->waitOf(onLink(*next));
    if (!turn.text.empty()) {
      wait.text += ": " + list.nameOf(first) + " waits for " + turn.text;
      wait.onRank = turn.onRank;
    }
    break;
  }
  return wait;
}

const CopySupport rondo::runtime::activationCopies = {
    [](const RankContext &context, const Messages &messages,
       HostLinks *links) -> std::unique_ptr<CopyRunner> {
      return std::make_unique<CopyThreads>(context, messages, links);
    },
    connectHostLinks, writeHostLink};
