//===- RankLists.cpp - Orders of tasks, made legal and timed --------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "schedule/uneven/RankLists.h"

#include "schedule/model/Infinity.h"

#include <algorithm>
#include <numeric>

using namespace rondo;

void RankLists::setOrder(std::vector<int32_t> given) {
  order = std::move(given);
  place.resize(order.size());
  for (size_t i = 0; i < order.size(); ++i)
    place[order[i]] = static_cast<int32_t>(i);
}

bool rondo::readLists(const TaskGraph &graph, const Schedule &schedule,
                      RankLists &lists) {
  std::vector<int32_t> order = schedule.accumulation;
  if (order.empty()) {
    order.resize(graph.microbatches);
    std::iota(order.begin(), order.end(), 0);
  }
  lists.setOrder(std::move(order));
  lists.tasks.clear();
  lists.begin.assign(1, 0);
  for (int32_t r = 0; r < schedule.numRanks(); ++r) {
    for (Action action : schedule.rank(r)) {
      if (action.kind() == ActionKind::Recompute)
        continue;
      const bool isFused = action.kind() == ActionKind::Backward;
      const bool isSplit = action.kind() == ActionKind::InputGrad ||
                           action.kind() == ActionKind::WeightGrad;
      if (!action.isTask() || action.count != 1 ||
          (graph.isFused ? isSplit : isFused))
        return false;
      lists.tasks.push_back(graph.id(static_cast<int32_t>(action.subject),
                                     rondo::taskOf(action.kind()),
                                     static_cast<int32_t>(action.index)));
    }
    lists.begin.push_back(static_cast<int32_t>(lists.tasks.size()));
  }
  return static_cast<int32_t>(lists.tasks.size()) == graph.numListed();
}

Schedule rondo::toSchedule(const TaskGraph &graph, const RankLists &lists) {
  Schedule schedule;
  schedule.reserve(static_cast<int64_t>(lists.tasks.size()));
  for (int32_t r = 0; r < graph.ranks; ++r) {
    for (const TaskId *t = lists.rank(r); t < lists.rank(r + 1); ++t)
      graph.append(*t, schedule);
    schedule.endRank();
  }
  return schedule;
}

Legalizer::Legalizer(const TaskGraph &graph, OrderClass orders)
    : graph(graph), orders(orders), isPlaced(graph.size()),
      passed(size_t(graph.replicas) * tasksPerMicrobatch) {
  made.reserve(graph.size());
  deferred.reserve(graph.size());
}

TaskId Legalizer::meantBy(const RankLists &lists, TaskId t) const {
  const TaskPlace &place = graph.places[t];
  if (!isOrdered(place.task))
    return isPlaced[t] ? -1 : t;
  for (int32_t next = passed[place.row]; next < graph.microbatches; ++next) {
    const TaskId meant = place.row * graph.microbatches + lists.order[next];
    if (graph.exists[meant])
      return meant;
  }
  return -1;
}

bool Legalizer::isReady(TaskId t) const {
  return isAvailable(t) && held + graph.takes[t] <= cap;
}

bool Legalizer::isAvailable(TaskId t) const {
  return graph.taskOf(t) == Task::F || isPlaced[graph.before(t)];
}

void Legalizer::place(const RankLists &lists, TaskId t) {
  const TaskPlace &own = graph.places[t];
  isPlaced[t] = true;
  made.push_back(t);
  held += graph.takes[t] - graph.frees[t];
  passed[own.row] = lists.place[own.microbatch] + 1;
}

void Legalizer::retryDeferred(const RankLists &lists) {
  for (size_t i = 0; i < deferred.size();) {
    const TaskId t = meantBy(lists, deferred[i]);
    if (t >= 0 && !isReady(t)) {
      ++i;
      continue;
    }
    deferred.erase(deferred.begin() + static_cast<ptrdiff_t>(i));
    if (t < 0)
      continue;
    place(lists, t);
    i = 0;
  }
}

/// Places tasks of the rest of the list that free bytes, until `t` fits.
void Legalizer::pullFor(const RankLists &lists, TaskId t, const TaskId *rest,
                        const TaskId *end) {
  for (const TaskId *next = rest; held + graph.takes[t] > cap && next < end;
       ++next) {
    if (graph.taskOf(*next) == Task::F)
      continue;
    const TaskId meant = meantBy(lists, *next);
    if (meant >= 0 && graph.frees[meant] > graph.takes[meant] && isReady(meant))
      place(lists, meant);
  }
}

