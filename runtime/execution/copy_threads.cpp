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
  return &shared[link.laneOfShared(kind)];
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
// Orders of copies over shared links.
//===----------------------------------------------------------------------===//

CopyTurns::CopyTurns(const Executable &executable, const ProgramDesc &program) {
  for (int32_t r = 0; r < program.numRanks; ++r)
    for (int32_t c = 0; c < program.copies[r].numCopies; ++c) {
      const CopyDesc &copy = program.copies[r].copies[c];
      if (copy.turn < 0)
        continue;
      const size_t lane = executable.hostLinks[r].laneOfShared(copy.kind);
      lanes.resize(std::max(lanes.size(), lane + 1));
      ++lanes[lane].count;
    }
}

bool CopyTurns::enter(size_t number, int64_t iteration, int32_t turn) {
  std::unique_lock<std::mutex> lock(mutex);
  Lane &lane = lanes[number];
  changed.wait(lock, [&] {
    return isStopped || lane.ended == iteration * lane.count + turn;
  });
  return !isStopped;
}

void CopyTurns::leave(size_t lane) {
  {
    std::lock_guard<std::mutex> lock(mutex);
    ++lanes[lane].ended;
  }
  changed.notify_all();
}

void CopyTurns::stop() {
  {
    std::lock_guard<std::mutex> lock(mutex);
    isStopped = true;
  }
  changed.notify_all();
}

static std::shared_ptr<CopyTurns> makeTurns(const Executable &executable,
                                            const ProgramDesc &program,
                                            const World &world) {
  for (int32_t r = 0; program.copies && r < program.numRanks; ++r)
    for (int32_t c = 0; c < program.copies[r].numCopies; ++c)
      if (program.copies[r].copies[c].turn >= 0) {
        if (!world.isAlone())
          throw Error("the schedule of '" + std::string(program.name) +
                          "' has a copy order for the host link that rank " +
                          std::to_string(r) +
                          " shares, which processes cannot keep among each "
                          "other: run all ranks in one process, or leave out "
                          "pipe.copy_order",
                      Exit::Usage);
        return std::make_shared<CopyTurns>(executable, program);
      }
  return nullptr;
}

//===----------------------------------------------------------------------===//
// The threads of the lanes.
//===----------------------------------------------------------------------===//

CopyThreads::CopyThreads(const RankContext &context, const Messages &messages,
                         HostLinks *links, CopyTurns *turns)
    : context(context), links(links), turns(turns), list(context, messages),
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
  if (turns)
    turns->stop();
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
      const bool hasRun = run(copy, static_cast<int64_t>(seen) - 1);
      lock.lock();
      if (!hasRun)
        return;
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

bool CopyThreads::run(int32_t number, int64_t iteration) {
  const CopyList::Copy &copy = list.copies()[number];
  const ActionKind kind = list.nodes()[copy.node].kind;
  const bool hasTurn = turns && copy.turn >= 0;
  const size_t lane =
      hasTurn ? context.state.executable().hostLinks[context.rank].laneOfShared(
                    kind)
              : 0;
  if (hasTurn && !turns->enter(lane, iteration, copy.turn))
    return false;
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
    links->carry(context.rank, kind, copy.bytes[0] + copy.bytes[1], move);
  else
    move();
  if (isTraced)
    times[number].endNs = nowNs();
  if (hasTurn)
    turns->leave(lane);
  return true;
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
  if (turns)
    turns->stop();
}

std::string CopyThreads::waitsFor() const {
  std::lock_guard<std::mutex> lock(mutex);
  return waiting < 0 ? "" : list.nameOf(waiting);
}

const CopySupport rondo::runtime::activationCopies = {
    [](const RankContext &context, const Messages &messages, HostLinks *links,
       CopyTurns *turns) -> std::unique_ptr<CopyRunner> {
      return std::make_unique<CopyThreads>(context, messages, links, turns);
    },
    makeTurns,
    [](const Executable &executable, const World &world) {
      return std::make_shared<HostLinks>(executable, world);
    },
    writeHostLink};
