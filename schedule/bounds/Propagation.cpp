//===- Propagation.cpp - Earliest times of tasks --------------------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "schedule/bounds/Propagation.h"

#include <algorithm>

using namespace rondo;

static std::vector<CapOrder> capOrdersOf(const FlatProblem &flat,
                                         bool withMemory) {
  std::vector<CapOrder> result;
  if (!withMemory || !flat.hasTightMemory)
    return result;
  for (int32_t rank = 0; rank < flat.ranks; ++rank)
    result.emplace_back(flat, rank);
  return result;
}

Propagation::Propagation(const FlatProblem &flat, bool withMemory)
    : flat(flat), withMemory(withMemory && flat.hasTightMemory),
      capOrders(capOrdersOf(flat, withMemory)), tail(flat, capOrders),
      place(flat.stages), cursors(flat.stages) {
  for (auto &column : head)
    column.assign(size_t(flat.stages) * flat.microbatches, 0);
  messageStart.assign(flat.messages.size() * flat.microbatches, 0);
  for (const auto &stages : flat.stagesOf)
    for (size_t i = 0; i < stages.size(); ++i) {
      place[stages[i]] = int32_t(i);
      cursors[stages[i]].next.resize(2 * stages.size());
    }
  limits.resize(flat.stages);
  listTasksBefore();
}

void Propagation::listTasksBefore() {
  for (int letter : {0, 1}) {
    before[letter].resize(flat.stages);
    serialOutputs[letter].resize(flat.stages);
    for (int32_t s = 0; s < flat.stages; ++s) {
      for (int earlier = 0; earlier <= letter; ++earlier)
        for (int32_t other : flat.stagesOf[flat.rankOf[s]])
          if ((earlier != letter || other != s) &&
              flat.leadsTo(earlier, other, letter, s))
            before[letter][s].push_back(
                {earlier, other, flat.ns[earlier][other]});
      for (int32_t e : flat.outputs(letter, s))
        if (flat.messages[e].occupancyNs > 0)
          serialOutputs[letter][s].push_back(e);
    }
  }
}

/// What the rank must run before a task, counting only its own tasks.
int64_t Propagation::workBefore(const PartialState &state, int letter,
                                int32_t s, int32_t k) const {
  int64_t ns = (k - state.done(letter, s)) * flat.ns[letter][s];
  for (const Before &task : before[letter][s])
    ns += std::max<int64_t>(0, k + 1 - state.done(task.letter, task.stage)) *
          task.ns;
  return ns;
}

/// What has run gave its bytes back no later than this.
void Propagation::startCursors(const PartialState &state) {
  for (const auto &stages : flat.stagesOf) {
    int64_t freed = 0;
    for (int32_t s : stages)
      freed += state.done(1, s) * flat.inputGradFrees[s] +
               state.done(2, s) * flat.weightGradFrees[s];
    for (int32_t s : stages) {
      Cursor &cursor = cursors[s];
      cursor.freed = freed;
      cursor.time = 0;
      for (size_t i = 0; i < cursor.next.size(); ++i)
        cursor.next[i] = int32_t(state.done(1 + int(i % 2), stages[i / 2]));
    }
  }
}

/// The earliest time at which enough has been given back for F of (s, k). When
/// it starts, the stages of its rank have taken what they must have started,
/// and can only have given back from that: stages whose I waits for it nothing
/// of k. What they have taken beyond only adds. For other stages nothing is
/// counted from k on. Calls come in order of k.
int64_t Propagation::releaseTime(const PartialState &state, int32_t s,
                                 int32_t k) {
  const int32_t rank = flat.rankOf[s];
  const auto &stages = flat.stagesOf[rank];
  Cursor &cursor = cursors[s];
  int64_t need = -flat.caps[rank];
  int64_t start = 0;
  auto started = [&](int32_t i) -> int64_t {
    const int64_t done = state.done(0, stages[i]);
    if (flat.isChain)
      return std::max<int64_t>(capOrders[rank].started(place[s], k, i), done);
    const bool isHeld = flat.leadsTo(0, s, 1, stages[i]);
    const bool isBefore = i == place[s] || flat.leadsTo(0, stages[i], 0, s);
    return isHeld ? std::max<int64_t>(isBefore ? k + 1 : 0, done)
                  : std::min<int64_t>(isBefore ? k : done, k);
  };
  for (int32_t i = 0; i < int32_t(stages.size()); ++i) {
    const int64_t count = started(i);
    limits[i] = flat.isChain && i <= place[s] ? k : std::min<int64_t>(k, count);
    need += count * flat.takes[stages[i]];
    if (i > place[s] && count > state.done(0, stages[i]))
      start = std::max(start, head[0][flat.at(stages[i], int32_t(count - 1))] +
                                  flat.ns[0][stages[i]]);
  }
  while (cursor.freed < need) {
    int64_t best = never;
    size_t which = 0;
    for (size_t i = 0; i < cursor.next.size(); ++i) {
      int32_t next = cursor.next[i];
      const int32_t at = int32_t(i / 2);
      if (next >= limits[at])
        continue;
      int32_t other = stages[at];
      int letter = 1 + int(i % 2);
      const int64_t end =
          head[letter][flat.at(other, next)] + flat.ns[letter][other];
      if (end < best) {
        best = end;
        which = i;
      }
    }
    if (best == never)
      return never;
    int32_t other = stages[which / 2];
    cursor.freed +=
        which % 2 ? flat.weightGradFrees[other] : flat.inputGradFrees[other];
    ++cursor.next[which];
    cursor.time = std::max(cursor.time, best);
  }
  return std::max(start, cursor.time);
}

