//===- Propagation.cpp - Earliest times of tasks --------------------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "schedule/bounds/Propagation.h"

#include <algorithm>

using namespace rondo;

static std::vector<CapOrder> capOrdersOf(const Chain &chain, bool withMemory) {
  std::vector<CapOrder> result;
  if (!withMemory || !chain.hasTightMemory)
    return result;
  for (int32_t rank = 0; rank < chain.ranks; ++rank)
    result.emplace_back(chain, rank);
  return result;
}

Propagation::Propagation(const Chain &chain, bool withMemory)
    : chain(chain), withMemory(withMemory && chain.hasTightMemory),
      capOrders(capOrdersOf(chain, withMemory)), tail(chain, capOrders),
      place(chain.stages), cursors(chain.stages) {
  for (auto &column : head)
    column.assign(size_t(chain.stages) * chain.microbatches, 0);
  for (auto &column : messageStart)
    column.assign(size_t(chain.stages) * chain.microbatches, 0);
  for (const auto &stages : chain.stagesOf)
    for (size_t i = 0; i < stages.size(); ++i) {
      place[stages[i]] = int32_t(i);
      cursors[stages[i]].next.resize(2 * stages.size());
    }
}

/// What has run has given its bytes back at no later time.
void Propagation::startCursors(const PartialState &state) {
  for (const auto &stages : chain.stagesOf) {
    int64_t freed = 0;
    for (int32_t s : stages)
      freed += state.done(1, s) * chain.inputGradFrees[s] +
               state.done(2, s) * chain.weightGradFrees[s];
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
/// and can have given back only of that: of those up to s nothing of k, as it
/// passes s first. What they have taken beyond only adds. Calls come in order
/// of k.
int64_t Propagation::releaseTime(const PartialState &state, int32_t s,
                                 int32_t k) {
  const int32_t rank = chain.rankOf[s];
  const auto &stages = chain.stagesOf[rank];
  Cursor &cursor = cursors[s];
  int64_t need = -chain.caps[rank];
  int64_t start = 0;
  auto started = [&](int32_t i) {
    return std::max<int64_t>(capOrders[rank].started(place[s], k, i),
                             state.done(0, stages[i]));
  };
  for (int32_t i = 0; i < int32_t(stages.size()); ++i) {
    const int64_t count = started(i);
    need += count * chain.takes[stages[i]];
    if (i > place[s] && count > state.done(0, stages[i]))
      start = std::max(start, head[0][chain.at(stages[i], int32_t(count - 1))] +
                                  chain.ns[0][stages[i]]);
  }
  while (cursor.freed < need) {
    int64_t best = never;
    size_t which = 0;
    for (size_t i = 0; i < cursor.next.size(); ++i) {
      int32_t next = cursor.next[i];
      const int32_t at = int32_t(i / 2);
      if (next >= (at <= place[s] ? k : started(at)))
        continue;
      int32_t other = stages[at];
      int letter = 1 + int(i % 2);
      const int64_t end =
          head[letter][chain.at(other, next)] + chain.ns[letter][other];
      if (end < best) {
        best = end;
        which = i;
      }
    }
    if (best == never)
      return never;
    int32_t other = stages[which / 2];
    cursor.freed +=
        which % 2 ? chain.weightGradFrees[other] : chain.inputGradFrees[other];
    ++cursor.next[which];
    cursor.time = std::max(cursor.time, best);
  }
  return std::max(start, cursor.time);
}

int64_t Propagation::forwardHead(const PartialState &state, int32_t s,
                                 int32_t k) {
  const int32_t rank = chain.rankOf[s];
  const auto &stages = chain.stagesOf[rank];
  // What the rank must run before it, counting only its own tasks.
  int64_t start = state.clock(rank) + (k - state.done(0, s)) * chain.ns[0][s];
  for (int32_t i = 0; i < place[s]; ++i)
    start += std::max<int64_t>(0, k + 1 - state.done(0, stages[i])) *
             chain.ns[0][stages[i]];
  if (s > 0)
    start = std::max(start, arrivalOf(state, 0, s - 1, k));
  if (k > state.done(0, s))
    start = std::max(start, head[0][chain.at(s, k - 1)] + chain.ns[0][s]);
  if (withMemory)
    start = std::max(start, releaseTime(state, s, k));
  return start;
}

int64_t Propagation::inputGradHead(const PartialState &state, int32_t s,
                                   int32_t k) {
  const int32_t rank = chain.rankOf[s];
  int64_t start = state.clock(rank) + (k - state.done(1, s)) * chain.ns[1][s];
  for (int32_t other : chain.stagesOf[rank]) {
    start +=
        std::max<int64_t>(0, k + 1 - state.done(0, other)) * chain.ns[0][other];
    if (other > s)
      start += std::max<int64_t>(0, k + 1 - state.done(1, other)) *
               chain.ns[1][other];
  }
  if (k >= state.done(0, s))
    start = std::max(start, head[0][chain.at(s, k)] + chain.ns[0][s]);
  if (s + 1 < chain.stages)
    start = std::max(start, arrivalOf(state, 1, s + 1, k));
  if (k > state.done(1, s))
    start = std::max(start, head[1][chain.at(s, k - 1)] + chain.ns[1][s]);
  return start;
}

/// When the message of the producer (letter, from) can be there.
int64_t Propagation::arrivalOf(const PartialState &state, int letter,
                               int32_t from, int32_t k) const {
  const Chain::Message &message = chain.messages[letter][from];
  if (k < state.sent(letter, from))
    return state.arrival(letter, letter == 0 ? from + 1 : from - 1, k);
  const int64_t at = chain.at(from, k);
  return (message.occupancyNs > 0
              ? messageStart[letter][at] + message.occupancyNs
          : k < state.done(letter, from)
              ? state.arrival(letter, letter == 0 ? from + 1 : from - 1, k)
              : head[letter][at] + chain.ns[letter][from]) +
         message.latencyNs;
}

void Propagation::messageHead(const PartialState &state, int letter, int32_t s,
                              int32_t k) {
  const Chain::Message &message = chain.messages[letter][s];
  const int64_t at = chain.at(s, k);
  int64_t start = k < state.done(letter, s)
                      ? state.arrival(letter, letter == 0 ? s + 1 : s - 1, k)
                      : head[letter][at] + chain.ns[letter][s];
  if (k > state.sent(letter, s))
    start = std::max(start, messageStart[letter][at - 1] + message.occupancyNs);
  // What the link must carry before it, counting only its own messages.
  int64_t free = state.linkFree(message.link);
  if (message.isContended) {
    free += (k - state.sent(letter, s)) * message.occupancyNs;
    for (auto [otherLetter, other] : chain.producersOf[message.link]) {
      if (otherLetter == letter && other == s)
        break;
      free += std::max<int64_t>(0, k + 1 - state.sent(otherLetter, other)) *
              chain.messages[otherLetter][other].occupancyNs;
    }
  }
  messageStart[letter][at] = std::min(never, std::max(start, free));
}

/// False where a task ends too late for the ceiling.
bool Propagation::propagate(const PartialState &state, int64_t ceiling) {
  int32_t first = chain.microbatches;
  for (int32_t s = 0; s < chain.stages; ++s)
    first = std::min(first, int32_t(state.done(2, s)));
  if (withMemory)
    startCursors(state);
  auto isTooLate = [&](int letter, int32_t s, int64_t at) {
    return head[letter][at] + chain.ns[letter][s] + tail.ns[letter][at] >=
           ceiling;
  };
  for (int32_t k = first; k < chain.microbatches; ++k) {
    for (int32_t s = 0; s < chain.stages; ++s) {
      if (k >= state.done(0, s)) {
        const int64_t at = chain.at(s, k);
        head[0][at] = std::min(never, forwardHead(state, s, k));
        if (isTooLate(0, s, at))
          return false;
      }
      if (chain.messages[0][s].occupancyNs > 0 && k >= state.sent(0, s))
        messageHead(state, 0, s, k);
    }
    for (int32_t s = chain.stages; s-- > 0;) {
      const int64_t at = chain.at(s, k);
      if (k >= state.done(1, s)) {
        head[1][at] = std::min(never, inputGradHead(state, s, k));
        if (isTooLate(1, s, at))
          return false;
      }
      if (chain.messages[1][s].occupancyNs > 0 && k >= state.sent(1, s))
        messageHead(state, 1, s, k);
      if (k < state.done(2, s))
        continue;
      int64_t start = state.clock(chain.rankOf[s]);
      if (k >= state.done(1, s))
        start = head[1][at] + chain.ns[1][s];
      if (k > state.done(2, s))
        start = std::max(start, head[2][at - 1] + chain.ns[2][s]);
      head[2][at] = std::min(never, start);
    }
  }
  return true;
}

/// Jackson's preemptive schedule of the lanes from `time` on: always what has
/// been released and has the longest tail. What is in one lane is released in
/// order and has falling tails, so one cursor a lane is enough.
int64_t Propagation::jackson(int64_t time, int64_t best) {
  while (!lanes.empty()) {
    size_t chosen = lanes.size();
    int64_t longest = 0, nextRelease = never;
    for (size_t i = 0; i < lanes.size(); ++i) {
      const Lane &lane = lanes[i];
      const int64_t release = lane.heads[lane.next];
      if (release > time) {
        nextRelease = std::min(nextRelease, release);
        continue;
      }
      if (chosen == lanes.size() || lane.tails[lane.next] > longest) {
        longest = lane.tails[lane.next];
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
    lane.left = lane.ns;
    if (++lane.next == chain.microbatches) {
      lane = lanes.back();
      lanes.pop_back();
    }
  }
  return best;
}

int64_t Propagation::jacksonOfRank(const PartialState &state, int32_t rank) {
  lanes.clear();
  for (int32_t s : chain.stagesOf[rank])
    for (int letter : {0, 1, 2})
      if (state.done(letter, s) < chain.microbatches)
        lanes.push_back({head[letter].data() + chain.at(s, 0),
                         tail.ns[letter].data() + chain.at(s, 0),
                         chain.ns[letter][s], int32_t(state.done(letter, s)),
                         chain.ns[letter][s]});
  const int64_t time = state.clock(rank);
  return jackson(time, time + chain.endOffset[rank]);
}

int64_t Propagation::jacksonOfLink(const PartialState &state, int32_t link) {
  lanes.clear();
  for (auto [letter, s] : chain.producersOf[link]) {
    const int64_t ns = chain.messages[letter][s].occupancyNs;
    if (ns > 0 && state.sent(letter, s) < chain.microbatches)
      lanes.push_back({messageStart[letter].data() + chain.at(s, 0),
                       tail.message[letter].data() + chain.at(s, 0), ns,
                       int32_t(state.sent(letter, s)), ns});
  }
  return jackson(state.linkFree(link), -never);
}

Estimate Propagation::estimate(const PartialState &state, int64_t ceiling) {
  if (!propagate(state, ceiling))
    return {never, never};
  Estimate result;
  for (int32_t rank = 0; rank < chain.ranks; ++rank) {
    if (chain.stagesOf[rank].empty())
      continue;
    int64_t bound = jacksonOfRank(state, rank);
    if (bound >= ceiling)
      return {never, never};
    result.bound = std::max(result.bound, bound);
    result.sum += bound;
  }
  if (chain.hasContendedLinks)
    for (int32_t link = 0; link < chain.links; ++link)
      result.bound = std::max(result.bound, jacksonOfLink(state, link));
  return result;
}

void Propagation::tighten(PartialState &state) const {
  for (int32_t rank = 0; rank < chain.ranks; ++rank) {
    int64_t first = never;
    for (int32_t s : chain.stagesOf[rank])
      for (int letter : {0, 1, 2})
        if (int64_t k = state.done(letter, s); k < chain.microbatches)
          first = std::min(first, head[letter][chain.at(s, int32_t(k))]);
    if (first < never)
      state.clock(rank) = std::max(state.clock(rank), first);
  }
  for (int letter : {0, 1})
    for (int32_t s = 0; s < chain.stages; ++s) {
      const int32_t to = letter == 0 ? s + 1 : s - 1;
      if (to < 0 || to == chain.stages)
        continue;
      for (int64_t k = state.done(letter, to); k < state.sent(letter, s); ++k) {
        int64_t &arrival = state.arrival(letter, to, k);
        arrival = std::max(arrival, head[letter][chain.at(to, int32_t(k))]);
      }
    }
  if (!chain.hasContendedLinks)
    return;
  for (int32_t link = 0; link < chain.links; ++link) {
    int64_t first = never;
    for (auto [letter, s] : chain.producersOf[link]) {
      const bool isSerial = chain.messages[letter][s].occupancyNs > 0;
      const int64_t all = state.done(letter, s);
      int64_t k = state.sent(letter, s);
      // A message that takes no time on the link has no start of its own here.
      if (!isSerial && k < chain.microbatches)
        first = -1;
      if (!isSerial)
        continue;
      if (k < chain.microbatches)
        first = std::min(first, messageStart[letter][chain.at(s, int32_t(k))]);
      for (; k < all; ++k) {
        int64_t &ready = state.arrival(letter, letter == 0 ? s + 1 : s - 1, k);
        ready = std::max(ready, messageStart[letter][chain.at(s, int32_t(k))]);
      }
    }
    if (first < never)
      state.linkFree(link) = std::max(state.linkFree(link), first);
  }
}
