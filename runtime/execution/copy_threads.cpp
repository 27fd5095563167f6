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
// The lists of the lanes.
//===----------------------------------------------------------------------===//

CopyThreads::CopyThreads(const RankContext &context, const Messages &messages,
                         HostLinks *links)
    : context(context), links(links) {
  const RankCopiesDesc &desc = context.program.copies[context.rank];
  lanes.resize(desc.isHalf ? 1 : 2);
  for (int32_t c = 0; c < desc.numCopies; ++c)
    addCopy(desc.copies[c], messages);
  for (int32_t w = 0; w < desc.numWaits; ++w) {
    const LaneWaitDesc &wait = desc.waits[w];
    const int32_t waiting = nodeOf(wait.kind, wait.replica, wait.microbatch),
                  awaited = nodeOf(wait.awaitedKind, wait.awaitedReplica,
                                   wait.awaitedMicrobatch);
    nodes[waiting].awaited.push_back(awaited);
  }
  copyOf.assign(nodes.size(), -1);
  for (size_t c = 0; c < copies.size(); ++c)
    copyOf[copies[c].node] = static_cast<int32_t>(c);
  for (const std::vector<int32_t> &lane : lanes)
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

int32_t CopyThreads::nodeOf(ActionKind kind, int32_t replica,
                            int32_t microbatch) {
  const auto [known, isNew] = numbers.try_emplace(
      keyOf(kind, replica, microbatch), static_cast<int32_t>(nodes.size()));
  if (isNew)
    nodes.push_back({kind, replica, microbatch, {}});
  return known->second;
}

void CopyThreads::addCopy(const CopyDesc &desc, const Messages &messages) {
  const bool isSave = desc.kind == ActionKind::Save;
  Copy copy;
  copy.node = nodeOf(desc.kind, desc.replica, desc.microbatch);
  const ShareDesc &share = context.program.shares[desc.replica];
  auto at = [&](Buffer buffer) {
    return messages.place(desc.replica, buffer).at(desc.microbatch);
  };
  char *host = at(Buffer::OnHost);
  const Buffer parts[] = {
      isSave ? Buffer::OffloadedForInputGrad : Buffer::LoadedForInputGrad,
      isSave ? Buffer::OffloadedForWeightGrad : Buffer::LoadedForWeightGrad};
  for (int part = 0; part < 2; ++part) {
    copy.device[part] = at(parts[part]);
    copy.host[part] = host;
    copy.bytes[part] = share.bytes[static_cast<int>(parts[part])];
    if (copy.bytes[part] > 0 && (!host || !copy.device[part]))
      throw Error("the program of rank " + std::to_string(context.rank) +
                  " has no memory for " +
                  actionName(desc.kind, Message::None,
                             context.stageOf(desc.replica), desc.microbatch));
    host = runtime::at(host, copy.bytes[part]);
  }
  lanes[isSave || lanes.size() == 1 ? 0 : 1].push_back(
      static_cast<int32_t>(copies.size()));
  copies.push_back(copy);
}

const CopyThreads::Copy *CopyThreads::findCopy(ActionKind kind, int64_t replica,
                                               int64_t microbatch) const {
  const auto found = numbers.find(keyOf(kind, replica, microbatch));
  return found == numbers.end() || copyOf[found->second] < 0
             ? nullptr
             : &copies[copyOf[found->second]];
}

//===----------------------------------------------------------------------===//
// An iteration.
//===----------------------------------------------------------------------===//

int32_t CopyThreads::openOf(const Node &node) const {
  for (int32_t awaited : node.awaited)
    if (!nodes[awaited].hasEnded)
      return awaited;
  return -1;
}

void CopyThreads::begin(bool traces) {
  if (copies.empty())
    return;
  {
    std::lock_guard<std::mutex> lock(mutex);
    for (Node &node : nodes)
      node.hasEnded = false;
    isTraced = traces;
    numDone = 0;
    ++round;
  }
  changed.notify_all();
}

bool CopyThreads::await(ActionKind kind, int64_t replica, int64_t microbatch) {
  if (copies.empty())
    return false;
  const auto found = numbers.find(keyOf(kind, replica, microbatch));
  if (found == numbers.end() || nodes[found->second].awaited.empty())
    return false;
  std::unique_lock<std::mutex> lock(mutex);
  const Node &node = nodes[found->second];
  changed.wait(lock, [&] {
    waiting = openOf(node);
    return waiting < 0 || isAborted;
  });
  if (isAborted)
    throw Aborted();
  return true;
}

void CopyThreads::ended(ActionKind kind, int64_t replica, int64_t microbatch) {
  if (copies.empty())
    return;
  const auto found = numbers.find(keyOf(kind, replica, microbatch));
  if (found == numbers.end())
    return;
  {
    std::lock_guard<std::mutex> lock(mutex);
    nodes[found->second].hasEnded = true;
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
    for (const int32_t number : lane) {
      Copy &copy = copies[number];
      Node &node = nodes[copy.node];
      changed.wait(lock, [&] { return isStopping || openOf(node) < 0; });
      if (isStopping)
        return;
      lock.unlock();
      run(copy);
      lock.lock();
      node.hasEnded = true;
      numEnded.fetch_add(1, std::memory_order_relaxed);
      changed.notify_all();
    }
    if (isStopping)
      return;
    ++numDone;
    changed.notify_all();
  }
}

void CopyThreads::run(Copy &copy) {
  const Node &node = nodes[copy.node];
  const bool isSave = node.kind == ActionKind::Save;
  auto move = [&] {
    for (int part = 0; part < 2; ++part) {
      char *from = isSave ? copy.device[part] : copy.host[part],
           *to = isSave ? copy.host[part] : copy.device[part];
      if (copy.bytes[part] == 0)
        continue;
      std::memcpy(to, from, static_cast<size_t>(copy.bytes[part]));
      // A task that reads a slot after its SAVE gets NaNs.
      if (context.state.isPoisoned())
        std::memset(from, 0xff, static_cast<size_t>(copy.bytes[part]));
    }
  };
  if (isTraced)
    copy.startNs = nowNs();
  if (links)
    links->carry(context.rank, node.kind, copy.bytes[0] + copy.bytes[1], move);
  else
    move();
  if (isTraced)
    copy.endNs = nowNs();
}

void CopyThreads::finish(std::vector<TraceEvent> &trace, int64_t iteration) {
  if (copies.empty())
    return;
  std::unique_lock<std::mutex> lock(mutex);
  changed.wait(lock, [&] { return numDone == lanes.size() || isAborted; });
  if (isAborted)
    throw Aborted();
  for (const Copy &copy : isTraced ? copies : std::vector<Copy>()) {
    const Node &node = nodes[copy.node];
    trace.push_back({Traced::Action, node.kind, Message::None,
                     context.program.id, node.replica,
                     context.stageOf(node.replica), node.microbatch, -1, -1,
                     iteration, copy.startNs, copy.endNs});
  }
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
  if (waiting < 0)
    return "";
  const Node &node = nodes[waiting];
  return actionName(node.kind, Message::None, context.stageOf(node.replica),
                    node.microbatch);
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
