//===- CopyLanes.cpp - The copy lanes of all ranks in simulation ----------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "schedule/simulate/CopyLanes.h"

#include <algorithm>

using namespace rondo;

CopyLanes::CopyLanes(const Problem &problem, const Schedule &order,
                     LaneWaits waits)
    : problem(&problem), actions(order.all().begin(), order.all().end()),
      waits(std::move(waits)), lanes(order.numRanks()),
      links(problem.hostMemory.shared.size()) {
  for (int32_t r = 0; r < order.numRanks(); ++r)
    for (int64_t i = order.rankBegin(r); i < order.rankBegin(r + 1); ++i)
      if (const ActionKind kind = actions[i].kind(); isCopy(kind))
        lanes[r][laneOf(r, kind)].positions.push_back(i);
  for (const auto &[link, listed] : order.copyOrders) {
    links[link].isOrdered = true;
    for (Action action : listed)
      links[link].order[directionOf(link, action.kind())].push_back(action);
  }
}

bool CopyLanes::areDone() const {
  return std::all_of(lanes.begin(), lanes.end(), [](const auto &ofRank) {
    return ofRank[0].isDone() && ofRank[1].isDone();
  });
}

int64_t CopyLanes::awaitedNs(int64_t position,
                             const std::vector<int64_t> &endNs) const {
  int64_t ns = 0;
  for (int64_t i = waits.begin[position]; i < waits.begin[position + 1]; ++i) {
    const int64_t end = endNs[waits.awaited[i]];
    if (end == notEnded)
      return notEnded;
    ns = std::max(ns, end);
  }
  return ns;
}

int64_t CopyLanes::findAwaited(int64_t position,
                               const std::vector<int64_t> &endNs) const {
  for (int64_t i = waits.begin[position]; i < waits.begin[position + 1]; ++i)
    if (endNs[waits.awaited[i]] == notEnded)
      return waits.awaited[i];
  return notEnded;
}

int64_t CopyLanes::nextOf(int32_t rank, int number) const {
  const CopyLane &lane = lanes[rank][number];
  return lane.isDone() ? notEnded : lane.positions[lane.next];
}

const Action *CopyLanes::awaitedOnLink(int32_t rank, int number) const {
  const int32_t link = problem->hostMemory.sharedLink(rank);
  const int64_t position = nextOf(rank, number);
  if (link < 0 || !links[link].isOrdered || position == notEnded)
    return nullptr;
  const int direction = directionOf(link, actions[position].kind());
  return &links[link].order[direction][links[link].next[direction]];
}

void CopyLanes::run(int32_t rank, std::vector<int64_t> &startNs,
                    std::vector<int64_t> &endNs, std::vector<int32_t> &woken) {
  pending.push_back(rank);
  while (!pending.empty()) {
    const int32_t r = pending.back();
    pending.pop_back();
    for (bool isNew = true; isNew;) {
      isNew = false;
      for (int lane = 0; lane < numLanes; ++lane)
        while (runNext(r, lane, startNs, endNs, woken))
          isNew = true;
    }
  }
}

/// Runs the next copy of a lane, or asks for its shared link. Returns whether
/// it has run.
bool CopyLanes::runNext(int32_t r, int number, std::vector<int64_t> &startNs,
                        std::vector<int64_t> &endNs,
                        std::vector<int32_t> &woken) {
  CopyLane &lane = lanes[r][number];
  if (lane.isDone() || lane.hasAsked)
    return false;
  const int64_t position = lane.positions[lane.next];
  const int64_t awaited = awaitedNs(position, endNs);
  if (awaited == notEnded)
    return false;
  const int64_t readyNs = std::max(lane.freeNs, awaited);
  if (const int32_t link = problem->hostMemory.sharedLink(r); link >= 0) {
    LinkState &state = links[link];
    if (!state.isOrdered) {
      lane.hasAsked = true;
      requests.push({readyNs, r, number});
      return false;
    }
    const Action action = actions[position];
    const int direction = directionOf(link, action.kind());
    if (state.order[direction][state.next[direction]] != action)
      return false;
    ++state.next[direction];
  }
  runCopy(r, number, readyNs, startNs, endNs, woken);
  return true;
}

/// Runs the next copy of a lane as soon as its shared link is free.
void CopyLanes::runCopy(int32_t r, int number, int64_t readyNs,
                        std::vector<int64_t> &startNs,
                        std::vector<int64_t> &endNs,
                        std::vector<int32_t> &woken) {
  CopyLane &lane = lanes[r][number];
  const int64_t position = lane.positions[lane.next++];
  const Action action = actions[position];
  const ActionKind kind = action.kind();
  const int32_t link = problem->hostMemory.sharedLink(r);
  int64_t start = readyNs;
  if (link >= 0)
    start = std::max(start, links[link].freeNs[directionOf(link, kind)]);
  const int64_t end = start + problem->costOf(action).ns;
  startNs[position] = start;
  endNs[position] = end;
  lane.freeNs = end;
  lane.hasAsked = false;
  woken.push_back(r);
  if (link < 0)
    return;
  LinkState &state = links[link];
  const int direction = directionOf(link, kind);
  state.freeNs[direction] = end;
  // The next copy of the order may be another rank's.
  if (state.isOrdered && state.next[direction] < state.order[direction].size())
    pending.push_back(
        problem->rankOf(state.order[direction][state.next[direction]].subject));
}

void CopyLanes::grant(std::vector<int64_t> &startNs,
                      std::vector<int64_t> &endNs,
                      std::vector<int32_t> &woken) {
  const Request request = requests.top();
  requests.pop();
  runCopy(request.rank, request.lane, request.readyNs, startNs, endNs, woken);
  run(request.rank, startNs, endNs, woken);
}
