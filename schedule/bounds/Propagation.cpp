//===- Propagation.cpp - Earliest and latest times of tasks ---------------===//

#include "schedule/bounds/Propagation.h"

#include <algorithm>

using namespace rondo;

Tails::Tails(const Chain &chain) {
  const int32_t last = chain.microbatches;
  for (auto &column : ns)
    column.assign(size_t(chain.stages) * last, 0);
  auto of = [&](int letter, int32_t s, int32_t k) -> int64_t & {
    return ns[letter][chain.at(s, k)];
  };
  auto cost = [&](int letter, int32_t s) { return chain.ns[letter][s]; };
  for (int32_t k = last; k-- > 0;) {
    const int64_t left = last - 1 - k;
    for (int32_t s = 0; s < chain.stages; ++s) {
      const int64_t offset = chain.endOffset[chain.rankOf[s]];
      of(2, s, k) = left * cost(2, s) + offset;
      // What the rank must still run behind I of s: W of all stages up to s,
      // whose I come later in the chain, and I of those before s.
      int64_t behind = left * cost(1, s) + offset;
      for (int32_t other : chain.stagesOf[chain.rankOf[s]]) {
        if (other <= s)
          behind += (left + 1) * cost(2, other);
        if (other < s)
          behind += (left + 1) * cost(1, other);
      }
      int64_t tail = std::max(behind, cost(2, s) + of(2, s, k));
      if (left)
        tail = std::max(tail, cost(1, s) + of(1, s, k + 1));
      if (s > 0)
        tail = std::max(tail, chain.messages[1][s].transferNs() +
                                  cost(1, s - 1) + of(1, s - 1, k));
      of(1, s, k) = tail;
    }
    for (int32_t s = chain.stages; s-- > 0;) {
      int64_t behind = left * cost(0, s) + chain.endOffset[chain.rankOf[s]];
      for (int32_t other : chain.stagesOf[chain.rankOf[s]]) {
        behind += (left + 1) * (cost(1, other) + cost(2, other));
        if (other > s)
          behind += (left + 1) * cost(0, other);
      }
      int64_t tail = std::max(behind, cost(1, s) + of(1, s, k));
      if (left)
        tail = std::max(tail, cost(0, s) + of(0, s, k + 1));
      if (s + 1 < chain.stages)
        tail = std::max(tail, chain.messages[0][s].transferNs() +
                                  cost(0, s + 1) + of(0, s + 1, k));
      of(0, s, k) = tail;
    }
  }
}

Propagation::Propagation(const Chain &chain, bool withMemory)
    : chain(chain), withMemory(withMemory && chain.hasTightMemory), tail(chain),
      place(chain.stages), cursors(chain.stages) {
  for (auto &column : head)
    column.assign(size_t(chain.stages) * chain.microbatches, 0);
  for (const auto &stages : chain.stagesOf)
    for (size_t i = 0; i < stages.size(); ++i) {
      place[stages[i]] = int32_t(i);
      cursors[stages[i]].next.resize(2 * (i + 1));
    }
}

