//===- CopyLegalizer.cpp - Makes lists with copies legal ------------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "schedule/search/CopyLists.h"

#include <algorithm>

using namespace rondo;

CopyLegalizer::CopyLegalizer(const CopyGraph &graph)
    : graph(graph), isPlaced(graph.size()), isListed(graph.size()),
      at(graph.size()), next(graph.rows.size()) {
  made.reserve(graph.size());
  deferred.reserve(graph.size());
  pending.reserve(graph.size());
}

/// The task that an entry of the list stands for now: the next one if its row
/// has an order. -1 if it has been placed.
CopyTaskId CopyLegalizer::meantBy(CopyTaskId t) const {
  const int32_t row = graph.rowOf(t);
  if (!graph.rows[row].isOrdered)
    return isPlaced[t] ? -1 : t;
  for (int32_t i = next[row]; i < graph.microbatches; ++i)
    if (const CopyTaskId meant = graph.id(row, i); graph.exists[meant])
      return meant;
  return -1;
}

bool CopyLegalizer::isAvailable(CopyTaskId t) const {
  const CopyRow &row = graph.row(t);
  const int32_t i = graph.microbatchOf(t);
  if (row.before >= 0 && !isPlaced[graph.id(row.before, i)])
    return false;
  if (row.load >= 0)
    if (const CopyTaskId load = graph.id(row.load, i);
        isListed[load] && !isPlaced[load])
      return false;
  for (int32_t s = row.sourceBegin; s < row.sourceEnd; ++s)
    if (const CopyTaskId source = graph.id(graph.sources[s], i);
        graph.exists[source] && !isPlaced[source])
      return false;
  return true;
}

void CopyLegalizer::place(CopyTaskId t) {
  const int32_t number = graph.rowOf(t);
  const CopyRow &row = graph.rows[number];
  isPlaced[t] = true;
  made.push_back(t);
  held += row.takes - row.frees;
  hostHeld += row.hostTakes - row.hostFrees;
  next[number] = graph.microbatchOf(t) + 1;
}

void CopyLegalizer::retryDeferred() {
  for (size_t i = 0; i < deferred.size();) {
    const CopyTaskId t = meantBy(deferred[i]);
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
void CopyLegalizer::pullFor(CopyTaskId t, const CopyTaskId *rest,
                            const CopyTaskId *end) {
  for (; !fits(t) && rest < end; ++rest) {
    const CopyTaskId meant = meantBy(*rest);
    if (meant < 0 || meant == t)
      continue;
    const CopyRow &row = graph.row(meant);
    if ((row.frees > row.takes || row.hostFrees > 0) && isReady(meant))
      place(meant);
  }
}

/// Copies micro-batches until `t` fits: those that are needed last.
void CopyLegalizer::copyFor(CopyTaskId t, int32_t rank) {
  const CopyRow &own = graph.row(t);
  while (held + own.takes > cap) {
    CopyTaskId best = -1, load = -1;
    int32_t bestAt = -1;
    for (const CopyPair &pair : graph.pairs[rank])
      for (int32_t i = 0; i < graph.microbatches; ++i) {
        const CopyTaskId save = graph.id(pair.save, i),
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

void CopyLegalizer::makeSpace(CopyTaskId t, int32_t rank,
                              const CopyTaskId *rest, const CopyTaskId *end,
                              CopyOverflow overflow) {
  if (fits(t) || overflow == CopyOverflow::Defer)
    return;
  if (overflow == CopyOverflow::Copy)
    copyFor(t, rank);
  if (!fits(t))
    pullFor(t, rest, end);
}

bool CopyLegalizer::legalize(CopyLists &lists, int32_t rank,
                             CopyOverflow overflow, int32_t leadOfLoads) {
  CopyTaskId *const begin = lists.rank(rank), *const end =
                                                  begin + lists.length[rank];
  made.clear();
  deferred.clear();
  pending.clear();
  held = hostHeld = 0;
  cap = graph.caps[rank];
  hostCap = graph.hostCaps[rank];
  number = lists.length[rank];
  lead = leadOfLoads;
  for (const CopyPair &pair : graph.pairs[rank])
    for (const int32_t row : {pair.save, pair.load})
      std::fill_n(isListed.begin() + graph.id(row, 0), graph.microbatches, 0);
  for (const CopyTaskId *t = begin; t < end; ++t) {
    isPlaced[*t] = false;
    isListed[*t] = true;
    at[*t] = static_cast<int32_t>(t - begin);
    next[graph.rowOf(*t)] = 0;
  }
  // The places of ordered tasks are those of their entries in ascending order.
  if (overflow == CopyOverflow::Copy)
    for (const CopyTaskId *entry = begin; entry < end; ++entry)
      if (const int32_t row = graph.rowOf(*entry); graph.rows[row].isOrdered) {
        const CopyTaskId t = meantBy(*entry);
        at[t] = static_cast<int32_t>(entry - begin);
        next[row] = graph.microbatchOf(t) + 1;
      }
  for (const CopyTaskId *t = begin; t < end; ++t)
    next[graph.rowOf(*t)] = 0;

  for (const CopyTaskId *entry = begin; entry < end; ++entry) {
    // LOADs that were added are due a few entries before their tasks.
    for (size_t i = 0; i < pending.size();)
      if (at[pending[i]] <= entry - begin) {
        const CopyTaskId load = pending[i];
        pending.erase(pending.begin() + static_cast<ptrdiff_t>(i));
        if (!isPlaced[load] && isReady(load))
          place(load);
        else if (!isPlaced[load])
          deferred.push_back(load);
      } else {
        ++i;
      }
    const CopyTaskId t = meantBy(*entry);
    if (t < 0)
      continue;
    if (overflow == CopyOverflow::Copy)
      if (const CopyRow &row = graph.row(t); row.load >= 0)
        if (const CopyTaskId load = graph.id(row.load, graph.microbatchOf(t));
            isListed[load] && !isPlaced[load] && isAvailable(load)) {
          makeSpace(load, rank, entry, end, overflow);
          if (fits(load) && !isPlaced[load])
            place(load);
        }
    if (!isPlaced[t] && isAvailable(t))
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
  for (const CopyTaskId load : pending)
    deferred.push_back(load);
  retryDeferred();
  if (static_cast<int32_t>(made.size()) != number)
    return false;
  std::copy(made.begin(), made.end(), begin);
  lists.length[rank] = number;
  return true;
}
