//===- ScheduleCopies.cpp - Copies to and from hosts in simulation --------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Each copy lane of a rank runs its copies in the order of the list. Copies
// over shared host links ask for the link when they are ready; a link without a
// copy order is granted once all ranks are blocked, to the copy that was ready
// first.
//
//===----------------------------------------------------------------------===//

#include "schedule/simulate/ScheduleExecution.h"

#include <algorithm>

using namespace rondo;
using namespace rondo::schedule_execution;

void Execution::makeCopies() {
  copyWaits = deriveCopyWaits(problem, schedule);
  copyLanes.resize(schedule.numRanks());
  for (int32_t r = 0; r < schedule.numRanks(); ++r) {
    const ActionRange order = schedule.rank(r);
    for (int64_t i = 0; i < order.size(); ++i)
      if (const ActionKind kind = order[i].kind(); isCopy(kind))
        copyLanes[r][copyLaneOf(r, kind)].positions.push_back(
            schedule.rankBegin(r) + i);
  }
  hostLinks.resize(problem.hostMemory.shared.size());
  for (const auto &[link, listed] : schedule.copyOrders) {
    HostLinkState &state = hostLinks[link];
    state.isOrdered = true;
    for (Action action : listed)
      state.order[directionOf(link, action.kind())].push_back(action);
  }
}

int64_t Execution::awaitedNs(int64_t position, const Simulation &result) const {
  int64_t ns = 0;
  for (int64_t i = copyWaits.begin[position]; i < copyWaits.begin[position + 1];
       ++i) {
    const int64_t end = result.endNs[copyWaits.awaited[i]];
    if (end == notMade)
      return notMade;
    ns = std::max(ns, end);
  }
  return ns;
}

/// Runs the copies of a rank that can begin.
void Execution::runCopies(int32_t rank, Simulation &result) {
  for (bool isNew = true; isNew;) {
    isNew = false;
    for (int lane : {0, 1})
      while (runNextCopy(rank, lane, result))
        isNew = true;
  }
}

/// Runs the next copy of a lane, or asks for its shared link. Returns whether
/// it has run.
bool Execution::runNextCopy(int32_t r, int number, Simulation &result) {
  CopyLane &lane = copyLanes[r][number];
  if (lane.isDone() || lane.hasAsked)
    return false;
  const int64_t position = lane.positions[lane.next];
  const int64_t awaited = awaitedNs(position, result);
  if (awaited == notMade)
    return false;
  const int64_t readyNs = std::max(lane.freeNs, awaited);
  if (const int32_t link = problem.hostMemory.sharedLink(r); link >= 0) {
    HostLinkState &state = hostLinks[link];
    if (!state.isOrdered) {
      lane.hasAsked = true;
      copyRequests.push({readyNs, r, number});
      return false;
    }
    const Action action = schedule.all()[position];
    const int direction = directionOf(link, action.kind());
    if (state.order[direction][state.next[direction]] != action)
      return false;
    ++state.next[direction];
  }
  runCopy(r, number, readyNs, result);
  return true;
}

/// Runs the next copy of a lane as soon as its shared link is free.
void Execution::runCopy(int32_t r, int number, int64_t readyNs,
                        Simulation &result) {
  CopyLane &lane = copyLanes[r][number];
  const int64_t position = lane.positions[lane.next++];
  const Action action = schedule.all()[position];
  const ActionKind kind = action.kind();
  const int32_t link = problem.hostMemory.sharedLink(r);
  int64_t start = readyNs;
  if (link >= 0)
    start = std::max(start, hostLinks[link].freeNs[directionOf(link, kind)]);
  const int64_t end = start + problem.cost(action.subject, kind).ns;
  result.startNs[position] = start;
  result.endNs[position] = end;
  lane.freeNs = end;
  lane.hasAsked = false;
  otherClocks[r][static_cast<int>(Lane::CopyOut) + number] = end;
  wake(r, blockedByCopy);
  if (link < 0)
    return;
  HostLinkState &state = hostLinks[link];
  const int direction = directionOf(link, kind);
  state.freeNs[direction] = end;
  // The next copy of the order may be another rank's.
  if (state.isOrdered && state.next[direction] < state.order[direction].size())
    worklist.push_back(
        problem.rankOf(state.order[direction][state.next[direction]].subject));
}