int64_t Propagation::forwardHead(const PartialState &state, int32_t s,
                                 int32_t k) {
  int64_t start = state.clock(flat.rankOf[s]) + workBefore(state, 0, s, k);
  for (int32_t e : flat.inputs(0, s))
    start = std::max(start, arrivalOf(state, e, k));
  if (k > state.done(0, s))
    start = std::max(start, head[0][flat.at(s, k - 1)] + flat.ns[0][s]);
  if (withMemory)
    start = std::max(start, releaseTime(state, s, k));
  return start;
}

int64_t Propagation::inputGradHead(const PartialState &state, int32_t s,
                                   int32_t k) {
  int64_t start = state.clock(flat.rankOf[s]) + workBefore(state, 1, s, k);
  if (k >= state.done(0, s))
    start = std::max(start, head[0][flat.at(s, k)] + flat.ns[0][s]);
  for (int32_t e : flat.inputs(1, s))
    start = std::max(start, arrivalOf(state, e, k));
  if (k > state.done(1, s))
    start = std::max(start, head[1][flat.at(s, k - 1)] + flat.ns[1][s]);
  return start;
}

/// When the message of an edge can arrive.
int64_t Propagation::arrivalOf(const PartialState &state, int32_t edge,
                               int32_t k) const {
  const FlatProblem::Message &message = flat.messages[edge];
  if (k < state.sent(edge))
    return state.arrival(edge, k);
  const int64_t end =
      message.occupancyNs > 0
          ? messageStart[flat.messageAt(edge, k)] + message.occupancyNs
      : k < state.done(message.letter, message.from)
          ? state.arrival(edge, k)
          : head[message.letter][flat.at(message.from, k)] +
                flat.ns[message.letter][message.from];
  return end + message.latencyNs;
}

