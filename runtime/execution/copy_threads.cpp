//===- copy_threads.cpp - Copies to the host and back, in threads ---------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "runtime/execution/copy_threads.h"

#include "runtime/base/error.h"
#include "runtime/device/host_link.h"

#include <cstring>
#include <sys/prctl.h>

using namespace rondo;
using namespace rondo::runtime;

//===----------------------------------------------------------------------===//
// Imposed links.
//===----------------------------------------------------------------------===//

HostLinks::HostLinks(const Executable &executable, const World &world)
    : executable(executable) {
  for (int32_t r = 0; executable.hostLinks && r < executable.numRanks; ++r) {
    const HostLinkDesc &link = executable.hostLinks[r];
    if (link.shared < 0)
      continue;
    if (!world.isAlone())
      throw Error("rank " + std::to_string(r) +
                  " shares its link to the host with other ranks, which cannot "
                  "be imposed between processes; run all ranks in one process");
    while (shared.size() < 2 * static_cast<size_t>(link.shared) + 2)
      shared.emplace_back();
  }
}

void HostLinks::Turns::enter() {
  std::unique_lock<std::mutex> lock(mutex);
  const int64_t own = last++;
  next.wait(lock, [&] { return now == own; });
}

void HostLinks::Turns::leave() {
  {
    std::lock_guard<std::mutex> lock(mutex);
    ++now;
  }
  next.notify_all();
}

HostLinks::Turns *HostLinks::turnsOf(int32_t rank, ActionKind kind) {
  const HostLinkDesc &link = executable.hostLinks[rank];
  if (link.shared < 0)
    return nullptr;
  return &shared[2 * static_cast<size_t>(link.shared) +
                 (kind == ActionKind::Load && !link.isSharedHalf)];
}

template <typename Copy>
void HostLinks::carry(int32_t rank, ActionKind kind, int64_t bytes, Copy copy) {
  Turns *turns = turnsOf(rank, kind);
  if (turns)
    turns->enter();
  const int64_t begin = nowNs();
  copy();
  const HostLinkDesc &link = executable.hostLinks[rank];
  int64_t ns = link.latencyNs;
  if (link.bytesPerUs > 0)
    ns += (1000 * bytes + link.bytesPerUs - 1) / link.bytesPerUs;
  sleepUntil(begin + ns);
  if (turns)
    turns->leave();
}

//===----------------------------------------------------------------------===//
// The threads of the lanes.
//===----------------------------------------------------------------------===//

CopyThreads::CopyThreads(const RankContext &context, const Messages &messages,
                         HostLinks *links)
    : context(context), links(links), list(context, messages),
      hasEnded(list.nodes().size()), times(list.copies().size()) {
  for (const std::vector<int32_t> &lane : list.lanes())
    threads.emplace_back([this, &lane] { work(lane); });
}

CopyThreads::~CopyThreads() {
  {
    std::lock_guard<std::mutex> lock(mutex);
    isStopping = true;
  }
  changed.notify_all();
  for (std::thread &thread : threads)
    thread.join();
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
    ++round;
  }
  changed.notify_all();
}

bool CopyThreads::await(ActionKind kind, int64_t replica, int64_t microbatch) {
  const int32_t node = list.findNode(kind, replica, microbatch);
  if (node < 0 || list.nodes()[node].awaited.empty())
    return false;
  std::unique_lock<std::mutex> lock(mutex);
  changed.wait(lock, [&] {
    waiting = openOf(node);
    return waiting < 0 || isAborted;
  });
  if (isAborted)
    throw Aborted();
  return true;
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

/// A thread of a lane.
void CopyThreads::work(const std::vector<int32_t> &lane) {
  // Otherwise sleeps of imposed links would end 50 us late.
  prctl(PR_SET_TIMERSLACK, 1000UL, 0, 0, 0);
  uint64_t seen = 0;
  std::unique_lock<std::mutex> lock(mutex);
  for (;;) {
    changed.wait(lock, [&] { return isStopping || round != seen; });
    seen = round;
    for (const int32_t copy : lane) {
      const int32_t node = list.copies()[copy].node;
      changed.wait(lock, [&] { return isStopping || openOf(node) < 0; });
      if (isStopping)
        return;
      lock.unlock();
      run(copy);
      lock.lock();
      hasEnded[node] = true;
      numEnded.fetch_add(1, std::memory_order_relaxed);
      changed.notify_all();
    }
    if (isStopping)
      return;
    ++numDone;
    changed.notify_all();
  }
}

void CopyThreads::run(int32_t number) {
  const CopyList::Copy &copy = list.copies()[number];
  auto move = [&] {
    for (int part = 0; part < 2; ++part) {
      const auto bytes = static_cast<size_t>(copy.bytes[part]);
      if (bytes == 0)
        continue;
      std::memcpy(copy.to(part), copy.from(part), bytes);
      // A task that reads a slot after its SAVE gets NaNs.
      if (context.state.isPoisoned())
        std::memset(copy.from(part), 0xff, bytes);
    }
  };
  if (isTraced)
    times[number].startNs = nowNs();
  if (links)
    links->carry(context.rank, list.nodes()[copy.node].kind,
                 copy.bytes[0] + copy.bytes[1], move);
  else
    move();
  if (isTraced)
    times[number].endNs = nowNs();
}

void CopyThreads::finish(std::vector<TraceEvent> &trace, int64_t iteration) {
  std::unique_lock<std::mutex> lock(mutex);
  changed.wait(lock,
               [&] { return numDone == list.lanes().size() || isAborted; });
  if (isAborted)
    throw Aborted();
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
}

std::string CopyThreads::waitsFor() const {
  std::lock_guard<std::mutex> lock(mutex);
  return waiting < 0 ? "" : list.nameOf(waiting);
}

const CopySupport rondo::runtime::activationCopies = {
    [](const RankContext &context, const Messages &messages,
       HostLinks *links) -> std::unique_ptr<CopyRunner> {
      return std::make_unique<CopyThreads>(context, messages, links);
    },
    [](const Executable &executable, const World &world) {
      return std::make_shared<HostLinks>(executable, world);
    },
    writeHostLink};