void Execution::grantHostLink(Simulation &result) {
  const CopyRequest request = copyRequests.top();
  copyRequests.pop();
  runCopy(request.rank, request.lane, request.readyNs, result);
  runCopies(request.rank, result);
}

/// The most bytes that a rank holds at an instant of the run.
int64_t Execution::heldWithoutCap(int32_t r, const Simulation &result) const {
  // At the same time, releases come first: their bytes are negative.
  std::vector<std::pair<int64_t, int64_t>> changes;
  for (int64_t i = schedule.rankBegin(r); i < schedule.rankBegin(r + 1); ++i) {
    const Action action = schedule.all()[i];
    const Cost &cost = problem.cost(action.subject, action.kind());
    const auto count = static_cast<int64_t>(action.count);
    if (cost.acquireBytes > 0)
      changes.push_back({result.startNs[i], cost.acquireBytes * count});
    if (cost.releaseBytes > 0)
      changes.push_back({result.endNs[i], -cost.releaseBytes * count});
  }
  std::sort(changes.begin(), changes.end());
  int64_t held = 0, peak = 0;
  for (const auto &[ns, bytes] : changes) {
    held += bytes;
    peak = std::max(peak, held);
  }
  return peak;
}

void Execution::summarizeCopies(Simulation &result) const {
  result.peakBytes = copyWaits.peakBytes;
  for (int32_t r = 0; r < schedule.numRanks(); ++r)
    if (problem.memoryCaps[r] == noMemoryCap)
      result.peakBytes[r] = heldWithoutCap(r, result);
  result.peakHostBytes = copyWaits.peakHostBytes;
}

/// The members of the cycle are lanes, each waiting for the next.
std::vector<Wait> Execution::findCopyCycle(const Simulation &result) const {
  constexpr int lanesPerRank = 3; // compute, and the two lanes of copies
  const auto nodeOf = [&](int32_t rank, Action action) {
    return lanesPerRank * rank +
           (isCopy(action.kind()) ? 1 + copyLaneOf(rank, action.kind()) : 0);
  };
  std::vector<int32_t> next(lanesPerRank * ranks.size(), -1);
  std::vector<Wait> waits(next.size());
  int32_t first = -1;
  for (auto node = static_cast<int32_t>(next.size()); node-- > 0;) {
    const int32_t r = node / lanesPerRank;
    const bool isCompute = node % lanesPerRank == 0;
    const CopyLane &lane =
        copyLanes[r][isCompute ? 0 : node % lanesPerRank - 1];
    if (isCompute ? ranks[r].position == ranks[r].end : lane.isDone())
      continue;
    first = node;
    const int64_t position =
        isCompute ? ranks[r].position : lane.positions[lane.next];
    Wait &wait = waits[node];
    wait.rank = wait.onRank = r;
    wait.at = wait.needs = schedule.all()[position];
    const auto begin = copyWaits.awaited.begin() + copyWaits.begin[position],
               end = copyWaits.awaited.begin() + copyWaits.begin[position + 1];
    const auto open = std::find_if(
        begin, end, [&](int64_t i) { return result.endNs[i] == notMade; });
    const int32_t link = problem.hostMemory.sharedLink(r);
    if (isCompute && ranks[r].blocked != blockedByCopy) {
      wait = waitOf(r);
    } else if (open != end) {
      wait.needs = schedule.all()[*open];
    } else if (link >= 0 && hostLinks[link].isOrdered) {
      const HostLinkState &state = hostLinks[link];
      const int direction = directionOf(link, wait.at.kind());
      wait.needs = state.order[direction][state.next[direction]];
      wait.onRank = problem.rankOf(wait.needs.subject);
      wait.isBehind = true;
      wait.behind = wait.needs;
    }
    next[node] = nodeOf(wait.onRank, wait.needs);
  }
  std::vector<Wait> cycle;
  if (first >= 0)
    for (const int32_t node : walkToCircle(next, first))
      cycle.push_back(waits[node]);
  return cycle;
}
