//===- Propagation.cpp - Earliest times of tasks --------------------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "schedule/partial/Propagation.h"

#include <algorithm>

using namespace rondo;

/// Work in ns of the rank's own tasks that must run before a task. Calls must
/// be in order of k and, for one k, in the order in which the tasks run.
int64_t Propagation::workBefore(const PartialState &state, const Row &row,
                                int32_t k) {
  const int64_t own = (k - row.done) * row.ns;
  if (flat.isChain) {
    const int64_t seen = workSeen[row.rank];
    workSeen[row.rank] += own + row.ns;
    return seen + own;
  }
  int64_t work = own;
  const int64_t *done = state.done();
  for (int32_t i = row.before.begin; i < row.before.end; ++i)
    work += std::max<int64_t>(0, k + 1 - done[before[i].code]) * before[i].ns;
  return work;
}

void Propagation::startRows(const PartialState &state) {
  for (Task task : {Task::F, Task::I})
    for (int32_t s = 0; s < flat.stages; ++s) {
      Row &row = rows[task][s];
      row.done = state.done(task, s);
      row.clock = state.clock(row.rank);
    }
}

/// Starts with the bytes that completed tasks have released, which count as
/// released at time 0.
void Propagation::startCursors(const PartialState &state) {
  for (int32_t rank = 0; rank < flat.ranks; ++rank) {
    const auto &stages = flat.stagesOf[rank];
    int64_t freed = 0;
    for (int32_t s : stages)
      freed += state.done(Task::I, s) * flat.inputGradFrees[s] +
               state.done(Task::W, s) * flat.weightGradFrees[s];
    for (int32_t s : stages) {
      Cursor &cursor = cursors[s];
      cursor.freed = freed;
      cursor.time = 0;
      int32_t next = cursor.begin;
      for (const Release &release : releases[rank])
        nextReleases[next++] =
            int32_t(state.done(release.task, stages[release.place]));
    }
  }
}

/// Bytes that must have been released before F of (s, k) starts: what the
/// stages of its rank must have taken by then, minus the cap. A stage that has
/// taken more only increases the need. Sets `limits`: the micro-batches of each
/// stage that can have released bytes by then. A stage whose I waits for this F
/// has released nothing of micro-batch k. For other stages, micro-batches from
/// k on are not counted.
Propagation::Need Propagation::needOf(const PartialState &state, int32_t s,
                                      int32_t k) {
  const int32_t rank = flat.rankOf[s];
  const auto &stages = flat.stagesOf[rank];
  Need need{-flat.caps[rank], 0};
  for (int32_t i = 0; i < int32_t(stages.size()); ++i) {
    const int64_t done = state.done(Task::F, stages[i]);
    int64_t count;
    if (flat.isChain) {
      count = std::max<int64_t>(capOrders[rank].started(place[s], k, i), done);
    } else {
      const bool isHeld = flat.leadsTo(Task::F, s, Task::I, stages[i]);
      const bool isBefore =
          i == place[s] || flat.leadsTo(Task::F, stages[i], Task::F, s);
      count = isHeld ? std::max<int64_t>(isBefore ? k + 1 : 0, done)
                     : std::min<int64_t>(isBefore ? k : done, k);
    }
    limits[i] = flat.isChain && i <= place[s] ? k : std::min<int64_t>(k, count);
    need.bytes += count * flat.takes[stages[i]];
    if (i > place[s] && count > done)
      need.start = std::max(
          need.start, head[Task::F][flat.at(stages[i], int32_t(count - 1))] +
                          flat.ns[Task::F][stages[i]]);
  }
  return need;
}

/// Earliest time at which enough bytes have been released for F of (s, k).
/// Calls must be in order of k.
int64_t Propagation::releaseTime(const PartialState &state, int32_t s,
                                 int32_t k) {
  const Need need = needOf(state, s, k);
  const std::vector<Release> &all = releases[flat.rankOf[s]];
  Cursor &cursor = cursors[s];
  int32_t *next = &nextReleases[cursor.begin];
  while (cursor.freed < need.bytes) {
    int64_t first = never;
    size_t which = 0;
    for (size_t i = 0; i < all.size(); ++i) {
      if (next[i] >= limits[all[i].place])
        continue;
      const int64_t end = all[i].heads[next[i]] + all[i].ns;
      if (end < first) {
        first = end;
        which = i;
      }
    }
    if (first == never)
      return never;
    cursor.freed += all[which].bytes;
    ++next[which];
    cursor.time = std::max(cursor.time, first);
  }
  return std::max(need.start, cursor.time);
}

