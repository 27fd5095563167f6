//===- Dispatch.cpp - Turns a periodic pattern into an order --------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "schedule/search/Dispatch.h"

#include <algorithm>

using namespace rondo;

/// The problem in reverse time. Stages keep their numbers. A rank starts at
/// -endOffset of the result, which is at least 0.
static FlatProblem mirror(const FlatProblem &flat) {
  FlatProblem result = flat;
  result.reverse();
  // In reverse time W takes the memory of its micro-batch, and F (Task::I of
  // the result) frees it.
  result.inputGradFrees = flat.takes;
  result.weightGradFrees.assign(flat.stages, 0);
  const int64_t least =
      *std::min_element(flat.endOffset.begin(), flat.endOffset.end());
  for (int64_t &offset : result.endOffset)
    offset = least - offset;
  return result;
}

Alarms::Alarms(int32_t ranks) {
  while (leaves < ranks)
    leaves *= 2;
  nodes.resize(size_t(2) * leaves);
  clear();
}

void Alarms::clear() {
  for (int32_t i = 0; i < leaves; ++i)
    nodes[leaves + i] = {never, i};
  for (int32_t i = leaves; i-- > 1;)
    nodes[i] = nodes[2 * i];
}

void Alarms::set(int32_t rank, int64_t time) {
  uint32_t i = uint32_t(leaves + rank);
  nodes[i].time = time;
  while ((i /= 2) > 0) {
    const Node &left = nodes[2 * i], &right = nodes[2 * i + 1];
    const Node &first = right.time < left.time ? right : left;
    const int32_t before = nodes[i].rank;
    // Another rank was first here and still is, so nothing changes above.
    if (before != rank && first.rank == before)
      return;
    nodes[i] = first;
  }
}

Dispatcher::Dispatcher(const FlatProblem &given, Direction direction)
    : direction(direction),
      taker(direction == Direction::Backwards ? Task::W : Task::F),
      flat(direction == Direction::Backwards ? mirror(given) : given),
      state(flat), alarms(flat.ranks), work(flat.ranks), inFlight(flat.ranks),
      roomy(flat.caps), times(flat.ranks) {
  made.ranks.resize(flat.ranks);
  horizon = -*std::min_element(given.endOffset.begin(), given.endOffset.end());
  for (int32_t s = 0; s < flat.stages; ++s)
    work[flat.rankOf[s]] += flat.workOf(s) * flat.microbatches;
  for (int32_t s = 0; s < flat.stages; ++s)
    roomy[flat.rankOf[s]] -= 2 * flat.takes[s];
  for (int32_t rank = 0; rank < flat.ranks; ++rank) {
    made.ranks[rank].reserve(numCodes(int32_t(flat.stagesOf[rank].size())) *
                             flat.microbatches);
    times[rank].reserve(made.ranks[rank].capacity());
  }
  slots.resize(flat.stages);
  for (const std::vector<int32_t> &stages : flat.stagesOf) {
    begins.push_back(int32_t(candidates.size()));
    for (int32_t s : stages) {
      slots[s] = int32_t(candidates.size());
      for (Task task : {Task::I, Task::F}) {
        candidates.emplace_back();
        candidates.back().stage = s;
        candidates.back().task = task;
      }
    }
  }
  begins.push_back(int32_t(candidates.size()));
}

int64_t Dispatcher::target(const Pattern &pattern, Task task,
                           int32_t stage) const {
  const int64_t k = state.done(task, stage);
  if (!pattern.targets[task].empty())
    return pattern.targets[task][flat.at(stage, int32_t(k))];
  const int64_t offset = pattern.offset[task][stage];
  if (pattern.group == 1)
    return offset + k * pattern.period;
  return offset + k / pattern.group * pattern.group * pattern.period +
         k % pattern.group * pattern.step;
}

/// Makes a stage's next `task` a candidate.
void Dispatcher::look(const Pattern &pattern, Task task, int32_t stage) {
  Candidate &next = candidate(task, stage);
  const int64_t k = state.done(task, stage);
  next.target = next.arrival = never;
  if (k == flat.microbatches)
    return;
  next.target = target(pattern, task, stage);
  next.arrival = state.ready(flat, task, stage);
}

