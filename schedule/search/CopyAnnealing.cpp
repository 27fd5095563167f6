//===- CopyAnnealing.cpp - Local search on lists with copies --------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "schedule/search/CopyAnnealing.h"

#include <algorithm>
#include <cmath>

using namespace rondo;

/// The last temperature, as a part of the first.
static constexpr double coldest = 0.02;
/// Numbers of moves, out of allMoves, that add copies, remove copies and ignore
/// the longest path.
static constexpr int64_t allMoves = 16, movesToAdd = 2, movesToRemove = 2,
                         movesAnywhere = 3;
/// One of this many moves exchanges micro-batches on all ranks.
static constexpr int64_t movesPerExchange = 24;
/// CopyAnnealing::changedRank after such a move.
static constexpr int32_t allRanks = -1;
/// Entries between a LOAD that is added and the task that needs it, at most.
static constexpr int64_t maxLead = 3;

CopyAnnealing::CopyAnnealing(const CopyGraph &graph, uint64_t seed,
                             Budget &budget)
    : graph(graph), random(seed), budget(budget), legalizer(graph),
      timer(graph), current(makeLists(graph)), kept(current), best(current) {}

bool CopyAnnealing::legalize(CopyLists &lists, CopyOverflow overflow) {
  CopyLists trial = lists;
  budget.use(lists.total());
  for (int32_t r = 0; r < graph.ranks; ++r)
    if (!legalizer.legalize(trial, r, overflow, 1))
      return false;
  lists = std::move(trial);
  return true;
}

int64_t CopyAnnealing::timeOf(const CopyLists &lists) {
  budget.use(2 * lists.total());
  for (int32_t r = 0; r < graph.ranks; ++r)
    timer.derive(lists, r);
  return timer.run(lists);
}

int32_t CopyAnnealing::randomRank() {
  return static_cast<int32_t>(random.below(graph.ranks));
}

CopyOverflow CopyAnnealing::randomOverflow() {
  const int64_t kind = random.below(5);
  return kind < 2   ? CopyOverflow::Defer
         : kind < 4 ? CopyOverflow::Pull
                    : CopyOverflow::Copy;
}

/// Makes the changed list legal. False if it cannot be or is the same.
bool CopyAnnealing::settle(int32_t rank, CopyOverflow overflow) {
  changedRank = rank;
  const auto lead = static_cast<int32_t>(random.below(maxLead + 1));
  if (!legalizer.legalize(current, rank, overflow, lead))
    return false;
  const CopyTaskId *list = current.rank(rank);
  return current.length[rank] != kept.length[rank] ||
         !std::equal(list, list + current.length[rank], kept.rank(rank));
}

/// Moves an action of a list to another position.
bool CopyAnnealing::shift(int32_t rank, int32_t from, int32_t to,
                          CopyOverflow overflow) {
  CopyTaskId *const list = current.rank(rank);
  if (from < to)
    std::rotate(list + from, list + from + 1, list + to + 1);
  else
    std::rotate(list + to, list + from, list + from + 1);
  return settle(rank, overflow);
}

int32_t CopyAnnealing::positionOf(CopyTaskId t) const {
  const CopyTaskId *list = current.rank(graph.row(t).rank);
  return static_cast<int32_t>(
      std::find(list, list + current.length[graph.row(t).rank], t) - list);
}

/// Moves an action of a longest path over another one of its lane, or to a
/// place near it.
bool CopyAnnealing::shiftOnPath() {
  // `path` runs backwards in time.
  const auto length = static_cast<int64_t>(path.size());
  const int64_t at = random.below(length);
  const CopyRow &row = graph.row(path[at]);
  int64_t last = at, first = at;
  const auto isSame = [&](int64_t i) {
    const CopyRow &other = graph.row(path[i]);
    return other.rank == row.rank && other.lane == row.lane;
  };
  while (last > 0 && isSame(last - 1))
    --last;
  while (first + 1 < length && isSame(first + 1))
    ++first;
  changedRank = row.rank;
  if (first == last || random.below(4) == 0) {
    // To another place of the list, near ones more often.
    const int32_t count = current.length[row.rank], from = positionOf(path[at]);
    const auto reach =
        static_cast<int32_t>(1 + random.below(1 + random.below(count)));
    const int32_t to =
        std::clamp(random.below(2) ? from + reach : from - reach, 0, count - 1);
    return from != to && shift(row.rank, from, to, randomOverflow());
  }
  // Mostly at an end of the block: elsewhere a swap shortens no path.
  int64_t from = last + random.below(first - last + 1), to = from;
  switch (random.below(4)) {
  case 0:
    to = first;
    break;
  case 1:
    to = last;
    break;
  case 2:
    from = random.below(2) ? first : last + 1;
    to = from - 1;
    break;
  default:
    to = last + random.below(first - last + 1);
  }
  return from != to && shift(row.rank, positionOf(path[from]),
                             positionOf(path[to]), randomOverflow());
}

