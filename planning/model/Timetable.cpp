//===- Timetable.cpp - Slots of an order that repeats ---------------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "planning/model/Timetable.h"

#include "schedule/model/Infinity.h"

#include <cmath>

using namespace rondo;

int64_t Timetable::numPeriods() const {
  int64_t first = infinite, last = -infinite;
  for (const std::vector<Placed> &tasks : ranks)
    for (const Placed &task : tasks) {
      first = std::min(first, task.slot);
      last = std::max(last, task.slot);
    }
  return (last - first) / slots + 1;
}

Schedule Timetable::toSchedule(int32_t microbatches) const {
  Schedule schedule;
  for (size_t rank = 0; rank < ranks.size(); ++rank) {
    const std::vector<Placed> tasks = inOrder(static_cast<int32_t>(rank));
    int64_t first = infinite, last = -infinite;
    for (const Placed &task : tasks) {
      first = std::min(first, periodOf(task.slot));
      last = std::max(last, periodOf(task.slot));
    }
    for (int64_t period = first; period < last + microbatches; ++period)
      for (const Placed &task : tasks) {
        const int64_t k = period - periodOf(task.slot);
        if (k >= 0 && k < microbatches)
          schedule.append({task.kind, task.stage, k});
      }
    schedule.endRank();
  }
  return schedule;
}

int64_t Timetable::peakBytes(const Problem &problem, int32_t rank) const {
  const std::vector<Placed> tasks = inOrder(rank);
  auto costOf = [&](const Placed &task) -> const Cost & {
    return problem.cost(task.stage, task.kind);
  };
  int64_t held = 0;
  // Tasks of earlier micro-batches that have run before the period begins.
  for (const Placed &task : tasks)
    held -= periodOf(task.slot) *
            (costOf(task).acquireBytes - costOf(task).releaseBytes);
  int64_t peak = held;
  for (const Placed &task : tasks) {
    held += costOf(task).acquireBytes;
    peak = std::max(peak, held);
    held -= costOf(task).releaseBytes;
  }
  return peak;
}

TimetableMaker::TimetableMaker(const Problem &problem) : problem(problem) {
  std::vector<double> work(problem.numRanks());
  std::vector<int32_t> tasks(problem.numRanks());
  for (int32_t s = 0; s < problem.numStages(); ++s)
    for (ActionKind kind : kindsOf(s)) {
      work[problem.rankOf(s)] += timeOf(kind, s);
      ++tasks[problem.rankOf(s)];
    }
  const auto busiest = static_cast<size_t>(
      std::max_element(work.begin(), work.end()) - work.begin());
  unitNs = std::max(1., work[busiest] / tasks[busiest]);
  std::vector<int32_t> widths(problem.numRanks());
  for (int32_t s = 0; s < problem.numStages(); ++s)
    for (ActionKind kind : kindsOf(s))
      fewestSlots =
          std::max(fewestSlots, widths[problem.rankOf(s)] += widthOf(kind, s));
  shortestNs = std::max(1., work[busiest] / fewestSlots);
  firstLate = problem.numStages();
  while (firstLate > 0 && !problem.recomputes(firstLate - 1))
    --firstLate;
}

std::optional<Timetable> TimetableMaker::make(const Making &how) {
  making = how;
  random = Random(making.seed);
  table.slots = fewestSlots + making.freeSlots;
  slotNs = shortestNs * making.pace;
  table.ranks.assign(problem.numRanks(), {});
  used.assign(problem.numRanks(), std::vector<bool>(table.slots));
  inputGradAt.assign(problem.numStages(), 0);
  if (!placeAll())
    return {};
  return table;
}

std::vector<ActionKind> TimetableMaker::kindsOf(int32_t stage) const {
  if (problem.recomputes(stage))
    return {ActionKind::Forward, ActionKind::Recompute, ActionKind::InputGrad,
            ActionKind::WeightGrad};
  return {ActionKind::Forward, ActionKind::InputGrad, ActionKind::WeightGrad};
}

double TimetableMaker::timeOf(ActionKind kind, int32_t stage) const {
  return double(problem.cost(stage, kind).ns);
}

int32_t TimetableMaker::widthOf(ActionKind kind, int32_t stage) const {
  return std::max(
      1, static_cast<int32_t>(std::lround(timeOf(kind, stage) / unitNs)));
}

/// A message of a stage, from F or I, in slots.
double TimetableMaker::messageSlots(int32_t from, int32_t to) const {
  const int32_t sender = problem.rankOf(from), receiver = problem.rankOf(to);
  if (sender == receiver)
    return 0;
  // Stage edges of a chain: F of each stage, then I of each.
  const int32_t edge = from < to ? from : problem.numStages() - 1 + to;
  const Link link = problem.linkBetween(sender, receiver);
  return double(link.occupancyNs(problem.edges[edge].bytes) + link.latencyNs) /
         slotNs;
}

