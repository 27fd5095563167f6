//===- Dispatch.cpp - Runs a periodic pattern into an order ---------------===//

#include "schedule/search/Dispatch.h"

#include <algorithm>

using namespace rondo;

/// Stages keep their numbers. `endOffset` keeps its meaning; a rank begins that
/// much after the one that begins first.
static Chain mirror(const Chain &chain) {
  Chain result = chain;
  std::swap(result.ns[0], result.ns[1]);
  for (int32_t s = 0; s < chain.stages; ++s) {
    result.messages[0][s] =
        s + 1 < chain.stages ? chain.messages[1][s + 1] : Chain::Message();
    result.messages[1][s] = s > 0 ? chain.messages[0][s - 1] : Chain::Message();
  }
  // W is charged with all that its micro-batch holds.
  result.inputGradFrees = chain.takes;
  result.weightGradFrees.assign(chain.stages, 0);
  const int64_t least =
      *std::min_element(chain.endOffset.begin(), chain.endOffset.end());
  for (int64_t &offset : result.endOffset)
    offset = least - offset;
  return result;
}

Alarms::Alarms(int32_t ranks) {
  while (leaves < ranks)
    leaves *= 2;
  times.resize(leaves);
  winner.resize(size_t(2) * leaves);
  clear();
}

void Alarms::clear() {
  std::fill(times.begin(), times.end(), never);
  for (int32_t i = 0; i < leaves; ++i)
    winner[leaves + i] = i;
  for (int32_t i = leaves; i-- > 1;)
    winner[i] = winner[2 * i];
}

void Alarms::set(int32_t rank, int64_t time) {
  times[rank] = time;
  for (int32_t i = (leaves + rank) / 2; i > 0; i /= 2) {
    const int32_t left = winner[2 * i], right = winner[2 * i + 1];
    winner[i] = times[right] < times[left] ? right : left;
  }
}

Dispatcher::Dispatcher(const Chain &given, Direction direction)
    : direction(direction),
      chain(direction == Direction::Backwards ? mirror(given) : given),
      state(chain), alarms(chain.ranks), work(chain.ranks), roomy(chain.caps),
      made(chain.ranks), times(chain.ranks) {
  horizon = -*std::min_element(given.endOffset.begin(), given.endOffset.end());
  for (int32_t s = 0; s < chain.stages; ++s)
    work[chain.rankOf[s]] +=
        (chain.ns[0][s] + chain.ns[1][s] + chain.ns[2][s]) * chain.microbatches;
  for (int32_t s = 0; s < chain.stages; ++s)
    roomy[chain.rankOf[s]] -= 2 * chain.takes[s];
  for (int32_t rank = 0; rank < chain.ranks; ++rank) {
    made[rank].reserve(chain.stagesOf[rank].size() * 3 * chain.microbatches);
    times[rank].reserve(made[rank].capacity());
  }
}

int64_t Dispatcher::target(const Pattern &pattern, int letter,
                           int32_t stage) const {
  const int64_t k = state.done(letter, stage);
  if (!pattern.targets[letter].empty())
    return pattern.targets[letter][chain.at(stage, int32_t(k))];
  const int64_t offset = pattern.offset[letter][stage];
  if (pattern.group == 1)
    return offset + k * pattern.period;
  return offset + k / pattern.group * pattern.group * pattern.period +
         k % pattern.group * pattern.step;
}

int64_t Dispatcher::run(const Pattern &pattern, int64_t ceiling) {
  std::fill(state.data.begin(), state.data.end(), 0);
  if (direction == Direction::Backwards)
    for (int32_t rank = 0; rank < chain.ranks; ++rank)
      state.clock(rank) = -chain.endOffset[rank];
  left = work;
  for (std::vector<Code> &order : made)
    order.clear();
  for (std::vector<int64_t> &column : times)
    column.clear();
  isTurned = false;
  count = 0;
  latest = -never;
  alarms.clear();
  if (direction == Direction::Forwards)
    alarms.set(chain.rankOf[0], 0);
  else
    for (int32_t rank = 0; rank < chain.ranks; ++rank)
      alarms.set(rank, state.clock(rank));
  for (;;) {
    const int32_t rank = alarms.first();
    const int64_t now = alarms.time(rank);
    if (now >= never)
      break;
    decide(pattern, rank, now);
    if (latest > ceiling)
      return never;
  }
  return count == chain.tasks() ? latest : never;
}

const Orders &Dispatcher::orders() {
  if (direction == Direction::Forwards || isTurned)
    return made;
  isTurned = true;
  for (int32_t rank = 0; rank < chain.ranks; ++rank) {
    std::vector<Code> &order = made[rank];
    for (size_t i = 0; i < order.size(); ++i) {
      const int letter = letterOf(order[i]);
      const int32_t stage = stageOf(order[i]);
      times[rank][i] =
          horizon + latest - times[rank][i] - chain.ns[letter][stage];
      if (letter < 2)
        order[i] = codeOf(1 - letter, stage);
    }
    std::reverse(order.begin(), order.end());
    std::reverse(times[rank].begin(), times[rank].end());
  }
  return made;
}