bool CopyAnnealing::shiftAnywhere() {
  const int32_t rank = randomRank(), count = current.length[rank];
  changedRank = rank;
  if (count < 2)
    return false;
  const auto from = static_cast<int32_t>(random.below(count));
  const auto reach =
      static_cast<int32_t>(1 + random.below(1 + random.below(count)));
  const int32_t to =
      std::clamp(random.below(2) ? from + reach : from - reach, 0, count - 1);
  return from != to && shift(rank, from, to, randomOverflow());
}

/// Adds the copies of a micro-batch that has none: SAVE near F, LOAD near the
/// task that needs it.
bool CopyAnnealing::addCopies(int32_t rank) {
  changedRank = rank;
  const std::vector<CopyPair> &pairs = graph.pairs[rank];
  if (pairs.empty())
    return false;
  const CopyPair &pair =
      pairs[random.below(static_cast<int64_t>(pairs.size()))];
  const auto i = static_cast<int32_t>(random.below(graph.microbatches));
  CopyTaskId *const list = current.rank(rank);
  int32_t &count = current.length[rank];
  const CopyTaskId save = graph.id(pair.save, i), load = graph.id(pair.load, i);
  if (!graph.exists[save] ||
      std::find(list, list + count, save) != list + count)
    return false;
  const auto placeOf = [&](int32_t row) {
    return static_cast<int32_t>(
        std::find(list, list + count, graph.id(row, i)) - list);
  };
  const int32_t forward = placeOf(pair.forward),
                consumer = placeOf(pair.consumer);
  const int32_t away = consumer - forward - 1;
  const auto saveAt =
      forward + 1 +
      static_cast<int32_t>(random.below(2) ? 0 : random.below(away + 1));
  const int32_t loadAt =
      consumer - static_cast<int32_t>(random.below(
                     std::min<int64_t>(maxLead, consumer - saveAt) + 1));
  std::copy_backward(list + loadAt, list + count, list + count + 1);
  list[loadAt] = load;
  ++count;
  std::copy_backward(list + saveAt, list + count, list + count + 1);
  list[saveAt] = save;
  ++count;
  // A task that waited for memory may come earlier now.
  if (random.below(2)) {
    const int32_t to = saveAt + 1 + static_cast<int32_t>(random.below(maxLead));
    int32_t from = to;
    for (; from < count && graph.row(list[from]).takes == 0; ++from)
      ;
    if (from < count && to < from)
      std::rotate(list + to, list + from, list + from + 1);
  }
  return settle(rank, randomOverflow());
}

bool CopyAnnealing::removeCopies(int32_t rank) {
  changedRank = rank;
  CopyTaskId *const list = current.rank(rank);
  int32_t &count = current.length[rank];
  const auto isSave = [&](CopyTaskId t) {
    return graph.row(t).kind == ActionKind::Save;
  };
  const auto copies = std::count_if(list, list + count, isSave);
  if (copies == 0)
    return false;
  int64_t chosen = random.below(copies);
  CopyTaskId *at = list;
  for (;; ++at)
    if (isSave(*at) && chosen-- == 0)
      break;
  const CopyTaskId save = *at, load = save + graph.microbatches; // next row
  CopyTaskId *end = std::remove(at, list + count, save);
  end = std::remove(at, end, load);
  count = static_cast<int32_t>(end - list);
  return settle(rank, randomOverflow());
}