/// Earliest time at which all inputs of an F or I have arrived.
int64_t Propagation::arrivalFor(const PartialState &state, const Row &row,
                                int32_t k) const {
  int64_t time = 0;
  for (int32_t i = row.inputs.begin; i < row.inputs.end; ++i) {
    const Input &input = inputs[i];
    const bool isSent = k < state.sent(input.edge);
    // The producer has run, but the message is not sent. `input.from` is set
    // only for messages that take no time on their link.
    const bool isMade = !isSent && input.from && k < state.done()[*input.from];
    time =
        std::max(time, isSent   ? state.arrival(input.edge, k)
                       : isMade ? state.arrival(input.edge, k) + input.latencyNs
                                : input.starts[k] + input.delay);
  }
  return time;
}

/// Earliest time at which F of (s, k) is not banned any more: the end of an F
/// of another stage of its rank. Calls must be in order of k, then of s.
int64_t Propagation::endOfBan(const PartialState &state, int32_t s,
                              int32_t k) const {
  int64_t first = never;
  for (int32_t other : flat.stagesOf[flat.rankOf[s]]) {
    const int64_t next = state.done(Task::F, other);
    if (other == s || state.banned(other) || next >= flat.microbatches)
      continue;
    int64_t start;
    if (next < k || (next == k && other < s))
      start = head[Task::F][flat.at(other, int32_t(next))];
    else if (flat.leadsTo(Task::F, s, Task::F, other))
      continue;
    else {
      start = state.ready(flat, Task::F, other);
      start = std::max(state.clock(flat.rankOf[s]), start < never ? start : 0);
    }
    first = std::min(first, start + flat.ns[Task::F][other]);
  }
  return first;
}

int64_t Propagation::forwardHead(const PartialState &state, const Row &row,
                                 int32_t s, int32_t k) {
  int64_t start = row.clock + workBefore(state, row, k);
  start = std::max(start, arrivalFor(state, row, k));
  if (k > row.done)
    start = std::max(start, row.heads[k - 1] + row.ns);
  else if (state.banned(s))
    start = std::max(start, endOfBan(state, s, k));
  if (withMemory)
    start = std::max(start, releaseTime(state, s, k));
  return start;
}

int64_t Propagation::inputGradHead(const PartialState &state, const Row &row,
                                   int32_t s, int32_t k) {
  int64_t start = row.clock + workBefore(state, row, k);
  if (const Row &forward = rows[Task::F][s]; k >= forward.done)
    start = std::max(start, forward.heads[k] + forward.ns);
  start = std::max(start, arrivalFor(state, row, k));
  if (k > row.done)
    start = std::max(start, row.heads[k - 1] + row.ns);
  return start;
}

void Propagation::messageHead(const PartialState &state, int32_t edge,
                              int32_t k) {
  const FlatProblem::Message &message = flat.messages[edge];
  const int64_t at = flat.messageAt(edge, k);
  int64_t start = k < state.done(message.task, message.from)
                      ? state.arrival(edge, k)
                      : head[message.task][flat.at(message.from, k)] +
                            flat.ns[message.task][message.from];
  if (k > state.sent(edge))
    start = std::max(start, messageStart[at - 1] + message.occupancyNs);
  if (const int32_t before = message.previousInBurst;
      before >= 0 && flat.messages[before].occupancyNs > 0)
    start = std::max(start, messageStart[flat.messageAt(before, k)] +
                                flat.messages[before].occupancyNs);
  // When the link has carried all messages that must precede this one, if it is
  // never idle.
  int64_t free = state.linkFree(message.link);
  if (message.isContended) {
    free += (k - state.sent(edge)) * message.occupancyNs;
    for (int32_t other : flat.edgesOf[message.link]) {
      if (other == edge)
        break;
      if (flat.goesBefore(other, edge))
        free += std::max<int64_t>(0, k + 1 - state.sent(other)) *
                flat.messages[other].occupancyNs;
    }
  }
  messageStart[at] = std::min(never, std::max(start, free));
}

