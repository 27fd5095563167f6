//===- Legalizer.cpp - Makes lists legal ----------------------------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "schedule/lists/RankLists.h"

#include <algorithm>

using namespace rondo;

Legalizer::Legalizer(const TaskGraph &graph, OrderClass orders)
    : graph(graph), isPlaced(graph.size()), isListed(graph.size()),
      at(graph.size()), passed(graph.rows.size()) {
  for (const TaskRow &row : graph.rows)
    isOrdered.push_back(graph.isOrdered(orders, row));
  made.reserve(graph.size());
  deferred.reserve(graph.size());
  pending.reserve(graph.size());
}

/// The task that an entry of the list stands for now: the next one if its row
/// has an order. -1 if it has been placed.
TaskId Legalizer::meantBy(TaskId t) const {
  const int32_t row = graph.tasks[t].row;
  if (!isOrdered[row])
    return isPlaced[t] ? -1 : t;
  for (int32_t next = passed[row]; next < graph.microbatches; ++next)
    if (const TaskId meant = graph.id(row, lists->order[next]);
        graph.exists[meant])
      return meant;
  return -1;
}

bool Legalizer::isAvailable(TaskId t) const {
  const TaskFigures &task = graph.tasks[t];
  if ((task.before >= 0 && !isPlaced[task.before]) ||
      (task.load >= 0 && isListed[task.load] && !isPlaced[task.load]))
    return false;
  if (!task.hasSources)
    return true;
  const TaskRow &row = graph.rows[task.row];
  for (int32_t s = row.sourceBegin; s < row.sourceEnd; ++s)
    if (const TaskId source = graph.id(graph.sources[s], task.microbatch);
        graph.exists[source] && !isPlaced[source])
      return false;
  return true;
}

void Legalizer::place(TaskId t) {
  const TaskFigures &task = graph.tasks[t];
  isPlaced[t] = true;
  made.push_back(t);
  held += task.takes - task.frees;
  if (hasCopies)
    hostHeld += graph.hostTakes(t) - graph.hostFrees(t);
  passed[task.row] = lists->place[task.microbatch] + 1;
}

void Legalizer::retryDeferred() {
  for (size_t i = 0; i < deferred.size();) {
    const TaskId t = meantBy(deferred[i]);
    if (t >= 0 && !isReady(t)) {
      ++i;
      continue;
    }
    deferred.erase(deferred.begin() + static_cast<ptrdiff_t>(i));
    if (t < 0)
      continue;
    place(t);
    i = 0;
  }
}

/// Places actions of the rest of the list that free bytes, until `t` fits.
void Legalizer::pullFor(TaskId t, const TaskId *rest, const TaskId *end) {
  for (; !fits(t) && rest < end; ++rest) {
    if (graph.row(*rest).kind == ActionKind::Forward)
      continue;
    const TaskId meant = meantBy(*rest);
    if (meant < 0 || meant == t)
      continue;
    const TaskFigures &task = graph.tasks[meant];
    if ((task.frees > task.takes || graph.hostFrees(meant) > 0) &&
        isReady(meant))
      place(meant);
  }
}

/// Copies micro-batches until `t` fits: those that are needed last.
void Legalizer::copyFor(TaskId t, int32_t rank) {
  while (held + graph.tasks[t].takes > cap) {
    TaskId best = -1, load = -1;
    int32_t bestAt = -1;
    for (const CopyPair &pair : graph.pairs[rank])
      for (int32_t i = 0; i < graph.microbatches; ++i) {
        const TaskId save = graph.id(pair.save, i),
                     consumer = graph.id(pair.consumer, i);
        if (!isPlaced[graph.id(pair.forward, i)] || isListed[save] ||
            isPlaced[consumer] || consumer == t || at[consumer] <= bestAt ||
            !fits(save))
          continue;
        best = save;
        load = graph.id(pair.load, i);
        bestAt = at[consumer];
      }
    if (best < 0)
      return;
    isListed[best] = isListed[load] = true;
    isPlaced[load] = false;
    number += 2;
    at[load] = bestAt - lead;
    place(best);
    pending.push_back(load);
  }
}