/// Exchanges the Fs of two micro-batches from a stage on, or up to it, on all
/// ranks: activations that were nested follow each other, and the other way
/// round.
bool CopyAnnealing::exchangeForwards() {
  changedRank = allRanks;
  if (graph.microbatches < 2)
    return false;
  const auto a = static_cast<int32_t>(random.below(graph.microbatches));
  auto b = static_cast<int32_t>(random.below(graph.microbatches - 1));
  b += b >= a;
  const int64_t which = random.below(3), replicas = graph.numReplicas();
  const int64_t from = random.below(replicas);
  for (int32_t r = 0; r < graph.ranks; ++r)
    for (CopyTaskId *t = current.rank(r), *end = t + current.length[r]; t < end;
         ++t) {
      const int32_t row = graph.rowOf(*t), i = graph.microbatchOf(*t);
      const int64_t replica = graph.rows[row].replica;
      if (graph.rows[row].kind != ActionKind::Forward || (i != a && i != b) ||
          (which == 1 && replica < from) || (which == 2 && replica > from))
        continue;
      if (const CopyTaskId other = graph.id(row, i == a ? b : a);
          graph.exists[other])
        *t = other;
    }
  const CopyOverflow overflow = randomOverflow();
  for (int32_t r = 0; r < graph.ranks; ++r)
    if (!legalizer.legalize(current, r, overflow, 1))
      return false;
  return true;
}

bool CopyAnnealing::change() {
  if (random.below(movesPerExchange) == 0)
    return exchangeForwards();
  const int64_t kind = random.below(allMoves);
  if (kind < movesToAdd)
    return addCopies(randomRank());
  if (kind < movesToAdd + movesToRemove)
    return removeCopies(randomRank());
  if (kind < movesToAdd + movesToRemove + movesAnywhere || path.empty())
    return shiftAnywhere();
  return shiftOnPath();
}

/// Copies the list of one rank.
static void copyRank(const CopyLists &from, CopyLists &to, int32_t rank) {
  to.length[rank] = from.length[rank];
  std::copy(from.rank(rank), from.rank(rank) + from.length[rank],
            to.rank(rank));
}

void CopyAnnealing::copyChanged(const CopyLists &from, CopyLists &to) const {
  for (int32_t r = 0; r < graph.ranks; ++r)
    if (changedRank == allRanks || changedRank == r)
      copyRank(from, to, r);
}

int64_t CopyAnnealing::run(CopyLists &lists, int64_t bound, int64_t tasks,
                           const Settings &settings) {
  current = kept = best = lists;
  int64_t value = timeOf(current), bestValue = value;
  if (value == infinite)
    return value;
  path = timer.criticalPath();
  const int64_t begin = budget.tasksUsed();
  const double first = settings.hot * double(value);
  const auto energyOf = [&](int64_t objective) {
    return double(objective) + settings.weightOfEnds *
                                   double(timer.sumOfEnds()) /
                                   double(graph.ranks);
  };
  double energy = energyOf(value);
  int64_t used = 0;
  while (bestValue > bound && used < tasks) {
    const int64_t size = current.total();
    if (budget.isSpent(size))
      break;
    used = budget.tasksUsed() - begin;
    const double temperature =
        first * std::pow(coldest, double(used) / double(tasks));
    if (!change()) {
      budget.use(1 + size / 8);
      copyChanged(kept, current);
      continue;
    }
    budget.use(size);
    for (int32_t r = 0; r < graph.ranks; ++r)
      if (changedRank == allRanks || changedRank == r)
        timer.derive(current, r);
    // An energy is at least its objective.
    const double threshold =
        energy - temperature * std::log(random.unit() + 1e-300);
    const int64_t found =
        timer.run(current, static_cast<int64_t>(std::min(threshold, 4e18)));
    if (found == infinite || energyOf(found) > threshold) {
      copyChanged(kept, current);
      for (int32_t r = 0; r < graph.ranks; ++r)
        if (changedRank == allRanks || changedRank == r)
          timer.undo(r);
      continue;
    }
    value = found;
    energy = energyOf(found);
    path = timer.criticalPath();
    copyChanged(current, kept);
    if (value < bestValue) {
      bestValue = value;
      best = current;
    }
  }
  lists = best;
  return bestValue;
}

int64_t CopyAnnealing::dropCopies(CopyLists &lists) {
  int64_t value = timeOf(lists);
  kept = lists;
  for (int32_t r = 0; r < graph.ranks; ++r)
    for (int32_t at = 0; at < kept.length[r] && !budget.isSpent(); ++at) {
      const CopyTaskId save = kept.rank(r)[at];
      if (graph.row(save).kind != ActionKind::Save)
        continue;
      current = kept;
      CopyTaskId *const list = current.rank(r);
      CopyTaskId *end = std::remove(list, list + current.length[r], save);
      end = std::remove(list, end, save + graph.microbatches);
      current.length[r] = static_cast<int32_t>(end - list);
      if (!legalizer.legalize(current, r, CopyOverflow::Defer, 0))
        continue;
      if (const int64_t found = timeOf(current); found <= value) {
        value = found;
        kept = current;
        --at;
      }
    }
  lists = kept;
  return value;
}