/// The earliest time at which enough has been given back for F of (s, k). When
/// it starts, the stages of its rank up to s have taken k+1 activations at
/// least and can have given back nothing of micro-batch k, as that passes s
/// first; what the later stages hold only adds. Calls come in order of k.
int64_t Propagation::releaseTime(const PartialState &state, int32_t s,
                                 int32_t k) {
  const auto &stages = chain.stagesOf[chain.rankOf[s]];
  Cursor &cursor = cursors[s];
  int64_t need = -chain.caps[chain.rankOf[s]];
  for (int32_t i = 0; i <= place[s]; ++i)
    need += std::max<int64_t>(k + 1, state.done(0, stages[i])) *
            chain.takes[stages[i]];
  while (cursor.freed < need) {
    int64_t best = never;
    size_t which = 0;
    for (size_t i = 0; i < cursor.next.size(); ++i) {
      int32_t next = cursor.next[i];
      if (next >= k)
        continue;
      int32_t other = stages[i / 2];
      int letter = 1 + int(i % 2);
      int64_t end =
          next < state.done(letter, other)
              ? 0
              : head[letter][chain.at(other, next)] + chain.ns[letter][other];
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
  return cursor.time;
}

int64_t Propagation::forwardHead(const PartialState &state, int32_t s,
                                 int32_t k) {
  const int32_t rank = chain.rankOf[s];
  const auto &stages = chain.stagesOf[rank];
  // What the rank must run before, on its own.
  int64_t start = state.clock(rank) + (k - state.done(0, s)) * chain.ns[0][s];
  for (int32_t i = 0; i < place[s]; ++i)
    start += std::max<int64_t>(0, k + 1 - state.done(0, stages[i])) *
             chain.ns[0][stages[i]];
  const std::vector<int64_t> &heads = head[0];
  if (s > 0) {
    const Chain::Message &message = chain.messages[0][s - 1];
    start =
        std::max(start, k < state.done(0, s - 1)
                            ? state.arrival(0, s, k)
                            : heads[chain.at(s - 1, k)] + chain.ns[0][s - 1] +
                                  message.transferNs());
  }
  if (k > state.done(0, s))
    start = std::max(start, heads[chain.at(s, k - 1)] + chain.ns[0][s]);
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
    start =
        std::max(start, k < state.done(1, s + 1)
                            ? state.arrival(1, s, k)
                            : head[1][chain.at(s + 1, k)] + chain.ns[1][s + 1] +
                                  chain.messages[1][s + 1].transferNs());
  if (k > state.done(1, s))
    start = std::max(start, head[1][chain.at(s, k - 1)] + chain.ns[1][s]);
  return start;
}

void Propagation::propagate(const PartialState &state) {
  int32_t first = chain.microbatches;
  for (int32_t s = 0; s < chain.stages; ++s)
    first = std::min(first, int32_t(state.done(2, s)));
  if (withMemory)
    for (Cursor &cursor : cursors) {
      std::fill(cursor.next.begin(), cursor.next.end(), 0);
      cursor.freed = cursor.time = 0;
    }
  for (int32_t k = first; k < chain.microbatches; ++k) {
    for (int32_t s = 0; s < chain.stages; ++s)
      if (k >= state.done(0, s))
        head[0][chain.at(s, k)] = std::min(never, forwardHead(state, s, k));
    for (int32_t s = chain.stages; s-- > 0;) {
      const int64_t at = chain.at(s, k);
      if (k >= state.done(1, s))
        head[1][at] = std::min(never, inputGradHead(state, s, k));
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
}

/// Jackson's preemptive schedule of what is left of a rank: always the released
/// task with the longest tail. Tasks of one stage and letter are released in
/// order and have falling tails, so one cursor a list is enough.
int64_t Propagation::jackson(const PartialState &state, int32_t rank) {
  lanes.clear();
  for (int32_t s : chain.stagesOf[rank])
    for (int letter : {0, 1, 2})
      if (state.done(letter, s) < chain.microbatches)
        lanes.push_back(
            {s, letter, int32_t(state.done(letter, s)), chain.ns[letter][s]});
  int64_t time = state.clock(rank), best = time + chain.endOffset[rank];
  while (!lanes.empty()) {
    size_t chosen = lanes.size();
    int64_t longest = 0, nextRelease = never;
    for (size_t i = 0; i < lanes.size(); ++i) {
      const Lane &lane = lanes[i];
      const int64_t at = chain.at(lane.stage, lane.next);
      const int64_t release = head[lane.letter][at];
      if (release > time) {
        nextRelease = std::min(nextRelease, release);
        continue;
      }
      if (chosen == lanes.size() || tail.ns[lane.letter][at] > longest) {
        longest = tail.ns[lane.letter][at];
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
    if (++lane.next < chain.microbatches)
      lane.left = chain.ns[lane.letter][lane.stage];
    else
      lanes.erase(lanes.begin() + int64_t(chosen));
  }
  return best;
}

Estimate Propagation::estimate(const PartialState &state) {
  propagate(state);
  Estimate result;
  for (int32_t rank = 0; rank < chain.ranks; ++rank) {
    if (chain.stagesOf[rank].empty())
      continue;
    int64_t bound = jackson(state, rank);
    if (bound >= never)
      return {never, never};
    result.bound = std::max(result.bound, bound);
    result.sum += bound;
  }
  return result;
}
