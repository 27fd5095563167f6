//===- UnevenAnnealing.cpp - Local search on lists of tasks
//---------------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "schedule/search/UnevenAnnealing.h"

#include "schedule/model/Infinity.h"

#include <algorithm>
#include <cmath>
#include <numeric>

using namespace rondo;

/// Work of a simulation, per task.
static constexpr int64_t stepsOfSimulation = 4;
/// The last temperature, as a part of the first.
static constexpr double coldest = 0.02;
/// One of movesPerOrder moves exchanges micro-batches, and `movesAnywhere` of
/// them ignore the longest path.
static constexpr int64_t movesPerOrder = 5, movesAnywhere = 1;

Annealing::Annealing(const TaskGraph &graph, OrderClass orders, uint64_t seed,
                     Budget &budget)
    : graph(graph), orders(orders), random(seed), budget(budget),
      legalizer(graph, orders), timer(graph),
      isWhole(std::all_of(graph.exists.begin(), graph.exists.end(),
                          [](uint8_t exists) { return exists; })),
      renamed(graph.microbatches) {}

bool Annealing::legalize(RankLists &lists, Overflow overflow) {
  RankLists trial = lists;
  budget.use(static_cast<int64_t>(lists.tasks.size()));
  for (int32_t r = 0; r < graph.ranks; ++r)
    if (!legalizer.legalize(trial, r, overflow))
      return false;
  lists = std::move(trial);
  return true;
}

/// Moves a task of a list to another position. False if the list is then the
/// same or cannot be made legal.
bool Annealing::shift(int32_t rank, int32_t from, int32_t to) {
  changedRank = rank;
  TaskId *const list = current.rank(rank);
  if (from < to)
    std::rotate(list + from, list + from + 1, list + to + 1);
  else
    std::rotate(list + to, list + from, list + from + 1);
  const Overflow overflow = random.below(2) ? Overflow::Defer : Overflow::Pull;
  return legalizer.legalize(current, rank, overflow) &&
         !std::equal(list, list + current.length(rank), kept.rank(rank));
}

/// Moves a task over others of its block: tasks of a longest path that follow
/// each other without a pause.
bool Annealing::shiftOnPath() {
  // `path` runs backwards in time.
  const auto at = random.below(static_cast<int64_t>(path.size()));
  const int32_t rank = graph.rankOf(path[at]);
  size_t last = at, first = at;
  auto isNext = [&](size_t later, size_t earlier) {
    return graph.rankOf(path[earlier]) == rank &&
           timer.indexOf(path[earlier]) + 1 == timer.indexOf(path[later]);
  };
  while (last > 0 && isNext(last - 1, last))
    --last;
  while (first + 1 < path.size() && isNext(first, first + 1))
    ++first;
  if (first == last)
    return shiftAnywhere();
  const int32_t begin = timer.indexOf(path[first]) - current.begin[rank],
                end = timer.indexOf(path[last]) - current.begin[rank];
  // Mostly at an end of the block: elsewhere a swap shortens no path.
  int32_t from = begin + int32_t(random.below(end - begin + 1)), to = from;
  switch (random.below(4)) {
  case 0:
    to = begin;
    break;
  case 1:
    to = end;
    break;
  case 2:
    // Neighbours at one end.
    from = random.below(2) ? begin : end - 1;
    to = from + 1;
    break;
  default:
    to = begin + int32_t(random.below(end - begin + 1));
  }
  return from != to && shift(rank, from, to);
}

bool Annealing::shiftAnywhere() {
  const auto rank = static_cast<int32_t>(random.below(graph.ranks));
  const int32_t length = current.length(rank);
  if (length < 2)
    return false;
  const auto from = static_cast<int32_t>(random.below(length));
  // Near positions more often than far ones.
  const auto reach =
      static_cast<int32_t>(1 + random.below(1 + random.below(length)));
  const int32_t to =
      std::clamp(random.below(2) ? from + reach : from - reach, 0, length - 1);
  return from != to && shift(rank, from, to);
}

