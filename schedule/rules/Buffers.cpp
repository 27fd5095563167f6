//===- Buffers.cpp - L3: no slot has two owners -----------------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Each rank's order is replayed on the slots. A buffer that is sent is
// free after its send. An action that takes the slot then waits until the send
// ends; simulateProgram() models this wait, as the runtime does it. The same
// holds for what SAVE frees; LOAD owns its slots from its place in the list on.
//
//===----------------------------------------------------------------------===//

#include "schedule/order/EqualMicrobatches.h"
#include "schedule/program/ProgramSimulator.h"
#include "schedule/program/ReleasedBuffers.h"
#include "schedule/rules/BufferReplay.h"
#include "schedule/rules/ProgramRules.h"

#include <algorithm>

using namespace rondo;
using namespace rondo::buffer_replay;

Replay::Found Replay::take(int32_t buffer, int64_t number, int32_t uses) {
  const int64_t slot = slots.of(buffer, number);
  if (slot == Slots::none)
    return nullptr;
  if (slot == Slots::invalid)
    return fault<FaultKind::TakesNoSlot>(BufferName{buffer, number});
  int32_t &owner = poolRanks[program.places[buffer].pool];
  if (owner >= 0 && owner != rank)
    return fault<FaultKind::TakesFromOtherRank>(slotName(slot), owner);
  owner = rank;
  const int64_t end = slot + slots.span(buffer, number);
  for (int64_t s = slot; s < end; ++s) {
    const Content &content = contents[s];
    if (!content.isOwned)
      continue;
    if (content.isState)
      return fault<FaultKind::TakesFromState>(
          slotName(s), BufferName{buffer, number}, contentName(content));
    fault<FaultKind::TakesFromOwner>(slotName(s), BufferName{buffer, number},
                                     contentName(content));
    return keep(
        std::move(kept).withOther(content.rank, content.position, Action()));
  }
  Content &content = contents[slot];
  content.isOwned = true;
  ++numTaken;
  content.buffer = buffer;
  content.rank = rank;
  content.microbatch = number;
  content.position = position;
  content.uses = uses;
  std::fill(contents.begin() + slot + 1, contents.begin() + end, content);
  const int32_t pool = program.places[buffer].pool;
  owned[pool] += end - slot;
  mostOwned[pool] = std::max(mostOwned[pool], owned[pool]);
  return nullptr;
}

/// Receives a message: a whole buffer, or a part of one. The first part takes
/// the slot.
Replay::Found Replay::receive() {
  const int32_t buffer = buffers.received(action.subject);
  const int64_t slot = slots.of(buffer, action.index);
  if (slot >= 0) {
    Content &content = contents[slot];
    const Action before = program.order.rank(rank)[content.position];
    if (content.isOwned && content.buffer == buffer &&
        content.microbatch == static_cast<int64_t>(action.index) &&
        content.rank == rank && before.kind() == ActionKind::Recv &&
        before.subject != action.subject) {
      content.uses += readersOf(action.subject);
      return nullptr;
    }
  }
  return take(buffer, readersOf(action.subject));
}

/// Finds the slot content of a buffer that the current action reads; null if
/// the program has no such buffer.
Replay::Found Replay::look(int32_t buffer, int64_t number, Content *&content) {
  const int64_t slot = slots.of(buffer, number);
  if (slot == Slots::none)
    return nullptr;
  if (slot == Slots::invalid)
    return fault<FaultKind::ReadsNoSlot>(BufferName{buffer, number});
  content = &contents[slot];
  if (!content->isOwned || content->buffer != buffer ||
      content->microbatch != number)
    return fault<FaultKind::ReadsOtherBuffer>(
        BufferName{buffer, number}, slotName(slot), contentName(*content));
  return nullptr;
}

Replay::Found Replay::read(int32_t buffer, int64_t number, bool isLastUse) {
  Content *content = nullptr;
  if (Found wrong = look(buffer, number, content))
    return wrong;
  if (content && isLastUse)
    release(*content);
  return nullptr;
}

/// Reads a buffer that releaseInputs() will release.
Replay::Found Replay::readInput(int32_t buffer) {
  Content *content = nullptr;
  if (Found wrong = look(buffer, action.index, content))
    return wrong;
  if (content)
    inputsRead.push_back({buffer, content});
  return nullptr;
}