void Legalizer::makeSpace(TaskId t, int32_t rank, const TaskId *rest,
                          const TaskId *end, Overflow overflow) {
  if (overflow == Overflow::Defer || fits(t) || !isAvailable(t))
    return;
  if (overflow == Overflow::Copy)
    copyFor(t, rank);
  if (!fits(t))
    pullFor(t, rest, end);
}

void Legalizer::readList(const TaskId *end, Overflow overflow) {
  for (const TaskId *t = begin; t < end; ++t) {
    isPlaced[*t] = false;
    passed[graph.tasks[*t].row] = 0;
  }
  if (hasCopies)
    for (const TaskId *t = begin; t < end; ++t)
      isListed[*t] = true;
  if (overflow != Overflow::Copy)
    return;
  // The places of ordered tasks are those of their entries in ascending order.
  for (const TaskId *entry = begin; entry < end; ++entry) {
    TaskId t = *entry;
    if (const int32_t row = graph.tasks[t].row; isOrdered[row]) {
      t = meantBy(t);
      passed[row] = lists->place[graph.tasks[t].microbatch] + 1;
    }
    at[t] = static_cast<int32_t>(entry - begin);
  }
  for (const TaskId *t = begin; t < end; ++t)
    passed[graph.tasks[*t].row] = 0;
}

/// LOADs that were added are due a few entries before their tasks.
void Legalizer::placePending(int32_t position) {
  for (size_t i = 0; i < pending.size();) {
    const TaskId load = pending[i];
    if (at[load] > position) {
      ++i;
      continue;
    }
    pending.erase(pending.begin() + static_cast<ptrdiff_t>(i));
    if (!isPlaced[load] && isReady(load))
      place(load);
    else if (!isPlaced[load])
      deferred.push_back(load);
  }
}

bool Legalizer::legalize(RankLists &given, int32_t rank, Overflow overflow,
                         int32_t leadOfLoads, int32_t atBegin, int32_t atEnd) {
  lists = &given;
  begin = given.rank(rank);
  const TaskId *const end = given.rankEnd(rank);
  made.clear();
  deferred.clear();
  pending.clear();
  held = hostHeld = 0;
  cap = graph.caps[rank];
  hostCap = graph.hostCaps[rank];
  hasCopies = graph.mayCopy[rank];
  number = given.length[rank];
  lead = leadOfLoads;
  for (const CopyPair &pair : graph.pairs[rank])
    for (const int32_t row : {pair.save, pair.load})
      std::fill_n(isListed.begin() + graph.id(row, 0), graph.microbatches, 0);
  readList(end, overflow);
  for (const TaskId *entry = begin; entry < begin + atBegin; ++entry)
    place(*entry);
  for (const TaskId *entry = begin + atBegin; entry < end; ++entry) {
    // The same tasks are placed as in the legal list: the rest is legal.
    if (entry >= end - atEnd && deferred.empty() && pending.empty() &&
        static_cast<ptrdiff_t>(made.size()) == entry - begin) {
      made.insert(made.end(), entry, end);
      break;
    }
    placePending(static_cast<int32_t>(entry - begin));
    const TaskId t = meantBy(*entry);
    if (t < 0)
      continue;
    if (overflow == Overflow::Copy)
      if (const TaskId load = graph.tasks[t].load;
          load >= 0 && isListed[load] && !isPlaced[load]) {
        makeSpace(load, rank, entry, end, overflow);
        if (!isPlaced[load] && isReady(load))
          place(load);
      }
    if (!isPlaced[t])
      makeSpace(t, rank, entry + 1, end, overflow);
    if (isPlaced[t])
      continue; // pulled
    if (!isReady(t)) {
      deferred.push_back(*entry);
      continue;
    }
    place(t);
    if (!deferred.empty())
      retryDeferred();
  }
  deferred.insert(deferred.end(), pending.begin(), pending.end());
  retryDeferred();
  if (static_cast<int32_t>(made.size()) != number)
    return false;
  std::copy(made.begin(), made.end(), given.rank(rank));
  given.length[rank] = number;
  return true;
}