/// Exchanges two micro-batches of the order, or moves one to another place, in
/// the lists of all ranks: of all tasks, or of some kinds.
bool Annealing::changeOrder() {
  changedRank = -1;
  const int32_t count = graph.microbatches;
  if (count < 2)
    return false;
  const auto a = static_cast<int32_t>(random.below(count));
  auto b = static_cast<int32_t>(random.below(count - 1));
  b += b >= a;
  // [micro-batch]: what takes its place.
  std::iota(renamed.begin(), renamed.end(), 0);
  if (random.below(2)) {
    std::swap(renamed[current.order[a]], renamed[current.order[b]]);
  } else {
    const int32_t step = a < b ? 1 : -1;
    for (int32_t i = a; i != b; i += step)
      renamed[current.order[i]] = current.order[i + step];
    renamed[current.order[b]] = current.order[a];
  }
  PerTask<bool> areRenamed = {{true, true, true}};
  if (random.below(2))
    for (bool &is : areRenamed)
      is = random.below(2) > 0;
  if (!isOrderGiven(orders) && areRenamed[Task::W]) {
    for (int32_t &i : current.order)
      i = renamed[i];
    for (int32_t i = 0; i < count; ++i)
      current.place[current.order[i]] = i;
  }
  for (TaskId &t : current.tasks) {
    const TaskPlace &own = graph.places[t];
    if (isWhole && areRenamed[own.task])
      t = own.row * count + renamed[own.microbatch];
  }
  const Overflow overflow = random.below(2) ? Overflow::Defer : Overflow::Pull;
  for (int32_t r = 0; r < graph.ranks; ++r)
    if (!legalizer.legalize(current, r, overflow))
      return false;
  return current.tasks != kept.tasks;
}

bool Annealing::change() {
  const int64_t kind = random.below(movesPerOrder);
  if (kind == 0 && orders != OrderClass::Index)
    return changeOrder();
  return kind <= movesAnywhere || path.empty() ? shiftAnywhere()
                                               : shiftOnPath();
}

void Annealing::restore() {
  if (changedRank < 0) {
    current = kept;
    return;
  }
  std::copy(kept.rank(changedRank), kept.rank(changedRank + 1),
            current.rank(changedRank));
}

int64_t Annealing::timeUpTo(const RankLists &lists, double limit) {
  const int64_t ns = timer.run(lists);
  if (!exactNs || ns == infinite || double(ns) > limit)
    return ns;
  budget.use(stepsOfSimulation * static_cast<int64_t>(lists.tasks.size()));
  return exactNs(lists);
}

int64_t Annealing::run(RankLists &lists, int64_t bound, int64_t tasks,
                       double hot) {
  current = kept = best = lists;
  int64_t value = timeUpTo(current, double(infinite)), bestValue = value;
  path = timer.criticalPath(current);
  const int64_t begin = budget.tasksUsed();
  const auto size = static_cast<int64_t>(current.tasks.size());
  const double first = hot * double(value);
  int64_t used = 0;
  while (bestValue > bound && used < tasks && !budget.isSpent(size)) {
    used = budget.tasksUsed() - begin;
    temperature = first * std::pow(coldest, double(used) / double(tasks));
    if (!change()) {
      budget.use(1 + size / 8);
      restore();
      continue;
    }
    budget.use(size);
    const double threshold =
        double(value) - temperature * std::log(random.unit() + 1e-300);
    const int64_t found = timeUpTo(current, threshold);
    if (found == infinite || double(found) > threshold) {
      restore();
      continue;
    }
    value = found;
    path = timer.criticalPath(current);
    if (changedRank < 0)
      kept = current;
    else
      std::copy(current.rank(changedRank), current.rank(changedRank + 1),
                kept.rank(changedRank));
    if (value < bestValue) {
      bestValue = value;
      best = current;
      if (onBetter)
        onBetter(best, bestValue);
    }
  }
  lists = best;
  return bestValue;
}