bool TimetableMaker::isFree(int32_t rank, int64_t slot, int32_t width) const {
  for (int32_t k = 0; k < width; ++k)
    if (used[rank][table.modulo(slot + k)])
      return false;
  return true;
}

/// The first free slots from `slot` on, or, if `step` is -1, the last free
/// ones up to it; gives them to the task.
std::optional<int64_t> TimetableMaker::place(ActionKind kind, int32_t stage,
                                             int64_t slot, int32_t step) {
  const int32_t rank = problem.rankOf(stage), width = widthOf(kind, stage);
  for (int32_t tried = 0; tried < table.slots; ++tried, slot += step) {
    if (!isFree(rank, slot, width))
      continue;
    for (int32_t k = 0; k < width; ++k)
      used[rank][table.modulo(slot + k)] = true;
    table.ranks[rank].push_back({kind, stage, width, slot});
    return slot;
  }
  return {};
}

double TimetableMaker::slotsOf(ActionKind kind, int32_t stage) const {
  return timeOf(kind, stage) / slotNs;
}

double TimetableMaker::randomWait() {
  return random.below(10) == 0 ? making.wait * random.unit() : 0;
}

int64_t TimetableMaker::firstSlot(double ready, double tolerance) const {
  return static_cast<int64_t>(std::ceil(ready - tolerance));
}

bool TimetableMaker::placeWeightGrad(int32_t stage) {
  return place(ActionKind::WeightGrad, stage,
               inputGradAt[stage] + widthOf(ActionKind::InputGrad, stage), 1)
      .has_value();
}

/// R, I and perhaps W of a stage whose output gradient arrives at `ready`.
bool TimetableMaker::placeBackward(int32_t stage, double &ready) {
  int64_t from = firstSlot(ready, making.backwardTolerance);
  const bool isBefore = problem.recomputes(stage) && !making.runsAhead;
  if (isBefore) {
    const std::optional<int64_t> again =
        place(ActionKind::Recompute, stage, from, 1);
    if (!again)
      return false;
    ready =
        std::max(ready, double(*again)) + slotsOf(ActionKind::Recompute, stage);
    from = std::max(*again + widthOf(ActionKind::Recompute, stage),
                    firstSlot(ready, making.backwardTolerance));
  }
  const std::optional<int64_t> at =
      place(ActionKind::InputGrad, stage, from, 1);
  if (!at)
    return false;
  inputGradAt[stage] = *at;
  if (problem.recomputes(stage) && !isBefore &&
      !place(ActionKind::Recompute, stage,
             *at - widthOf(ActionKind::Recompute, stage), -1))
    return false;
  ready = std::max(ready, double(*at)) + slotsOf(ActionKind::InputGrad, stage) +
          randomWait();
  if (stage > 0)
    ready += messageSlots(stage, stage - 1);
  const bool isEarly =
      making.weightGrads == WeightGrads::Early ||
      (making.weightGrads == WeightGrads::Mixed && stage < firstLate);
  return !isEarly || placeWeightGrad(stage);
}

bool TimetableMaker::placeAll() {
  const int32_t stages = problem.numStages();
  double ready = 0, begin = 0;
  for (int32_t s = firstLate; s < stages; ++s) {
    const std::optional<int64_t> at = place(
        ActionKind::Forward, s, firstSlot(ready, making.forwardTolerance), 1);
    if (!at)
      return false;
    if (s == firstLate)
      begin = double(*at);
    ready = std::max(ready, double(*at)) + slotsOf(ActionKind::Forward, s) +
            randomWait();
    if (s + 1 < stages)
      ready += messageSlots(s, s + 1);
  }
  ready += making.turn;
  for (int32_t s = stages - 1; s >= firstLate; --s)
    if (!placeBackward(s, ready))
      return false;
  if (making.weightGrads != WeightGrads::Early)
    for (int32_t s = firstLate; s < stages; ++s)
      if (!placeWeightGrad(s))
        return false;
  for (int32_t s = firstLate - 1; s >= 0; --s) {
    begin -= slotsOf(ActionKind::Forward, s);
    if (s + 1 < stages)
      begin -= messageSlots(s, s + 1);
    const std::optional<int64_t> at = place(
        ActionKind::Forward, s,
        static_cast<int64_t>(std::floor(begin + making.forwardTolerance)), -1);
    if (!at)
      return false;
    begin = std::min(begin, double(*at));
  }
  for (int32_t s = firstLate - 1; s >= 0; --s)
    if (!placeBackward(s, ready))
      return false;
  if (making.weightGrads == WeightGrads::Late)
    for (int32_t s = 0; s < firstLate; ++s)
      if (!placeWeightGrad(s))
        return false;
  return true;
}
