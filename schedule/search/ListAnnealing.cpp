//===- ListAnnealing.cpp - Local search on the lists of ranks -------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "schedule/search/ListAnnealing.h"

#include <algorithm>
#include <numeric>

using namespace rondo;

/// Work of a simulation, per task.
static constexpr int64_t stepsOfSimulation = 4;
/// The temperature falls in this many steps to a part of 0.02.
static constexpr int64_t coolings = 64;
static constexpr double coolingFactor = 0.940713;
/// Entries between a LOAD that is added and the task that needs it, at most.
static constexpr int64_t maxLead = 3;

ListAnnealing::ListAnnealing(const TaskGraph &graph, OrderClass orders,
                             uint64_t seed, Budget &budget)
    : graph(graph), orders(orders), random(seed), budget(budget),
      legalizer(graph, orders), timer(graph),
      hasPairs(std::any_of(graph.pairs.begin(), graph.pairs.end(),
                           [](const auto &pairs) { return !pairs.empty(); })),
      current(makeLists(graph)), kept(current), best(current),
      renamed(graph.microbatches) {
  using Self = ListAnnealing;
  if (hasPairs)
    moves = {{&Self::shiftOnPath, 13},
             {&Self::shiftAnywhere, 4},
             {&Self::addCopies, 3},
             {&Self::removeCopies, 3},
             {&Self::exchangeForwards, 1}};
  else
    moves = {{&Self::shiftOnPath, 3}, {&Self::shiftAnywhere, 1}};
  if (!hasPairs && orders != OrderClass::Index)
    moves.push_back({&Self::changeOrder, 1});
  for (const Move &move : moves)
    weights += move.weight;
}

bool ListAnnealing::legalize(RankLists &lists, Overflow overflow) {
  RankLists trial = lists;
  budget.use(lists.total());
  for (int32_t r = 0; r < graph.ranks; ++r)
    if (!legalizer.legalize(trial, r, overflow))
      return false;
  lists = std::move(trial);
  return true;
}

int64_t ListAnnealing::timeOf(const RankLists &lists) {
  budget.use(2 * lists.total());
  for (int32_t r = 0; r < graph.ranks; ++r)
    timer.derive(lists, r);
  return timeUpTo(lists, infinite);
}

int64_t ListAnnealing::timeUpTo(const RankLists &lists, int64_t limit) {
  const int64_t ns = timer.run(lists, limit);
  if (!exactNs || ns > limit || ns == infinite)
    return ns;
  budget.use(stepsOfSimulation * lists.total());
  return exactNs(lists);
}

int32_t ListAnnealing::randomRank() {
  return static_cast<int32_t>(random.below(graph.ranks));
}

Overflow ListAnnealing::randomOverflow() {
  const int64_t kind = random.below(hasPairs ? 5 : 4);
  return kind < 2   ? Overflow::Defer
         : kind < 4 ? Overflow::Pull
                    : Overflow::Copy;
}

/// Whether two lists of a rank are the same.
static bool isEqual(const RankLists &a, const RankLists &b, int32_t rank) {
  return std::equal(a.rank(rank), a.rankEnd(rank), b.rank(rank),
                    b.rankEnd(rank));
}

/// Makes the changed list legal, whose first and last entries have not changed.
/// False if it cannot be or is the same.
bool ListAnnealing::settle(int32_t rank, int32_t atBegin, int32_t atEnd) {
  const auto lead = static_cast<int32_t>(random.below(maxLead + 1));
  return legalizer.legalize(current, rank, randomOverflow(), lead, atBegin,
                            atEnd) &&
         !isEqual(current, kept, rank);
}

bool ListAnnealing::settleAll() {
  const Overflow overflow = randomOverflow();
  bool isNew = false;
  for (int32_t r = 0; r < graph.ranks; ++r) {
    if (!legalizer.legalize(current, r, overflow))
      return false;
    isNew |= !isEqual(current, kept, r);
  }
  return isNew;
}

/// Moves an action of a list to another position.
bool ListAnnealing::shift(int32_t rank, int32_t from, int32_t to) {
  changedRank = rank;
  TaskId *const list = current.rank(rank);
  if (from < to)
    std::rotate(list + from, list + from + 1, list + to + 1);
  else if (to < from)
    std::rotate(list + to, list + from, list + from + 1);
  return from != to && settle(rank, std::min(from, to),
                              current.length[rank] - 1 - std::max(from, to));
}