bool Legalizer::legalize(RankLists &lists, int32_t rank, Overflow overflow) {
  TaskId *const begin = lists.rank(rank), *const end = lists.rank(rank + 1);
  made.clear();
  deferred.clear();
  held = 0;
  cap = graph.caps[rank];
  for (const TaskId *t = begin; t < end; ++t) {
    isPlaced[*t] = false;
    passed[graph.places[*t].row] = 0;
  }
  // A task that was pulled has taken the turn of a later one, which then means
  // none.
  for (const TaskId *next = begin; next < end; ++next) {
    const TaskId t = meantBy(lists, *next);
    if (t < 0)
      continue;
    if (overflow == Overflow::Pull && held + graph.takes[t] > cap &&
        isAvailable(t))
      pullFor(lists, t, next + 1, end);
    if (!isReady(t)) {
      deferred.push_back(*next);
      continue;
    }
    place(lists, t);
    if (!deferred.empty())
      retryDeferred(lists);
  }
  if (made.size() != static_cast<size_t>(end - begin))
    return false;
  std::copy(made.begin(), made.end(), begin);
  return true;
}

ListTimer::ListTimer(const TaskGraph &graph)
    : graph(graph), start(graph.size()), ready(graph.size()),
      linkFreeNs(graph.links), clock(graph.ranks), firstNs(graph.ranks),
      cause(graph.size()), missing(graph.size()), index(graph.size()),
      position(graph.ranks), isQueued(graph.ranks) {
  worklist.reserve(graph.ranks);
  path.reserve(graph.size());
}

int64_t ListTimer::run(const RankLists &lists) {
  std::copy(graph.numInputs.begin(), graph.numInputs.end(), missing.begin());
  std::fill(ready.begin(), ready.end(), 0);
  std::fill(linkFreeNs.begin(), linkFreeNs.end(), 0);
  worklist.clear();
  for (int32_t r = graph.ranks; r-- > 0;) {
    clock[r] = firstNs[r] = 0;
    position[r] = lists.begin[r];
    isQueued[r] = true;
    worklist.push_back(r);
  }
  size_t done = 0;
  while (!worklist.empty()) {
    const int32_t r = worklist.back();
    worklist.pop_back();
    isQueued[r] = false;
    const int32_t end = lists.begin[r + 1];
    int32_t at = position[r];
    int64_t now = clock[r];
    for (; at < end; ++at) {
      const TaskId t = lists.tasks[at];
      if (missing[t] != 0)
        break;
      if (ready[t] > now)
        now = ready[t];
      else
        cause[t] = -1;
      if (at == lists.begin[r])
        firstNs[r] = now;
      start[t] = now;
      index[t] = at;
      now += graph.ns[t];
      ++done;
      for (int32_t o = graph.outputBegin[t]; o < graph.outputBegin[t + 1];
           ++o) {
        const TaskOutput &output = graph.outputs[o];
        int64_t arrival = now;
        if (output.link >= 0) {
          int64_t &freeNs = linkFreeNs[output.link];
          freeNs = std::max(freeNs, now) + output.occupancyNs;
          arrival = freeNs + output.latencyNs;
        }
        if (arrival >= ready[output.to]) {
          ready[output.to] = arrival;
          cause[output.to] = t;
        }
        if (--missing[output.to] > 0 || output.link < 0)
          continue;
        const int32_t other = graph.rankOf(output.to);
        if (!isQueued[other] && position[other] < lists.begin[other + 1] &&
            lists.tasks[position[other]] == output.to) {
          isQueued[other] = true;
          worklist.push_back(other);
        }
      }
    }
    position[r] = at;
    clock[r] = now;
  }
  if (done != lists.tasks.size())
    return infinite;
  int64_t value = 0;
  for (int32_t r = 0; r < graph.ranks; ++r)
    value = std::max(value, graph.objective == Objective::Span
                                ? clock[r] - firstNs[r]
                                : clock[r]);
  return value;
}

const std::vector<TaskId> &ListTimer::criticalPath(const RankLists &lists) {
  path.clear();
  TaskId t = -1;
  for (int32_t r = 0; r < graph.ranks; ++r)
    if (lists.length(r) > 0) {
      const TaskId last = lists.tasks[lists.begin[r + 1] - 1];
      if (t < 0 || endNs(last) > endNs(t))
        t = last;
    }
  while (t >= 0) {
    path.push_back(t);
    if (cause[t] >= 0)
      t = cause[t];
    else
      t = index[t] > lists.begin[graph.rankOf(t)] ? lists.tasks[index[t] - 1]
                                                  : -1;
  }
  return path;
}
