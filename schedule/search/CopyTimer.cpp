//===- CopyTimer.cpp - Times of lists with copies -------------------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "schedule/search/CopyLists.h"

#include <algorithm>
#include <tuple>

using namespace rondo;

static constexpr int64_t notEnded = -1;

CopyTimer::CopyTimer(const CopyGraph &graph)
    : graph(graph), waits(graph.ranks), previous(graph.ranks),
      positionInRank(graph.size()), end(graph.size()), ready(graph.size()),
      linkFreeNs(graph.links), firstNs(graph.ranks), cause(graph.size()),
      readyBy(graph.size()), missing(graph.size()),
      next(size_t(graph.ranks) * CopyGraph::numLanes),
      lanes(size_t(graph.ranks) * CopyGraph::numLanes), isQueued(graph.ranks),
      hasAsked(lanes.size()), sharedLanes(2 * graph.isSharedHalf.size()) {
  int32_t longest = 0;
  for (int32_t r = 0; r < graph.ranks; ++r) {
    const int32_t actions = graph.numActions[r];
    longest = std::max(longest, actions);
    for (RankWaits *own : {&waits[r], &previous[r]}) {
      own->begin.reserve(actions + 1);
      own->awaited.reserve(size_t(actions) * CopyGraph::numLanes);
    }
  }
  knownBy.resize(longest);
  device.releases.reserve(longest);
  host.releases.reserve(longest);
  worklist.reserve(graph.ranks);
  path.reserve(graph.size());
  requests.reserve(lanes.size());
}

void CopyTimer::Count::reset(int64_t newCap) {
  cap = newCap;
  taken = 0;
  std::fill(std::begin(known), std::end(known), 0);
  std::fill(std::begin(next), std::end(next), 0);
  releases.clear();
}

/// Takes bytes on a lane, which awaits releases in list order until they fit.
void CopyTimer::take(Count &count, int32_t lane, int64_t bytes,
                     RankWaits &out) {
  count.taken += bytes;
  int64_t &known = count.known[lane];
  for (size_t &next = count.next[lane];
       count.taken - known > count.cap && next < count.releases.size();
       ++next) {
    const Release &release = count.releases[next];
    uint8_t &knowers = knownBy[release.position];
    if (release.lane == lane || knowers >> lane & 1)
      continue;
    knowers |= uint8_t(1u << lane);
    out.awaited.push_back(release.position);
    known += release.bytes;
  }
}

void CopyTimer::derive(const CopyLists &lists, int32_t rank) {
  std::swap(waits[rank], previous[rank]);
  RankWaits &out = waits[rank];
  out.begin.clear();
  out.awaited.clear();
  device.reset(graph.caps[rank]);
  host.reset(graph.hostCaps[rank]);
  const CopyTaskId *const tasks = lists.rank(rank);
  const int32_t length = lists.length[rank];
  for (const CopyPair &pair : graph.pairs[rank])
    std::fill_n(positionInRank.begin() + graph.id(pair.load, 0),
                graph.microbatches, -1);
  for (int32_t i = 0; i < length; ++i) {
    const CopyTaskId t = tasks[i];
    const CopyRow &row = graph.row(t);
    const int32_t microbatch = graph.microbatchOf(t);
    knownBy[i] = 0;
    positionInRank[t] = i;
    out.begin.push_back(static_cast<int32_t>(out.awaited.size()));
    // The actions on other lanes that it needs.
    const int32_t neededRow = row.lane != 0 ? row.before : row.load;
    if (neededRow >= 0 && graph.rows[neededRow].lane != row.lane)
      if (const int32_t needed =
              positionInRank[graph.id(neededRow, microbatch)];
          needed >= 0 && !(knownBy[needed] >> row.lane & 1)) {
        knownBy[needed] |= uint8_t(1u << row.lane);
        out.awaited.push_back(needed);
        device.known[row.lane] += graph.rows[neededRow].frees;
        host.known[row.lane] += graph.rows[neededRow].hostFrees;
      }
    if (row.takes > 0)
      take(device, row.lane, row.takes, out);
    if (row.hostTakes > 0)
      take(host, row.lane, row.hostTakes, out);
    if (row.frees > 0) {
      device.releases.push_back({i, row.lane, row.frees});
      device.known[row.lane] += row.frees;
    }
    if (row.hostFrees > 0) {
      host.releases.push_back({i, row.lane, row.hostFrees});
      host.known[row.lane] += row.hostFrees;
    }
  }
  out.begin.push_back(static_cast<int32_t>(out.awaited.size()));
}