void Propagation::messageHead(const PartialState &state, int32_t edge,
                              int32_t k) {
  const FlatProblem::Message &message = flat.messages[edge];
  const int64_t at = flat.messageAt(edge, k);
  int64_t start = k < state.done(message.letter, message.from)
                      ? state.arrival(edge, k)
                      : head[message.letter][flat.at(message.from, k)] +
                            flat.ns[message.letter][message.from];
  if (k > state.sent(edge))
    start = std::max(start, messageStart[at - 1] + message.occupancyNs);
  if (const int32_t before = message.previousInBurst;
      before >= 0 && flat.messages[before].occupancyNs > 0)
    start = std::max(start, messageStart[flat.messageAt(before, k)] +
                                flat.messages[before].occupancyNs);
  // What the link must carry before it, counting only its own messages.
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

/// False if a task ends too late for the ceiling.
bool Propagation::propagate(const PartialState &state, int64_t ceiling) {
  int32_t first = flat.microbatches;
  for (int32_t s = 0; s < flat.stages; ++s)
    first = std::min(first, int32_t(state.done(2, s)));
  if (withMemory)
    startCursors(state);
  auto isTooLate = [&](int letter, int32_t s, int64_t at) {
    return head[letter][at] + flat.ns[letter][s] + tail.ns[letter][at] >=
           ceiling;
  };
  for (int32_t k = first; k < flat.microbatches; ++k) {
    for (int32_t s = 0; s < flat.stages; ++s) {
      if (k >= state.done(0, s)) {
        const int64_t at = flat.at(s, k);
        head[0][at] = std::min(never, forwardHead(state, s, k));
        if (isTooLate(0, s, at))
          return false;
      }
      for (int32_t e : serialOutputs[0][s])
        if (k >= state.sent(e))
          messageHead(state, e, k);
    }
    for (int32_t s = flat.stages; s-- > 0;) {
      const int64_t at = flat.at(s, k);
      if (k >= state.done(1, s)) {
        head[1][at] = std::min(never, inputGradHead(state, s, k));
        if (isTooLate(1, s, at))
          return false;
      }
      for (int32_t e : serialOutputs[1][s])
        if (k >= state.sent(e))
          messageHead(state, e, k);
      if (k < state.done(2, s))
        continue;
      int64_t start = state.clock(flat.rankOf[s]);
      if (k >= state.done(1, s))
        start = head[1][at] + flat.ns[1][s];
      if (k > state.done(2, s))
        start = std::max(start, head[2][at - 1] + flat.ns[2][s]);
      head[2][at] = std::min(never, start);
    }
  }
  return true;
}

/// Jackson's preemptive schedule of the lanes from `time` on: always what has
/// been released and has the longest tail. Within a lane, releases are in order
/// and tails decrease, so one cursor per lane is enough.
int64_t Propagation::jackson(int64_t time, int64_t best) {
  while (!lanes.empty()) {
    size_t chosen = lanes.size();
    int64_t longest = 0, nextRelease = never;
    for (size_t i = 0; i < lanes.size(); ++i) {
      const Lane &lane = lanes[i];
      if (lane.release > time) {
        nextRelease = std::min(nextRelease, lane.release);
        continue;
      }
      if (chosen == lanes.size() || lane.tail > longest) {
        longest = lane.tail;
        chosen = i;
      }
    }
    if (chosen == lanes.size()) {
      if (nextRelease >= never)
        return never;
      time = nextRelease;
      continue;
    }
    Lane &lane = lanes[chosen];
    int64_t run = std::min(lane.left, nextRelease - time);
    time += run;
    lane.left -= run;
    if (lane.left)
      continue;
    best = std::max(best, time + longest);
    if (++lane.heads == lane.endOfHeads) {
      lane = lanes.back();
      lanes.pop_back();
      continue;
    }
    lane.release = *lane.heads;
    lane.tail = *++lane.tails;
    lane.left = lane.ns;
  }
  return best;
}

void Propagation::addLane(const int64_t *heads, const int64_t *tails,
                          int64_t ns, int64_t next) {
  lanes.push_back({heads + next, tails + next, heads + flat.microbatches, ns,
                   heads[next], tails[next], ns});
}

int64_t Propagation::jacksonOfRank(const PartialState &state, int32_t rank) {
  lanes.clear();
  for (int32_t s : flat.stagesOf[rank])
    for (int letter : {0, 1, 2})
      if (state.done(letter, s) < flat.microbatches)
        addLane(head[letter].data() + flat.at(s, 0),
                tail.ns[letter].data() + flat.at(s, 0), flat.ns[letter][s],
                state.done(letter, s));
  const int64_t time = state.clock(rank);
  return jackson(time, time + flat.endOffset[rank]);
}

int64_t Propagation::jacksonOfLink(const PartialState &state, int32_t link) {
  lanes.clear();
  for (int32_t e : flat.edgesOf[link]) {
    const int64_t ns = flat.messages[e].occupancyNs;
    if (ns > 0 && state.sent(e) < flat.microbatches)
      addLane(messageStart.data() + flat.messageAt(e, 0),
              tail.message.data() + flat.messageAt(e, 0), ns, state.sent(e));
  }
  return jackson(state.linkFree(link), -never);
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
      for (int letter : {0, 1, 2})
        if (int64_t k = state.done(letter, s); k < flat.microbatches)
          first = std::min(first, head[letter][flat.at(s, int32_t(k))]);
    if (first < never)
      state.clock(rank) = std::max(state.clock(rank), first);
  }
  for (size_t e = 0; e < flat.messages.size(); ++e) {
    const FlatProblem::Message &message = flat.messages[e];
    const std::vector<int64_t> &heads = head[message.letter];
    const int64_t all = state.sent(int32_t(e));
    for (int64_t k = state.done(message.letter, message.to); k < all; ++k) {
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
      const int64_t all = state.done(message.letter, message.from);
      int64_t k = state.sent(e);
      // A message that takes no time on the link has no start of its own here.
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