/// Forwards, of what is pending: the stage whose W has the earliest target,
/// else the one that gives back most, the oldest of equals. Backwards, of what
/// fits: the stage whose W or I has the earliest target.
int32_t Dispatcher::nextWeightGrad(const Pattern &pattern, int32_t rank,
                                   int64_t &pending) const {
  using WeightGrad = Pattern::WeightGrad;
  int32_t chosen = -1;
  pending = 0;
  int64_t earliest = never;
  const bool isOrdered = pattern.weightGrad != WeightGrad::Fills;
  for (int32_t s : chain.stagesOf[rank]) {
    const int64_t k = state.done(2, s);
    if (direction == Direction::Backwards) {
      pending += k - state.done(0, s);
      if (k == chain.microbatches || !state.fits(chain, s, 2))
        continue;
      int64_t at;
      if (!pattern.targets[2].empty())
        at = pattern.targets[2][chain.at(s, int32_t(k))];
      else
        at = pattern.offset[0][s] + k * pattern.period;
      if (at < earliest) {
        earliest = at;
        chosen = s;
      }
      continue;
    }
    if (k >= state.done(1, s))
      continue;
    pending += state.done(1, s) - k;
    if (isOrdered) {
      const int64_t at = target(pattern, 2, s);
      if (at < earliest) {
        earliest = at;
        chosen = s;
      }
    } else if (chosen < 0 ||
               chain.weightGradFrees[s] > chain.weightGradFrees[chosen] ||
               (chain.weightGradFrees[s] == chain.weightGradFrees[chosen] &&
                k < state.done(2, chosen))) {
      chosen = s;
    }
  }
  return chosen;
}

bool Dispatcher::fits(int letter, int32_t stage) const {
  if (letter == 1)
    return true;
  const int32_t rank = chain.rankOf[stage];
  if (state.held(rank) <= roomy[rank])
    return true;
  if (direction == Direction::Forwards)
    return state.fits(chain, stage);
  return state.done(2, stage) > state.done(0, stage) ||
         state.fits(chain, stage, 2);
}

void Dispatcher::decide(const Pattern &pattern, int32_t rank, int64_t now) {
  using Discipline = Pattern::Discipline;
  using WeightGrad = Pattern::WeightGrad;
  // The next F and I that may run, whether they are there or not.
  struct Next {
    int letter = 0;
    int32_t stage = -1;
    int64_t target = never, start = never;
  } bestReady, nextForward, nextAny;
  int64_t known = never, wake = never;
  for (int32_t s : chain.stagesOf[rank])
    for (int letter : {1, 0}) {
      if (state.done(letter, s) == chain.microbatches || !fits(letter, s))
        continue;
      Next next;
      next.letter = letter;
      next.stage = s;
      next.target = target(pattern, letter, s);
      next.start = state.earliest(chain, letter, s);
      if (next.target < nextAny.target)
        nextAny = next;
      if (next.start > now)
        wake = std::min(wake, next.start);
      if (letter == 0) {
        if (next.target < nextForward.target)
          nextForward = next;
        if (pattern.discipline == Discipline::ForwardInOrder)
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
    if (bestReady.stage >= 0 &&
        bestReady.target > nextAny.target + pattern.reach)
      bestReady = Next();
    known = nextAny.start > now ? nextAny.start : never;
  }
  // Where nothing is placed.
  alarms.set(rank, wake);
  int64_t pending;
  const int32_t s = nextWeightGrad(pattern, rank, pending);
  const int64_t weightTarget = s >= 0 && pattern.weightGrad != WeightGrad::Fills
                                   ? target(pattern, 2, s)
                                   : never;
  const bool isForwards = direction == Direction::Forwards;
  if (bestReady.stage >= 0) {
    if (s >= 0 && ((isForwards && pending >= int64_t(pattern.backlog) *
                                                 (1 + bestReady.letter)) ||
                   weightTarget < bestReady.target))
      place(2, s, now);
    else if (!isForwards && bestReady.letter == 0 &&
             state.done(2, bestReady.stage) == state.done(0, bestReady.stage))
      place(2, bestReady.stage, now);
    else
      place(bestReady.letter, bestReady.stage, now);
    return;
  }
  if (s < 0 || (!isForwards && pending >= pattern.backlog))
    return;
  if (pattern.weightGrad == WeightGrad::Exact && nextAny.stage >= 0) {
    if (weightTarget < nextAny.target)
      place(2, s, now);
    return;
  }
  const int64_t cost = chain.ns[2][s];
  bool delaysMessage = known < never && now + cost > known;
  if (delaysMessage && pattern.goal < never)
    delaysMessage = known + left[rank] + chain.endOffset[rank] <= pattern.goal;
  else if (delaysMessage)
    delaysMessage = now + cost > known + cost * pattern.patience / 8;
  if (!delaysMessage)
    place(2, s, now);
}

void Dispatcher::place(int letter, int32_t stage, int64_t start) {
  const int32_t rank = chain.rankOf[stage];
  const int64_t k = state.done(letter, stage);
  const int64_t end = state.run(chain, letter, stage, start);
  if (direction == Direction::Backwards && letter != 1)
    state.held(rank) += letter == 2 ? chain.takes[stage] : -chain.takes[stage];
  made[rank].push_back(codeOf(letter, stage));
  times[rank].push_back(start);
  ++count;
  left[rank] -= chain.ns[letter][stage];
  latest = std::max(latest, end + left[rank] + chain.endOffset[rank]);
  alarms.set(rank, end);
  const int32_t to = letter == 0 ? stage + 1 : stage - 1;
  if (letter == 2 || to < 0 || to == chain.stages || chain.rankOf[to] == rank)
    return;
  const int32_t receiver = chain.rankOf[to];
  const int64_t time =
      std::max(state.clock(receiver), state.arrival(letter, to, k));
  if (time < alarms.time(receiver))
    alarms.set(receiver, time);
}
