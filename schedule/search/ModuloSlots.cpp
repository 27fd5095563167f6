//===- ModuloSlots.cpp - Launches on a grid of modulo slots ---------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "schedule/search/ModuloSlots.h"

#include <algorithm>

using namespace rondo;

static int64_t longest(const std::vector<int64_t> &of) {
  return *std::max_element(of.begin(), of.end());
}

/// Length of the shortest modulo slot. If a wave returns to the first rank,
/// both waves need the same pace, so that it returns on a modulo slot.
int64_t ModuloSlots::shortestNs(const FlatProblem &flat) {
  const int64_t forward = longest(flat.ns[Task::F]),
                backward = longest(flat.ns[Task::I]);
  int64_t transfer = 0;
  for (const FlatProblem::Message &message : flat.messages)
    transfer = std::max(transfer, message.transferNs());
  return (flat.stages == flat.ranks ? forward + backward
                                    : 2 * std::max(forward, backward)) +
         2 * transfer;
}

bool ModuloSlots::fit(const FlatProblem &flat) {
  if (!flat.isChain || flat.ranks < 2 || flat.stages % flat.ranks != 0)
    return false;
  if (double(shortestNs(flat) + longest(flat.ns[Task::W])) *
          double(flat.tasks()) >
      double(never) / 16)
    return false;
  std::vector<bool> isSeen(flat.ranks);
  for (int32_t s = 0; s < flat.stages; ++s) {
    const int32_t first = s % flat.ranks;
    if (flat.rankOf[s] != flat.rankOf[first])
      return false;
    if (s < flat.ranks) {
      if (isSeen[flat.rankOf[s]])
        return false;
      isSeen[flat.rankOf[s]] = true;
    }
  }
  return true;
}

ModuloSlots::ModuloSlots(const FlatProblem &flat, double factor) : flat(flat) {
  // If W took many modulo slots, the search would take longer without better
  // launches.
  lengthNs = std::max<int64_t>({1, longest(flat.ns[Task::W]) / 8,
                                int64_t(double(shortestNs(flat)) * factor)});
  const int64_t forward = longest(flat.ns[Task::F]),
                backward = longest(flat.ns[Task::I]);
  phaseNs = flat.stages == flat.ranks
                ? forward + (lengthNs - forward - backward) / 2
                : lengthNs / 2;
  for (int32_t at = 0; at < flat.ranks; ++at)
    passes.push_back(passesOf(flat, at));
  place = tightestPlace();
  for (const Pass &pass : passes[place])
    span = std::max(span, pass.slot + 1);
}

/// The tasks of the rank at `place`. A wave down all ranks and one up again
/// take as many modulo slots as there are ranks. If waves pass the ranks
/// several times, each pass in one direction takes half of that. So the I of
/// the last stage is in the modulo slot of its F.
std::vector<ModuloSlots::Pass> ModuloSlots::passesOf(const FlatProblem &flat,
                                                     int32_t place) {
  const int32_t rounds = flat.stages / flat.ranks;
  const int32_t down = rounds == 1 ? 0 : (flat.ranks + 1) / 2;
  const int32_t both = rounds == 1 ? flat.ranks : 2 * rounds * down;
  std::vector<Pass> made;
  for (int32_t j = 0; j < rounds; ++j) {
    const int32_t stage = j * flat.ranks + place;
    made.push_back({Task::F, stage, j * down});
    made.push_back({Task::I, stage, both - j * down - 1 - place});
  }
  return made;
}

/// The place whose rank has memory for the fewest micro-batches in flight.
int32_t ModuloSlots::tightestPlace() const {
  int32_t tightest = 0;
  double least = std::numeric_limits<double>::infinity();
  for (int32_t at = 0; at < flat.ranks; ++at) {
    double held = 0;
    for (size_t i = 0; i < passes[at].size(); i += 2)
      held += double(flat.takes[passes[at][i].stage]) *
              (passes[at][i + 1].slot - passes[at][i].slot + 1);
    const double room = double(flat.caps[flat.rankOf[at]]) / held;
    if (room < least) {
      least = room;
      tightest = at;
    }
  }
  return tightest;
}

void ModuloSlots::set(Row &of, const std::vector<Pass> &tasks, int32_t slot,
                      bool isTaken) const {
  for (const Pass &pass : tasks)
    of.stageAt[pass.task][slot + pass.slot] = isTaken ? pass.stage : -1;
}

bool ModuloSlots::isFree(int32_t slot) const {
  return std::all_of(passes[place].begin(), passes[place].end(),
                     [&](const Pass &pass) {
                       return row.stageAt[pass.task][slot + pass.slot] < 0;
                     });
}

