//===- WaitCycle.cpp - L2: the program runs to its end ----------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "schedule/model/BufferNumbers.h"
#include "schedule/order/EqualMicrobatches.h"
#include "schedule/program/Program.h"
#include "schedule/program/Slots.h"

#include <algorithm>

using namespace rondo;

/// Whether a program runs with places as it does without: all that takes a slot
/// starts later than the send that used it last ends. Waits for what is over
/// strictly earlier can close no circle.
static bool runsAsWithoutPlaces(const Problem &problem, const Program &program,
                                const ProgramSimulation &run) {
  // With one queue a rank receives do not start at the same time.
  if (!run.complete || problem.channels.queues == Queues::PerRank)
    return false;
  struct User {
    int32_t rank = -1;
    int64_t sendEndNs = -1;
  };
  const EdgeTable edges(problem);
  const BufferNumbers buffers(problem);
  const Slots slots(program);
  const std::vector<bool> meetsSends = slots.sharedWith(buffers.allSent());
  if (meetsSends.empty())
    return true;
  std::vector<User> users(slots.count());
  int64_t position = 0;
  for (int32_t rank = 0; rank < program.order.numRanks(); ++rank)
    for (const Action action : program.order.rank(rank)) {
      // Null where there is none; a slot of two ranks is left to simulation.
      bool isOfOtherRank = false;
      auto userOf = [&](int32_t buffer) -> User * {
        const int64_t slot = slots.of(buffer, action.index);
        if (slot < 0)
          return nullptr;
        User &user = users[slot];
        isOfOtherRank |= user.rank >= 0 && user.rank != rank;
        user.rank = rank;
        return &user;
      };
      auto isFree = [&](int32_t buffer) {
        if (!meetsSends[buffer])
          return true;
        const User *user = userOf(buffer);
        return !user || user->sendEndNs < run.startNs[position];
      };
      bool areFree = true;
      if (action.isTask())
        areFree = buffers.forEachTaken(edges, action.subject, action, isFree);
      else if (action.kind() == ActionKind::Recv)
        areFree = isFree(buffers.received(action.subject));
      else if (action.kind() == ActionKind::Send)
        if (User *user = userOf(buffers.sent(action.subject)))
          user->sendEndNs = std::max(user->sendEndNs, run.endNs[position]);
      if (!areFree || isOfOtherRank)
        return false;
      ++position;
    }
  return true;
}

/// Whether a rank alone does the same for each micro-batch, and runs to its end
/// with the first: no other needs more.
static bool runsWithFirst(const Problem &problem, const Program &program) {
  if (program.order.numRanks() != 1 || problem.iterations > 1)
    return false;
  const ActionRange actions = program.order.rank(0);
  const ActionRange first =
      firstOfEqualMicrobatches(actions, problem.microbatches);
  if (first.empty())
    return false;
  Problem ofFirst = problem;
  ofFirst.microbatches = 1;
  Program shorter;
  shorter.collectives = program.collectives;
  for (Action action : first)
    shorter.order.append(action);
  for (int64_t i = first.size() * problem.microbatches; i < actions.size(); ++i)
    shorter.order.append(actions[i]);
  shorter.order.endRank();
  return simulateProgram(ofFirst, shorter, /*resident=*/0).complete;
}

/// The least number of receive slots with which a program that stands still
/// runs to its end; 0 where no number helps.
static int32_t slotsThatRun(const Problem &problem, const Program &program) {
  Problem with = problem;
  auto runs = [&](int32_t slots) {
    with.channels.receiveSlots = slots;
    return simulateProgram(with, program, /*resident=*/0).complete;
  };
  const int32_t few = problem.channels.receiveSlots;
  constexpr int32_t maxSlots = 1 << 20;
  if (few == 0 || few > maxSlots || !runs(0))
    return 0;
  // More slots never make a rank wait.
  int32_t low = few, high = few;
  do {
    low = high;
    high *= 2;
  } while (high <= maxSlots && !runs(high));
  if (high > maxSlots)
    return 0;
  while (high - low > 1) {
    const int32_t middle = low + (high - low) / 2;
    (runs(middle) ? high : low) = middle;
  }
  return high;
}

std::optional<Fault>
rondo::checkWaitCycle(const Problem &problem, const Program &program,
                      const ProgramSimulation *withoutPlaces,
                      ProgramNames names) {
  constexpr Rule rule = Rule::WaitCycle;
  if (names == ProgramNames::Unknown)
    if (auto fault = checkNames(problem, program, rule))
      return fault;
  if (withoutPlaces && runsAsWithoutPlaces(problem, program, *withoutPlaces))
    return std::nullopt;
  if (runsWithFirst(problem, program))
    return std::nullopt;
  ProgramSimulation simulation =
      simulateProgram(problem, program, /*resident=*/0);
  if (simulation.complete)
    return std::nullopt;
  if (simulation.cycle.empty())
    return makeRuleFault<FaultKind::NeverFinishes>(rule);
  const Wait &first = simulation.cycle.front();
  ActionRange actions = program.order.rank(first.rank);
  Fault fault = makeFaultAt<FaultKind::ProgramCycle>(
      rule, first.rank,
      std::find(actions.begin(), actions.end(), first.at) - actions.begin(),
      first.at);
  fault.otherRank = first.onRank;
  fault.other = first.needs;
  ActionRange others = program.order.rank(first.onRank);
  const Action *other = std::find(others.begin(), others.end(), first.needs);
  if (other != others.end())
    fault.otherPosition = other - others.begin();
  fault.cycle = std::move(simulation.cycle);
  if (const int32_t slots = slotsThatRun(problem, program)) {
    fault.kind = FaultKind::ReceiveSlotsCycle;
    fault.parts = {int64_t(slots)};
    fault.allowed = problem.channels.receiveSlots;
  }
  return fault;
}

std::optional<Fault> rondo::checkWaitCycle(const Problem &problem,
                                           const Program &program,
                                           Queues queues, ProgramNames names) {
  Problem queued = problem;
  queued.channels = {Protocol::Rendezvous, /*receiveSlots=*/0, queues};
  return checkWaitCycle(queued, program, /*withoutPlaces=*/nullptr, names);
}