void CopyTimer::wake(int32_t rank) {
  if (isQueued[rank])
    return;
  isQueued[rank] = true;
  worklist.push_back(rank);
}

void CopyTimer::send(const CopyRow &row, CopyTaskId t) {
  const int32_t microbatch = graph.microbatchOf(t);
  for (int32_t o = row.outputBegin; o < row.outputEnd; ++o) {
    const CopyOutput &output = graph.outputs[o];
    const CopyTaskId to = graph.id(output.row, microbatch);
    if (!graph.exists[to])
      continue;
    int64_t arrival = end[t];
    if (output.link >= 0) {
      int64_t &freeNs = linkFreeNs[output.link];
      freeNs = std::max(freeNs, arrival) + output.occupancyNs;
      arrival = freeNs + output.latencyNs;
    }
    if (arrival >= ready[to]) {
      ready[to] = arrival;
      readyBy[to] = t;
    }
    if (--missing[to] == 0)
      if (const int32_t rank = graph.row(to).rank; rank != row.rank)
        wake(rank);
  }
}

void CopyTimer::finish(CopyTaskId t, int64_t startNs, CopyTaskId by) {
  const CopyRow &row = graph.row(t);
  end[t] = startNs + row.ns;
  cause[t] = by;
  lanes[row.rank * CopyGraph::numLanes + row.lane] = {end[t], t};
  ++done;
  if (row.outputBegin < row.outputEnd)
    send(row, t);
}

/// Starts an action if its messages have been made. Precondition: all that it
/// awaits has ended.
bool CopyTimer::startAction(int32_t rank, int32_t at, CopyTaskId t) {
  if (missing[t] != 0)
    return false;
  const CopyRow &row = graph.row(t);
  const Lane &lane = lanes[rank * CopyGraph::numLanes + row.lane];
  int64_t start = lane.freeNs;
  CopyTaskId by = lane.last;
  if (ready[t] > start) {
    start = ready[t];
    by = readyBy[t];
  }
  const RankWaits &own = waits[rank];
  for (int32_t w = own.begin[at]; w < own.begin[at + 1]; ++w) {
    const CopyTaskId other = list[own.awaited[w]];
    if (end[other] > start) {
      start = end[other];
      by = other;
    }
  }
  if (start + row.ns + row.tailNs > limit)
    return false;
  if (firstNs[rank] < 0 && row.lane == 0)
    firstNs[rank] = start;
  finish(t, start, by);
  return true;
}

/// All that an action awaits is listed before it, so lists are run in their
/// order.
void CopyTimer::runInListOrder(const CopyLists &lists) {
  while (!worklist.empty()) {
    const int32_t r = worklist.back();
    worklist.pop_back();
    isQueued[r] = false;
    list = lists.rank(r);
    int32_t &at = next[r];
    while (at < lists.length[r] && startAction(r, at, list[at]))
      ++at;
  }
}

bool CopyTimer::isAwaitedDone(int32_t rank, int32_t at) const {
  const RankWaits &own = waits[rank];
  for (int32_t w = own.begin[at]; w < own.begin[at + 1]; ++w)
    if (end[list[own.awaited[w]]] == notEnded)
      return false;
  return true;
}

/// Runs the next action of a lane, or asks for its shared host link. Returns
/// whether it has run.
bool CopyTimer::advance(const CopyLists &lists, int32_t rank, int32_t lane) {
  const size_t number = size_t(rank) * CopyGraph::numLanes + lane;
  if (hasAsked[number])
    return false;
  int32_t &at = next[number];
  while (at < lists.length[rank] && graph.row(list[at]).lane != lane)
    ++at;
  if (at == lists.length[rank] || !isAwaitedDone(rank, at))
    return false;
  if (lane == 0 || graph.sharedLinks[rank] < 0) {
    if (!startAction(rank, at, list[at]))
      return false;
    ++at;
    return true;
  }
  int64_t readyNs = lanes[number].freeNs;
  const RankWaits &own = waits[rank];
  for (int32_t w = own.begin[at]; w < own.begin[at + 1]; ++w)
    readyNs = std::max(readyNs, end[list[own.awaited[w]]]);
  hasAsked[number] = true;
  requests.push_back({readyNs, rank, lane});
  return false;
}