/// Moves it to a near position more often than to a far one.
bool ListAnnealing::shiftNear(int32_t rank, int32_t from) {
  const int32_t count = current.length[rank];
  const auto reach =
      static_cast<int32_t>(1 + random.below(1 + random.below(count)));
  return shift(
      rank, from,
      std::clamp(random.below(2) ? from + reach : from - reach, 0, count - 1));
}

int32_t ListAnnealing::positionOf(TaskId t) const {
  const int32_t rank = graph.row(t).rank;
  const TaskId *list = current.rank(rank);
  return static_cast<int32_t>(std::find(list, current.rankEnd(rank), t) - list);
}

/// Moves an action of a longest path over others of its block: those of its
/// lane that follow each other without a pause. Or to a place near it.
bool ListAnnealing::shiftOnPath() {
  if (path.empty())
    return shiftAnywhere();
  // `path` runs backwards in time.
  const auto length = static_cast<int64_t>(path.size());
  const int64_t at = random.below(length);
  const TaskRow &row = graph.row(path[at]);
  int64_t last = at, first = at;
  const auto isSame = [&](int64_t i) {
    const TaskRow &other = graph.row(path[i]);
    return other.rank == row.rank && other.lane == row.lane;
  };
  while (last > 0 && isSame(last - 1))
    --last;
  while (first + 1 < length && isSame(first + 1))
    ++first;
  changedRank = row.rank;
  if (first == last || random.below(4) == 0)
    return shiftNear(row.rank, positionOf(path[at]));
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
  return from != to &&
         shift(row.rank, positionOf(path[from]), positionOf(path[to]));
}

bool ListAnnealing::shiftAnywhere() {
  const int32_t rank = changedRank = randomRank(), count = current.length[rank];
  return count > 1 &&
         shiftNear(rank, static_cast<int32_t>(random.below(count)));
}

/// Adds the copies of a micro-batch that has none: SAVE near F, LOAD near the
/// task that needs it.
bool ListAnnealing::addCopies() {
  const int32_t rank = changedRank = randomRank();
  const std::vector<CopyPair> &pairs = graph.pairs[rank];
  if (pairs.empty())
    return false;
  const CopyPair &pair =
      pairs[random.below(static_cast<int64_t>(pairs.size()))];
  const auto i = static_cast<int32_t>(random.below(graph.microbatches));
  TaskId *const list = current.rank(rank);
  int32_t &count = current.length[rank];
  const TaskId save = graph.id(pair.save, i), load = graph.id(pair.load, i);
  if (!graph.exists[save] || positionOf(save) < count)
    return false;
  const int32_t forward = positionOf(graph.id(pair.forward, i)),
                consumer = positionOf(graph.id(pair.consumer, i));
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
    for (; from < count && graph.tasks[list[from]].takes == 0; ++from)
      ;
    if (from < count && to < from)
      std::rotate(list + to, list + from, list + from + 1);
  }
  return settle(rank, saveAt, 0);
}

void ListAnnealing::removePair(int32_t rank, TaskId save) {
  TaskId *const list = current.rank(rank);
  const TaskId load = graph.id(graph.row(save).replica, ActionKind::Load,
                               graph.tasks[save].microbatch);
  TaskId *const end =
      std::remove_if(list, list + current.length[rank],
                     [&](TaskId t) { return t == save || t == load; });
  current.length[rank] = static_cast<int32_t>(end - list);
}

bool ListAnnealing::removeCopies() {
  const int32_t rank = changedRank = randomRank();
  const auto isSave = [&](TaskId t) {
    return graph.row(t).kind == ActionKind::Save;
  };
  const TaskId *at = current.rank(rank);
  const auto copies = std::count_if(at, current.rankEnd(rank), isSave);
  if (copies == 0)
    return false;
  int64_t chosen = random.below(copies);
  while (!isSave(*at) || chosen-- > 0)
    ++at;
  const auto unchanged = static_cast<int32_t>(at - current.rank(rank));
  removePair(rank, *at);
  return settle(rank, unchanged, 0);
}

void ListAnnealing::rename(TaskId &t) const {
  const TaskFigures &task = graph.tasks[t];
  if (const TaskId other = graph.id(task.row, renamed[task.microbatch]);
      graph.exists[other])
    t = other;
}