/// Computes the earliest starts. False if a task ends too late for `ceiling`.
bool Propagation::propagate(const PartialState &state, int64_t ceiling) {
  int32_t first = flat.microbatches;
  for (int32_t s = 0; s < flat.stages; ++s)
    first = std::min(first, int32_t(state.done(Task::W, s)));
  startRows(state);
  if (withMemory)
    startCursors(state);
  auto isTooLate = [&](const Row &row, int32_t k) {
    return row.heads[k] + row.ns + row.tails[k] >= ceiling;
  };
  auto startMessages = [&](const Row &row, int32_t k) {
    for (int32_t i = row.serialOutputs.begin; i < row.serialOutputs.end; ++i)
      if (k >= state.sent(serialOutputs[i]))
        messageHead(state, serialOutputs[i], k);
  };
  for (int32_t k = first; k < flat.microbatches; ++k) {
    std::fill(workSeen.begin(), workSeen.end(), 0);
    for (int32_t s = 0; s < flat.stages; ++s) {
      const Row &row = rows[Task::F][s];
      if (k >= row.done) {
        row.heads[k] = std::min(never, forwardHead(state, row, s, k));
        if (isTooLate(row, k))
          return false;
      }
      startMessages(row, k);
    }
    for (int32_t s = flat.stages; s-- > 0;) {
      const Row &row = rows[Task::I][s];
      if (k >= row.done) {
        row.heads[k] = std::min(never, inputGradHead(state, row, s, k));
        if (isTooLate(row, k))
          return false;
      }
      startMessages(row, k);
      const int64_t done = state.done(Task::W, s), at = flat.at(s, k);
      if (k < done)
        continue;
      int64_t start = k >= row.done ? row.heads[k] + row.ns : row.clock;
      if (k > done)
        start = std::max(start, head[Task::W][at - 1] + flat.ns[Task::W][s]);
      head[Task::W][at] = std::min(never, start);
    }
  }
  return true;
}

int64_t Propagation::jacksonOfRank(const PartialState &state, int32_t rank) {
  preemptive.clear();
  for (int32_t s : flat.stagesOf[rank])
    for (Task task : allTasks)
      preemptive.add(&head[task][flat.at(s, 0)], &tail.ns[task][flat.at(s, 0)],
                     flat.ns[task][s], state.done(task, s), flat.microbatches);
  const int64_t time = state.clock(rank);
  return preemptive.run(time, time + flat.endOffset[rank]);
}

int64_t Propagation::jacksonOfLink(const PartialState &state, int32_t link) {
  preemptive.clear();
  for (int32_t e : flat.edgesOf[link]) {
    const int64_t ns = flat.messages[e].occupancyNs;
    if (ns > 0)
      preemptive.add(&messageStart[flat.messageAt(e, 0)],
                     &tail.message[flat.messageAt(e, 0)], ns, state.sent(e),
                     flat.microbatches);
  }
  return preemptive.run(state.linkFree(link), -never);
}

Estimate Propagation::estimate(const PartialState &state, int64_t ceiling) {
  if (!propagate(state, ceiling))
    return {never, never};
  Estimate result;
  for (int32_t rank = 0; rank < flat.ranks; ++rank) {
    if (flat.stagesOf[rank].empty())
      continue;
    int64_t bound = jacksonOfRank(state, rank);
    if (bound >= ceiling)
      return {never, never};
    result.bound = std::max(result.bound, bound);
    result.sum += bound;
  }
  if (flat.hasContendedLinks)
    for (int32_t link = 0; link < flat.links; ++link)
      result.bound = std::max(result.bound, jacksonOfLink(state, link));
  return result;
}

void Propagation::tighten(PartialState &state) const {
  for (int32_t rank = 0; rank < flat.ranks; ++rank) {
    int64_t first = never;
    for (int32_t s : flat.stagesOf[rank])
      for (Task task : allTasks)
        if (int64_t k = state.done(task, s); k < flat.microbatches)
          first = std::min(first, head[task][flat.at(s, int32_t(k))]);
    if (first < never)
      state.clock(rank) = std::max(state.clock(rank), first);
  }
  for (size_t e = 0; e < flat.messages.size(); ++e) {
    const FlatProblem::Message &message = flat.messages[e];
    const std::vector<int64_t> &heads = head[message.task];
    const int64_t all = state.sent(int32_t(e));
    for (int64_t k = state.done(message.task, message.to); k < all; ++k) {
      int64_t &arrival = state.arrival(int32_t(e), k);
      arrival = std::max(arrival, heads[flat.at(message.to, int32_t(k))]);
    }
  }
  if (!flat.hasContendedLinks)
    return;
  for (int32_t link = 0; link < flat.links; ++link) {
    int64_t first = never;
    for (int32_t e : flat.edgesOf[link]) {
      const FlatProblem::Message &message = flat.messages[e];
      const bool isSerial = message.occupancyNs > 0;
      const int64_t all = state.done(message.task, message.from);
      int64_t k = state.sent(e);
      // messageStart is not computed for messages that take no time on the
      // link.
      if (!isSerial && k < flat.microbatches)
        first = -1;
      if (!isSerial)
        continue;
      if (k < flat.microbatches)
        first = std::min(first, messageStart[flat.messageAt(e, k)]);
      for (; k < all; ++k) {
        int64_t &ready = state.arrival(e, k);
        ready = std::max(ready, messageStart[flat.messageAt(e, k)]);
      }
    }
    if (first < never)
      state.linkFree(link) = std::max(state.linkFree(link), first);
  }
}