/// Reads all inputs of the current task. The output of another replica is in a
/// buffer that a message has filled, or in the producer's buffer if both are on
/// the same rank.
Replay::Found Replay::readInputs() {
  inputsRead.clear();
  const int32_t replica = action.subject;
  const ActionKind kind = action.kind();
  for (int32_t e : inputs()) {
    // R reads the copy that F has made.
    if ((kind == ActionKind::Recompute && isCopied(e)) || !isThere(e))
      continue;
    const int32_t sent = buffers.sent(e), received = buffers.received(e);
    bool isLocal = problem.rankOf(problem.edges[e].from) == rank;
    if (isLocal && !isCopied(e) &&
        slots.of(received, action.index) != slots.of(sent, action.index))
      return fault<FaultKind::ReadsOtherSlot>(nameOf(received), nameOf(sent));
    if (Found wrong = readInput(isLocal ? sent : received))
      return wrong;
  }
  if (isSharded && gathered[replica] >= 0)
    if (Found wrong = read(buffers.of(replica, BufferKind::GatheredWeights),
                           gathered[replica], /*isLastUse=*/false))
      return wrong;
  Found wrong = nullptr;
  forEachReleased(problem, action, [&](BufferKind saved) {
    if (!wrong && isLastReader(saved))
      wrong = readInput(buffers.of(replica, saved));
  });
  return wrong;
}

/// Reduces the remaining uses of the current task's inputs by one.
Replay::Found Replay::releaseInputs() {
  for (auto [buffer, content] : inputsRead) {
    // The task reads the buffer more often than it has uses.
    if (!content->isOwned)
      return read(buffer, /*isLastUse=*/true);
    release(*content);
  }
  return nullptr;
}

/// The number of tasks and sends that read a buffer that the current task
/// takes.
int32_t Replay::usesOf(int32_t number) {
  // The buffer for W has a reader after I and none after B.
  if (areRoundRobin || buffers[number].kind == BufferKind::KeptForWeightGrad)
    return countUses(number);
  int32_t &uses = knownUses[number];
  if (uses < 0)
    uses = countUses(number);
  return uses;
}

int32_t Replay::countUses(int32_t number) const {
  const BufferNumbers::Buffer &buffer = buffers[number];
  if (buffer.kind == BufferKind::KeptForWeightGrad)
    return action.traits().makes & weightGradDone ? 0 : 1;
  if (traitsOf(buffer.kind).owner != Owner::Edge)
    return hasBackward[action.subject] ? 1 : 0;
  EdgeRange outputs = edges.outputs(action.subject, action.kind());
  int64_t uses = 0;
  for (int32_t edge : outputs)
    if (buffers.sent(edge) == number && isThere(edge)) {
      const Edge &desc = problem.edges[edge];
      const bool isShared =
          problem.rankOf(desc.to) == rank && problem.isWhole(desc);
      uses += isShared ? readersOf(edge) : 1;
    }
  return uses;
}

/// The edges that bring the inputs of the current task.
EdgeRange Replay::inputs() const {
  const int32_t replica = action.subject;
  if (action.kind() == ActionKind::Recompute && readsInputAgain[replica])
    return edges.inputs(replica, ActionKind::Forward);
  return edges.inputs(replica, action.kind());
}

/// Whether the current task copies its part from the producer's buffer: both
/// are on its rank, with different samples.
bool Replay::isCopied(int32_t edge) const {
  const Edge &desc = problem.edges[edge];
  return problem.rankOf(desc.from) == rank && !problem.isWhole(desc);
}

bool Replay::copiesParts(const Problem &problem) {
  return std::any_of(
      problem.edges.begin(), problem.edges.end(), [&](const Edge &edge) {
        return problem.rankOf(edge.from) == problem.rankOf(edge.to) &&
               !problem.isWhole(edge);
      });
}

/// Visits the buffers that the current task, or the F that it repeats, fills
/// with copied parts before it begins.
template <typename Visit> Replay::Found Replay::forEachCopied(Visit visit) {
  if (!hasCopies)
    return nullptr;
  int32_t last = -1;
  for (int32_t e : inputs()) {
    if (!isCopied(e) || buffers.received(e) == last)
      continue;
    last = buffers.received(e);
    if (Found wrong = visit(last))
      return wrong;
  }
  return nullptr;
}