int64_t Dispatcher::run(const Pattern &pattern, int64_t ceiling) {
  std::fill(state.data.begin(), state.data.end(), 0);
  pending.assign(flat.ranks, 0);
  for (int32_t s = 0; s < flat.stages; ++s)
    for (Task task : {Task::F, Task::I})
      look(pattern, task, s);
  if (direction == Direction::Backwards)
    for (int32_t rank = 0; rank < flat.ranks; ++rank)
      state.clock(rank) = -flat.endOffset[rank];
  for (int32_t rank = 0; rank < flat.ranks; ++rank)
    inFlight[rank] = state.inFlight(flat, rank, taker);
  left = work;
  for (Sequence &order : made.ranks)
    order.clear();
  for (std::vector<int64_t> &column : times)
    column.clear();
  isTurned = false;
  count = 0;
  latest = -never;
  alarms.clear();
  if (direction == Direction::Forwards)
    for (int32_t s = 0; s < flat.stages; ++s) {
      if (flat.inputs(Task::F, s).empty())
        alarms.set(flat.rankOf[s], 0);
    }
  else
    for (int32_t rank = 0; rank < flat.ranks; ++rank)
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
  return count == flat.tasks() ? latest : never;
}

const Orders &Dispatcher::orders() {
  if (direction == Direction::Forwards || isTurned)
    return made;
  isTurned = true;
  for (int32_t rank = 0; rank < flat.ranks; ++rank) {
    Sequence &order = made.ranks[rank];
    for (size_t i = 0; i < order.size(); ++i) {
      const Task task = taskOf(order[i]);
      const int32_t stage = stageOf(order[i]);
      times[rank][i] = horizon + latest - times[rank][i] - flat.ns[task][stage];
      order[i] = codeOf(mirrored(task), stage);
    }
    std::reverse(order.begin(), order.end());
    std::reverse(times[rank].begin(), times[rank].end());
  }
  return made;
}

/// The stage whose W is next; -1: none. Forwards, of the pending W: the one
/// with the earliest target if the pattern orders W, otherwise the one that
/// releases the most memory, of equals the oldest. Backwards, of the W that
/// fit: the one with the earliest target of its W or, without targets of W, of
/// its I.
int32_t Dispatcher::nextWeightGrad(const Pattern &pattern, int32_t rank) const {
  using WeightGrad = Pattern::WeightGrad;
  int32_t chosen = -1;
  int64_t earliest = never;
  const bool isOrdered = pattern.weightGrad != WeightGrad::Fills;
  if (direction == Direction::Forwards && pending[rank] == 0)
    return chosen;
  for (int32_t s : flat.stagesOf[rank]) {
    const int64_t k = state.done(Task::W, s);
    if (direction == Direction::Backwards) {
      if (k == flat.microbatches || !mayTake(s))
        continue;
      int64_t at;
      if (!pattern.targets[Task::W].empty())
        at = pattern.targets[Task::W][flat.at(s, int32_t(k))];
      else
        at = pattern.offset[Task::F][s] + k * pattern.period;
      if (at < earliest) {
        earliest = at;
        chosen = s;
      }
      continue;
    }
    if (k >= state.done(Task::I, s))
      continue;
    if (isOrdered) {
      const int64_t at = target(pattern, Task::W, s);
      if (at < earliest) {
        earliest = at;
        chosen = s;
      }
    } else if (chosen < 0 ||
               flat.weightGradFrees[s] > flat.weightGradFrees[chosen] ||
               (flat.weightGradFrees[s] == flat.weightGradFrees[chosen] &&
                k < state.done(Task::W, chosen))) {
      chosen = s;
    }
  }
  return chosen;
}