/// Exchanges the Fs of two micro-batches from a stage on, or up to it, on all
/// ranks: activations that were nested follow each other, and the other way
/// round.
bool ListAnnealing::exchangeForwards() {
  changedRank = allRanks;
  if (graph.microbatches < 2)
    return false;
  const auto a = random.below(graph.microbatches);
  auto b = random.below(graph.microbatches - 1);
  b += b >= a;
  std::iota(renamed.begin(), renamed.end(), 0);
  std::swap(renamed[a], renamed[b]);
  const int64_t which = random.below(3),
                from = random.below(graph.numReplicas());
  for (int32_t r = 0; r < graph.ranks; ++r)
    for (TaskId *t = current.rank(r), *end = t + current.length[r]; t < end;
         ++t)
      if (const TaskRow &row = graph.row(*t);
          row.kind == ActionKind::Forward &&
          (which != 1 || row.replica >= from) &&
          (which != 2 || row.replica <= from))
        rename(*t);
  return settleAll();
}

/// Exchanges two micro-batches of the order, or moves one to another place, in
/// the lists of all ranks: of all tasks, or of some kinds.
bool ListAnnealing::changeOrder() {
  changedRank = allRanks;
  const int32_t count = graph.microbatches;
  if (count < 2)
    return false;
  const auto a = static_cast<int32_t>(random.below(count));
  auto b = static_cast<int32_t>(random.below(count - 1));
  b += b >= a;
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
  // Tasks of one micro-batch take the places of those of another only if every
  // replica takes every micro-batch.
  if (graph.isWhole)
    for (int32_t r = 0; r < graph.ranks; ++r)
      for (TaskId *t = current.rank(r), *end = t + current.length[r]; t < end;
           ++t)
        if (areRenamed[taskOf(graph.row(*t).kind)])
          rename(*t);
  return settleAll();
}

bool ListAnnealing::change() {
  int64_t number = random.below(weights);
  const Move *move = moves.data();
  while ((number -= move->weight) >= 0)
    ++move;
  return (this->*move->make)();
}

void ListAnnealing::copyChanged(const RankLists &from, RankLists &to) const {
  if (changedRank == allRanks) {
    to = from;
    return;
  }
  to.length[changedRank] = from.length[changedRank];
  std::copy_n(from.rank(changedRank), from.length[changedRank],
              to.rank(changedRank));
}

int64_t ListAnnealing::run(RankLists &lists, int64_t bound, int64_t tasks,
                           const Settings &settings) {
  current = kept = best = lists;
  int64_t value = timeOf(current), bestValue = value;
  if (value == infinite)
    return value;
  path = timer.criticalPath();
  const int64_t begin = budget.tasksUsed();
  double temperature = settings.hot * double(value);
  const auto energyOf = [&](int64_t objective) {
    return double(objective) + settings.weightOfEnds *
                                   double(timer.sumOfEnds()) /
                                   double(graph.ranks);
  };
  double energy = energyOf(value);
  int64_t used = 0, cooled = 0;
  while (bestValue > bound && used < tasks) {
    const int64_t size = current.total();
    if (budget.isSpent(size))
      break;
    used = budget.tasksUsed() - begin;
    for (; cooled < coolings * used / tasks; ++cooled)
      temperature *= coolingFactor;
    if (!change()) {
      budget.use(1 + size / 8);
      copyChanged(kept, current);
      continue;
    }
    budget.use(size);
    for (int32_t r = 0; r < graph.ranks; ++r)
      if (isChanged(r))
        timer.derive(current, r);
    // An energy is at least its objective. Compilers may round a sum with a
    // product in one step or in two, unlike one with a quotient.
    const double threshold = energy + random.exponential() / (1 / temperature);
    const int64_t found =
        timeUpTo(current, static_cast<int64_t>(std::min(threshold, 4e18)));
    if (found == infinite || energyOf(found) > threshold) {
      copyChanged(kept, current);
      for (int32_t r = 0; r < graph.ranks; ++r)
        if (isChanged(r))
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

int64_t ListAnnealing::dropCopies(RankLists &lists) {
  int64_t value = timeOf(lists);
  kept = lists;
  for (int32_t r = 0; r < graph.ranks; ++r)
    for (int32_t at = 0; at < kept.length[r] && !budget.isSpent(); ++at) {
      const TaskId save = kept.rank(r)[at];
      if (graph.row(save).kind != ActionKind::Save)
        continue;
      current = kept;
      removePair(r, save);
      if (!legalizer.legalize(current, r, Overflow::Defer, 0))
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