Replay::Found Replay::task() {
  // The inputs of a task stay until its end, so its outputs need other slots.
  // Outputs that nobody reads are held as long as the task runs.
  if (Found wrong = readInputs())
    return wrong;
  const bool isRead = action.kind() == ActionKind::Recompute;
  const int32_t readers =
      action.kind() == ActionKind::Forward && readsInputAgain[action.subject]
          ? 2
          : 1;
  if (Found wrong = forEachCopied([&](int32_t buffer) {
        return isRead ? read(buffer, /*isLastUse=*/false)
                      : take(buffer, readers);
      }))
    return wrong;
  const int32_t replica = action.subject;
  Found wrong = nullptr;
  bool hasUnused = false;
  auto takeOne = [&](int32_t buffer) {
    const int32_t uses = usesOf(buffer);
    hasUnused |= uses == 0;
    wrong = take(buffer, std::max(uses, 1));
    return !wrong;
  };
  auto dropUnused = [&](int32_t buffer) {
    if (usesOf(buffer) == 0)
      wrong = read(buffer, /*isLastUse=*/true);
    return !wrong;
  };
  if (isSharded && problem.replicas[replica].isSharded() &&
      (action.traits().makes & weightGradDone) && !hasUnreduced[replica]) {
    hasUnreduced[replica] = true;
    if (Found none = take(buffers.of(replica, BufferKind::UnreducedGradients),
                          reduced[replica], /*uses=*/1))
      return none;
  }
  if (!buffers.forEachTaken(edges, replica, action, takeOne) ||
      (hasUnused && !buffers.forEachTaken(edges, replica, action, dropUnused)))
    return wrong;
  if (Found left = forEachCopied(
          [&](int32_t buffer) { return read(buffer, /*isLastUse=*/true); }))
    return left;
  return releaseInputs();
}

void Replay::findCopied() {
  if (!program.order.hasCopies())
    return;
  copiedAway.resize(size_t(problem.numReplicas()) * problem.microbatches);
  for (Action each : program.order.all())
    if (each.kind() == ActionKind::Save)
      copiedAway[int64_t(each.subject) * problem.microbatches +
                 int64_t(each.index)] = true;
}

Replay::Found Replay::step() {
  if (action.isTask() || action.traits().isCopy())
    return task();
  if (action.traits().movesState())
    return moveState();
  if (action.kind() == ActionKind::Await)
    return awaitReduction();
  if (action.traits().subject != Subject::Edge)
    return nullptr;
  return action.kind() == ActionKind::Send
             ? read(buffers.sent(action.subject), /*isLastUse=*/true)
             : receive();
}

/// Whether all micro-batches take the same slots, for the same number of uses.
bool Replay::areSlotsEqual() const {
  if (areRoundRobin || isSharded || problem.iterations > 1)
    return false;
  for (int32_t number = 0; number < buffers.count(); ++number)
    if (!program.places.empty() && !traitsOf(buffers[number].kind).isState() &&
        program.places[number].slotOf.size() > 1)
      return false;
  return true;
}

Replay::Found Replay::run() {
  if (Found wrong = checkPools())
    return wrong;
  if (Found wrong = placeState())
    return wrong;
  for (int32_t r = 0; r < program.order.numRanks(); ++r)
    for (Action a : program.order.rank(r))
      if (a.traits().releases.count > 0) {
        hasBackward[a.subject] = true;
        if (a.kind() == ActionKind::Recompute && problem.recomputes(a.subject))
          readsInputAgain[a.subject] =
              problem.recomputation[a.subject] == Recomputation::FromInput;
      }
  const bool mayBeEqual = areSlotsEqual();
  for (rank = 0; rank < program.order.numRanks(); ++rank) {
    ActionRange actions = program.order.rank(rank);
    const int64_t ofEach =
        mayBeEqual
            ? firstOfEqualMicrobatches(actions, problem.microbatches).size()
            : 0;
    for (position = 0; position < actions.size();) {
      action = actions[position];
      if (Found wrong = step())
        return wrong;
      ++position;
      // All micro-batches have the same actions and slots, and the first one
      // has left no slot owned, so that the others are replayed with the same
      // result: skips them.
      if (position == ofEach && numTaken == 0)
        position *= problem.microbatches;
    }
  }
  return checkReleased();
}

std::optional<Fault> rondo::checkBuffers(const Problem &problem,
                                         const Program &program) {
  if (auto fault = checkNames(problem, program, Rule::Buffers))
    return fault;
  Replay replay(problem, program);
  const Replay::Found wrong = replay.run();
  return wrong ? std::make_optional(*wrong) : std::nullopt;
}

std::vector<int64_t> rondo::mostOwnedSlots(const Problem &problem,
                                           const Program &program) {
  Replay replay(problem, program);
  replay.run();
  return replay.mostOwnedSlots();
}
