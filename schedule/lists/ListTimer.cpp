//===- ListTimer.cpp - Times of lists ------------------------------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "schedule/lists/RankLists.h"

#include <algorithm>
#include <tuple>

using namespace rondo;

static constexpr int64_t notEnded = -1;

ListTimer::ListTimer(const TaskGraph &graph)
    : graph(graph), waits(graph.ranks), previous(graph.ranks),
      positionInRank(graph.size()), end(graph.size()), ready(graph.size()),
      linkFreeNs(graph.links), firstNs(graph.ranks), workNs(graph.ranks),
      leftNs(graph.ranks), cause(graph.size()), readyBy(graph.size()),
      missing(graph.size()), next(size_t(graph.ranks) * TaskGraph::numLanes),
      lanes(size_t(graph.ranks) * TaskGraph::numLanes), isQueued(graph.ranks),
      hasAsked(lanes.size()), sharedLanes(2 * graph.isSharedHalf.size()) {
  for (TaskId t = 0; t < graph.size(); ++t)
    if (graph.exists[t] && graph.tasks[t].lane == 0)
      workNs[graph.tasks[t].rank] += graph.tasks[t].ns;
  int32_t longest = 0;
  for (int32_t r = 0; r < graph.ranks; ++r) {
    if (!graph.mayCopy[r])
      continue;
    const int32_t actions = graph.numActions[r];
    longest = std::max(longest, actions);
    for (RankWaits *own : {&waits[r], &previous[r]}) {
      own->begin.reserve(actions + 1);
      own->awaited.reserve(size_t(actions) * TaskGraph::numLanes);
    }
  }
  knownBy.resize(longest);
  device.releases.reserve(longest);
  host.releases.reserve(longest);
  worklist.reserve(graph.ranks);
  path.reserve(graph.size());
  requests.reserve(lanes.size());
}

void ListTimer::Count::reset(int64_t newCap) {
  cap = newCap;
  taken = 0;
  std::fill(std::begin(known), std::end(known), 0);
  std::fill(std::begin(next), std::end(next), 0);
  releases.clear();
}

void ListTimer::Count::free(int32_t position, int32_t lane, int64_t bytes) {
  if (bytes == 0)
    return;
  releases.push_back({position, lane, bytes});
  known[lane] += bytes;
}

