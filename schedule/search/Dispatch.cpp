//===- Dispatch.cpp - Runs a periodic pattern into an order ---------------===//

#include "schedule/search/Dispatch.h"

#include <algorithm>

using namespace rondo;

Dispatcher::Dispatcher(const Chain &chain)
    : chain(chain), empty(chain), state(chain), work(chain.ranks),
      made(chain.ranks) {
  for (int32_t s = 0; s < chain.stages; ++s)
    work[chain.rankOf[s]] +=
        (chain.ns[0][s] + chain.ns[1][s] + chain.ns[2][s]) * chain.microbatches;
  for (int32_t rank = 0; rank < chain.ranks; ++rank)
    made[rank].reserve(chain.stagesOf[rank].size() * 3 * chain.microbatches);
}

int64_t Dispatcher::target(const Pattern &pattern, int letter,
                           int32_t stage) const {
  const int64_t k = state.done(letter, stage);
  if (!pattern.targets[letter].empty())
    return pattern.targets[letter][chain.at(stage, int32_t(k))];
  return pattern.offset[letter][stage] +
         k / pattern.group * pattern.group * pattern.period +
         k % pattern.group * pattern.step;
}

int64_t Dispatcher::run(const Pattern &pattern, int64_t ceiling) {
  state.data = empty.data;
  left = work;
  for (std::vector<Code> &order : made)
    order.clear();
  events.clear();
  count = 0;
  latest = -never;
  events.push_back({0, chain.rankOf[0]});
  while (!events.empty()) {
    std::pop_heap(events.begin(), events.end());
    const Event event = events.back();
    events.pop_back();
    if (event.time < state.clock(event.rank))
      continue;
    decide(pattern, event.rank, event.time);
    if (latest > ceiling)
      return never;
  }
  return count == chain.tasks() ? latest : never;
}

/// The stage whose W gives back most, the oldest of equals.
int32_t Dispatcher::pendingWeightGrad(int32_t rank, int64_t &pending) const {
  int32_t chosen = -1;
  pending = 0;
  for (int32_t s : chain.stagesOf[rank]) {
    if (state.done(2, s) >= state.done(1, s))
      continue;
    pending += state.done(1, s) - state.done(2, s);
    if (chosen < 0 ||
        chain.weightGradFrees[s] > chain.weightGradFrees[chosen] ||
        (chain.weightGradFrees[s] == chain.weightGradFrees[chosen] &&
         state.done(2, s) < state.done(2, chosen)))
      chosen = s;
  }
  return chosen;
}

void Dispatcher::decide(const Pattern &pattern, int32_t rank, int64_t now) {
  using Discipline = Pattern::Discipline;
  // The next F and I that may run, whether they are there or not.
  struct Next {
    int letter = 0;
    int32_t stage = -1;
    int64_t target = never, start = never;
  } bestReady, nextForward, nextAny;
  int64_t known = never;
  for (int32_t s : chain.stagesOf[rank])
    for (int letter : {1, 0}) {
      if (state.done(letter, s) == chain.microbatches ||
          (letter == 0 && !state.fits(chain, s)))
        continue;
      Next next;
      next.letter = letter;
      next.stage = s;
      next.target = target(pattern, letter, s);
      next.start = state.earliest(chain, letter, s);
      if (next.target < nextAny.target)
        nextAny = next;
      if (letter == 0) {
        if (next.target < nextForward.target)
          nextForward = next;
        if (pattern.discipline != Discipline::Ready)
          continue;
      }
      if (next.start > now)
        known = std::min(known, next.start);
      else if (next.target < bestReady.target)
        bestReady = next;
    }
  if (pattern.discipline == Discipline::ForwardInOrder) {
    if (nextForward.start > now)
      known = std::min(known, nextForward.start);
    else if (nextForward.target < bestReady.target)
      bestReady = nextForward;
  } else if (pattern.discipline == Discipline::InOrder) {
    bestReady = nextAny.start <= now ? nextAny : Next();
    known = nextAny.start > now ? nextAny.start : never;
  }
  int64_t pending;
  const int32_t s = pendingWeightGrad(rank, pending);
  if (bestReady.stage >= 0) {
    if (s >= 0 && pending >= int64_t(pattern.backlog) * (1 + bestReady.letter))
      place(2, s, now);
    else
      place(bestReady.letter, bestReady.stage, now);
    return;
  }
  if (s < 0)
    return;
  const int64_t cost = chain.ns[2][s];
  if (known >= never || now + cost <= known + cost * pattern.patience / 8)
    place(2, s, now);
}

void Dispatcher::place(int letter, int32_t stage, int64_t start) {
  const int32_t rank = chain.rankOf[stage];
  const int64_t k = state.done(letter, stage);
  const int64_t end = state.run(chain, letter, stage, start);
  made[rank].push_back(codeOf(letter, stage));
  ++count;
  left[rank] -= chain.ns[letter][stage];
  latest = std::max(latest, end + left[rank] + chain.endOffset[rank]);
  auto push = [&](int64_t time, int32_t at) {
    events.push_back({time, at});
    std::push_heap(events.begin(), events.end());
  };
  push(end, rank);
  const int32_t to = letter == 0 ? stage + 1 : stage - 1;
  if (letter == 2 || to < 0 || to == chain.stages)
    return;
  if (chain.rankOf[to] != rank)
    push(std::max(end, state.arrival(letter, to, k)), chain.rankOf[to]);
}