template <typename Emit>
void ModuloSlots::runWeightGrad(Row &of, State &state, const Emit &emit) const {
  const Code code = of.waiting[state.firstWaiting++];
  state.freeNs += flat.ns[Task::W][stageOf(code)];
  state.held -= flat.weightGradFrees[stageOf(code)];
  emit(code);
}

/// Runs the tasks of a modulo slot, and before them W in the idle time. If
/// `isPressed` and F does not fit, also runs W that delays F. False if F does
/// not fit.
template <typename Emit>
bool ModuloSlots::runSlot(Row &of, State &state, int64_t cap, int32_t slot,
                          bool isPressed, const Emit &emit) const {
  for (Task task : {Task::F, Task::I}) {
    const int64_t start = startNs(task, slot);
    while (state.firstWaiting < state.numWaiting &&
           state.freeNs +
                   flat.ns[Task::W][stageOf(of.waiting[state.firstWaiting])] <=
               start)
      runWeightGrad(of, state, emit);
    const int32_t stage = of.stageAt[task][slot];
    if (stage < 0)
      continue;
    if (task == Task::F) {
      while (state.held + flat.takes[stage] > cap) {
        if (!isPressed || state.firstWaiting == state.numWaiting)
          return false;
        runWeightGrad(of, state, emit);
      }
      state.held += flat.takes[stage];
    } else {
      state.held -= flat.inputGradFrees[stage];
      if (size_t(state.numWaiting) == of.waiting.size())
        of.waiting.emplace_back();
      of.waiting[state.numWaiting++] = codeOf(Task::W, stage);
    }
    emit(codeOf(task, stage));
    state.freeNs = std::max(state.freeNs, start) + flat.ns[task][stage];
  }
  return true;
}

/// Whether the tightest rank has memory for its tasks from slot `from` to `to`
/// - 1. If so, sets `endNs`.
bool ModuloSlots::runsTo(State state, int32_t from, int32_t to) {
  const int64_t cap = flat.caps[flat.rankOf[place]];
  const auto ignore = [](Code) {};
  for (int32_t slot = from; slot < to; ++slot) {
    ++steps;
    if (!runSlot(row, state, cap, slot, false, ignore))
      return false;
  }
  while (state.firstWaiting < state.numWaiting)
    runWeightGrad(row, state, ignore);
  endNs = state.freeNs;
  return true;
}

int64_t ModuloSlots::launch(const std::vector<int32_t> &delays) {
  const int64_t cap = flat.caps[flat.rankOf[place]];
  steps = endNs = 0;
  launches.clear();
  for (std::vector<int32_t> &stages : row.stageAt)
    std::fill(stages.begin(), stages.end(), -1);
  State state;
  int32_t slot = 0, now = 0, end = 0;
  for (int32_t delay : delays) {
    slot += delay;
    // From slot `last` on, the rank has no tasks.
    const int64_t last = std::max<int64_t>({slot, end, endNs / lengthNs + 1});
    for (;; ++slot) {
      if (slot > last)
        return never;
      for (Task task : {Task::F, Task::I})
        if (row.stageAt[task].size() < size_t(slot) + span)
          row.stageAt[task].resize(2 * (size_t(slot) + span), -1);
      if (!isFree(slot))
        continue;
      set(row, passes[place], slot, true);
      if (runsTo(state, now, std::max(end, slot + span)))
        break;
      set(row, passes[place], slot, false);
    }
    launches.push_back(slot);
    end = std::max(end, slot + span);
    // Later launches come after this slot, so the tasks before it are final.
    for (++slot; now < slot; ++now)
      runSlot(row, state, cap, now, false, [](Code) {});
  }
  return endNs;
}

bool ModuloSlots::toOrders(Orders &orders) {
  orders.ranks.resize(flat.ranks);
  for (int32_t at = 0; at < flat.ranks; ++at) {
    Sequence &order = orders.ranks[flat.rankOf[at]];
    order.clear();
    int32_t end = 0;
    for (const Pass &pass : passes[at])
      end = std::max(end, launches.back() + pass.slot + 1);
    for (Task task : {Task::F, Task::I})
      scratch.stageAt[task].assign(end, -1);
    for (int32_t launch : launches)
      set(scratch, passes[at], launch, true);
    const auto emit = [&](Code code) { order.push_back(code); };
    State state;
    for (int32_t slot = 0; slot < end; ++slot)
      if (!runSlot(scratch, state, flat.caps[flat.rankOf[at]], slot, true,
                   emit))
        return false;
    while (state.firstWaiting < state.numWaiting)
      runWeightGrad(scratch, state, emit);
  }
  return true;
}