/// Grants the shared host link to the copy that was ready first.
bool CopyTimer::grant(const CopyLists &lists) {
  if (requests.empty())
    return false;
  const auto first = std::min_element(
      requests.begin(), requests.end(), [](const Request &a, const Request &b) {
        return std::tie(a.readyNs, a.rank, a.lane) <
               std::tie(b.readyNs, b.rank, b.lane);
      });
  const int32_t r = first->rank, lane = first->lane;
  *first = requests.back();
  requests.pop_back();
  const int32_t link = graph.sharedLinks[r];
  Lane &shared =
      sharedLanes[2 * link + (lane == 2 && !graph.isSharedHalf[link])];
  const size_t number = size_t(r) * CopyGraph::numLanes + lane;
  list = lists.rank(r);
  const CopyTaskId t = list[next[number]];
  const Lane own = lanes[number];
  if (shared.freeNs > own.freeNs)
    lanes[number] = shared;
  if (!startAction(r, next[number], t))
    return true; // beyond the limit
  shared = lanes[number];
  ++next[number];
  hasAsked[number] = false;
  wake(r);
  return true;
}

void CopyTimer::runLanes(const CopyLists &lists) {
  while (!worklist.empty() || grant(lists)) {
    if (worklist.empty())
      continue;
    const int32_t r = worklist.back();
    worklist.pop_back();
    isQueued[r] = false;
    list = lists.rank(r);
    for (bool isNew = true; isNew;) {
      isNew = false;
      for (int32_t lane = 0; lane < CopyGraph::numLanes; ++lane)
        while (advance(lists, r, lane))
          isNew = true;
    }
  }
}

int64_t CopyTimer::run(const CopyLists &lists, int64_t maxNs) {
  limit = graph.objective == Objective::Span ? infinite : maxNs;
  std::copy(graph.numInputs.begin(), graph.numInputs.end(), missing.begin());
  std::fill(ready.begin(), ready.end(), 0);
  std::fill(linkFreeNs.begin(), linkFreeNs.end(), 0);
  std::fill(lanes.begin(), lanes.end(), Lane());
  std::fill(next.begin(), next.end(), 0);
  std::fill(firstNs.begin(), firstNs.end(), -1);
  worklist.clear();
  done = 0;
  for (int32_t r = graph.ranks; r-- > 0;) {
    isQueued[r] = false;
    wake(r);
  }
  if (graph.hasSharedLinks()) {
    std::fill(end.begin(), end.end(), notEnded);
    std::fill(hasAsked.begin(), hasAsked.end(), 0);
    std::fill(sharedLanes.begin(), sharedLanes.end(), Lane());
    requests.clear();
    runLanes(lists);
  } else {
    runInListOrder(lists);
  }
  if (done != lists.total())
    return infinite;
  int64_t value = 0;
  endsOfRanks = 0;
  for (int32_t r = 0; r < graph.ranks; ++r) {
    const int64_t own =
        lanes[r * CopyGraph::numLanes].freeNs -
        (graph.objective == Objective::Span ? std::max<int64_t>(0, firstNs[r])
                                            : 0);
    value = std::max(value, own);
    endsOfRanks += own;
  }
  return value;
}

const std::vector<CopyTaskId> &CopyTimer::criticalPath() {
  path.clear();
  CopyTaskId last = -1;
  for (int32_t r = 0; r < graph.ranks; ++r)
    if (const CopyTaskId own = lanes[r * CopyGraph::numLanes].last;
        own >= 0 && (last < 0 || end[own] > end[last]))
      last = own;
  for (; last >= 0; last = cause[last])
    path.push_back(last);
  return path;
}