void Dispatcher::decide(const Pattern &pattern, int32_t rank, int64_t now) {
  using Discipline = Pattern::Discipline;
  using WeightGrad = Pattern::WeightGrad;
  // The candidates with the earliest targets that fit: among those whose inputs
  // have arrived, among the F, and among all.
  static const Candidate none;
  const Candidate *bestReady = &none, *nextForward = &none, *nextAny = &none;
  int64_t known = never, wake = never;
  const bool isRoomy = state.held(rank) <= roomy[rank];
  const Candidate *end = candidates.data() + begins[rank + 1];
  for (const Candidate *next = candidates.data() + begins[rank]; next != end;
       ++next) {
    if (next->target == never ||
        (next->task == Task::F && !isRoomy && !fits(Task::F, next->stage)))
      continue;
    if (next->target < nextAny->target)
      nextAny = next;
    if (next->arrival > now)
      wake = std::min(wake, next->arrival);
    if (next->task == Task::F) {
      if (next->target < nextForward->target)
        nextForward = next;
      if (pattern.discipline == Discipline::ForwardInOrder)
        continue;
    }
    if (next->arrival > now)
      known = std::min(known, next->arrival);
    else if (next->target < bestReady->target)
      bestReady = next;
  }
  if (pattern.discipline == Discipline::ForwardInOrder) {
    if (nextForward->arrival > now)
      known = std::min(known, nextForward->arrival);
    else if (nextForward->target < bestReady->target)
      bestReady = nextForward;
  } else if (pattern.discipline == Discipline::InOrder) {
    if (bestReady != &none &&
        bestReady->target > nextAny->target + pattern.reach)
      bestReady = &none;
    known = nextAny->arrival > now ? nextAny->arrival : never;
  }
  const bool isForwards = direction == Direction::Forwards;
  const bool isOrdered = pattern.weightGrad != WeightGrad::Fills;
  if (bestReady != &none) {
    const Task task = bestReady->task;
    const int32_t stage = bestReady->stage;
    const bool isDue =
        isForwards &&
        pending[rank] >= int64_t(pattern.backlog) * (task == Task::I ? 2 : 1);
    const int32_t s = isDue || isOrdered ? nextWeightGrad(pattern, rank) : -1;
    if (s >= 0 && (isDue || target(pattern, Task::W, s) < bestReady->target))
      place(pattern, Task::W, s, now);
    else if (!isForwards && task == Task::F &&
             state.done(Task::W, stage) == state.done(Task::F, stage))
      place(pattern, Task::W, stage, now);
    else
      place(pattern, task, stage, now);
    return;
  }
  const int32_t s = nextWeightGrad(pattern, rank);
  bool runs = s >= 0 && (isForwards || pending[rank] < pattern.backlog);
  if (runs && pattern.weightGrad == WeightGrad::Exact && nextAny != &none) {
    runs = target(pattern, Task::W, s) < nextAny->target;
  } else if (runs) {
    const int64_t cost = flat.ns[Task::W][s];
    bool delaysMessage = known < never && now + cost > known;
    if (delaysMessage && pattern.goal < never)
      delaysMessage = known + left[rank] + flat.endOffset[rank] <= pattern.goal;
    else if (delaysMessage)
      delaysMessage = now + cost > known + cost * pattern.patience / 8;
    runs = !delaysMessage;
  }
  if (runs)
    place(pattern, Task::W, s, now);
  else
    alarms.set(rank, wake);
}

void Dispatcher::place(const Pattern &pattern, Task task, int32_t stage,
                       int64_t start) {
  const int32_t rank = flat.rankOf[stage];
  const int64_t k = state.done(task, stage);
  const int64_t end = state.run(flat, task, stage, start);
  const bool isForwards = direction == Direction::Forwards;
  if (!isForwards && task != Task::I)
    state.held(rank) +=
        task == Task::W ? flat.takes[stage] : -flat.takes[stage];
  if (task == taker)
    inFlight[rank] = state.inFlight(flat, rank, taker);
  if (task == Task::W)
    pending[rank] += isForwards ? -1 : 1;
  else if (task == (isForwards ? Task::I : Task::F))
    pending[rank] += isForwards ? 1 : -1;
  made.ranks[rank].push_back(codeOf(task, stage));
  times[rank].push_back(start);
  ++count;
  left[rank] -= flat.ns[task][stage];
  latest = std::max(latest, end + left[rank] + flat.endOffset[rank]);
  alarms.set(rank, end);
  if (task == Task::W)
    return;
  look(pattern, task, stage);
  if (task == Task::F && state.done(Task::I, stage) == k)
    candidate(Task::I, stage).arrival = state.ready(flat, Task::I, stage);
  for (int32_t e : flat.outputs(task, stage)) {
    const int32_t to = flat.messages[e].to;
    if (state.done(task, to) == k)
      candidate(task, to).arrival = state.ready(flat, task, to);
    const int32_t receiver = flat.rankOf[to];
    if (receiver == rank)
      continue;
    const int64_t time = std::max(state.clock(receiver), state.arrival(e, k));
    if (time < alarms.time(receiver))
      alarms.set(receiver, time);
  }
}