/// Takes bytes on a lane, which awaits releases in list order until they fit.
void ListTimer::take(Count &count, int32_t lane, int64_t bytes,
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

void ListTimer::derive(const RankLists &lists, int32_t rank) {
  if (!graph.mayCopy[rank])
    return;
  std::swap(waits[rank], previous[rank]);
  RankWaits &out = waits[rank];
  out.begin.clear();
  out.awaited.clear();
  device.reset(graph.caps[rank]);
  host.reset(graph.hostCaps[rank]);
  const TaskId *const tasks = lists.rank(rank);
  const int32_t length = lists.length[rank];
  for (int32_t replica : graph.replicasOf[rank])
    std::fill_n(positionInRank.begin() + graph.id(replica, ActionKind::Load, 0),
                graph.microbatches, -1);
  for (int32_t i = 0; i < length; ++i) {
    const TaskId t = tasks[i];
    const TaskFigures &task = graph.tasks[t];
    const int32_t lane = task.lane;
    knownBy[i] = 0;
    positionInRank[t] = i;
    out.begin.push_back(static_cast<int32_t>(out.awaited.size()));
    // The action on another lane that it needs.
    const TaskId needed = lane != 0 ? task.before : task.load;
    if (needed >= 0 && graph.tasks[needed].lane != lane)
      if (const int32_t at = positionInRank[needed];
          at >= 0 && !(knownBy[at] >> lane & 1)) {
        knownBy[at] |= uint8_t(1u << lane);
        out.awaited.push_back(at);
        device.known[lane] += graph.tasks[needed].frees;
        host.known[lane] += graph.hostFrees(needed);
      }
    if (task.takes > 0)
      take(device, lane, task.takes, out);
    if (const int64_t bytes = graph.hostTakes(t); bytes > 0)
      take(host, lane, bytes, out);
    device.free(i, lane, task.frees);
    host.free(i, lane, graph.hostFrees(t));
  }
  out.begin.push_back(static_cast<int32_t>(out.awaited.size()));
}

inline void ListTimer::send(const TaskFigures &task, int32_t rank, TaskId t) {
  for (int32_t o = task.outputBegin; o < task.outputEnd; ++o) {
    const TaskOutput &output = graph.outputs[o];
    int64_t arrival = end[t];
    if (output.link >= 0) {
      int64_t &freeNs = linkFreeNs[output.link];
      freeNs = std::max(freeNs, arrival) + output.occupancyNs;
      arrival = freeNs + output.latencyNs;
    }
    if (arrival >= ready[output.to]) {
      ready[output.to] = arrival;
      readyBy[output.to] = t;
    }
    if (--missing[output.to] > 0)
      continue;
    if (const int32_t to = graph.tasks[output.to].rank;
        to != rank &&
        (!inOrder || inOrder->rank(to)[next[to]] == output.to))
      wake(to);
  }
}

void ListTimer::awaitOthers(int32_t rank, int32_t at, int64_t &start,
                            TaskId &by) const {
  const RankWaits &own = waits[rank];
  for (int32_t w = own.begin[at]; w < own.begin[at + 1]; ++w) {
    const TaskId other = list[own.awaited[w]];
    if (end[other] > start) {
      start = end[other];
      by = other;
    }
  }
}

/// Starts an action if its messages have been made. Precondition: all that it
/// awaits has ended.
inline bool ListTimer::startAction(int32_t rank, int32_t at, TaskId t) {
  if (missing[t] != 0)
    return false;
  const TaskFigures &task = graph.tasks[t];
  Lane &lane = lanes[rank * TaskGraph::numLanes + task.lane];
  int64_t start = lane.freeNs;
  TaskId by = lane.last;
  if (ready[t] > start) {
    start = ready[t];
    by = readyBy[t];
  }
  if (graph.mayCopy[rank])
    awaitOthers(rank, at, start, by);
  int64_t pathNs = task.ns + task.tailNs;
  if (task.lane == 0) {
    pathNs = std::max(pathNs, leftNs[rank]);
    leftNs[rank] -= task.ns;
    if (firstNs[rank] < 0)
      firstNs[rank] = start;
  }
  if (start + pathNs > limit) {
    isBeyond = true;
    return false;
  }
  end[t] = start + task.ns;
  cause[t] = by;
  lane = {end[t], t};
  ++done;
  send(task, rank, t);
  return true;
}

/// All that an action awaits is listed before it, so lists are run in their
/// order.
void ListTimer::runInListOrder(const RankLists &lists) {
  while (!worklist.empty() && !isBeyond) {
    const int32_t r = worklist.back();
    worklist.pop_back();
    isQueued[r] = false;
    list = lists.rank(r);
    int32_t &at = next[r];
    while (at < lists.length[r] && startAction(r, at, list[at]))
      ++at;
  }
}

bool ListTimer::isAwaitedDone(int32_t rank, int32_t at) const {
  if (!graph.mayCopy[rank])
    return true;
  const RankWaits &own = waits[rank];
  for (int32_t w = own.begin[at]; w < own.begin[at + 1]; ++w)
    if (end[list[own.awaited[w]]] == notEnded)
      return false;
  return true;
}

/// Runs the next action of a lane, or asks for its shared host link. Returns
/// whether it has run.
bool ListTimer::advance(const RankLists &lists, int32_t rank, int32_t lane) {
  const size_t number = size_t(rank) * TaskGraph::numLanes + lane;
  if (hasAsked[number])
    return false;
  int32_t &at = next[number];
  while (at < lists.length[rank] && graph.tasks[list[at]].lane != lane)
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
bool ListTimer::grant(const RankLists &lists) {
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
  const size_t number = size_t(r) * TaskGraph::numLanes + lane;
  list = lists.rank(r);
  const TaskId t = list[next[number]];
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

void ListTimer::runLanes(const RankLists &lists) {
  while (!isBeyond && (!worklist.empty() || grant(lists))) {
    if (worklist.empty())
      continue;
    const int32_t r = worklist.back();
    worklist.pop_back();
    isQueued[r] = false;
    list = lists.rank(r);
    for (bool isNew = true; isNew;) {
      isNew = false;
      for (int32_t lane = 0; lane < TaskGraph::numLanes; ++lane)
        while (advance(lists, r, lane))
          isNew = true;
    }
  }
}

int64_t ListTimer::run(const RankLists &lists, int64_t maxNs) {
  limit = graph.objective == Objective::Span ? infinite : maxNs;
  std::copy(graph.numInputs.begin(), graph.numInputs.end(), missing.begin());
  std::fill(ready.begin(), ready.end(), 0);
  std::fill(linkFreeNs.begin(), linkFreeNs.end(), 0);
  std::fill(lanes.begin(), lanes.end(), Lane());
  std::fill(next.begin(), next.end(), 0);
  std::fill(firstNs.begin(), firstNs.end(), -1);
  leftNs = workNs;
  isBeyond = false;
  worklist.clear();
  done = 0;
  for (int32_t r = graph.ranks; r-- > 0;) {
    isQueued[r] = false;
    wake(r);
  }
  inOrder = graph.hasSharedLinks() ? nullptr : &lists;
  if (!inOrder) {
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
        lanes[r * TaskGraph::numLanes].freeNs -
        (graph.objective == Objective::Span ? std::max<int64_t>(0, firstNs[r])
                                            : 0);
    value = std::max(value, own);
    endsOfRanks += own;
  }
  return value;
}

const std::vector<TaskId> &ListTimer::criticalPath() {
  path.clear();
  TaskId last = -1;
  for (int32_t r = 0; r < graph.ranks; ++r)
    if (const TaskId own = lanes[r * TaskGraph::numLanes].last;
        own >= 0 && (last < 0 || end[own] > end[last]))
      last = own;
  for (; last >= 0; last = cause[last])
    path.push_back(last);
  return path;
}
