//===- Buffers.cpp - L3: no slot has two owners -----------------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Each rank's order is replayed on the slots. A buffer that leaves as a message
// is free again behind its send: whoever takes the slot then waits for the
// send's end, which simulateProgram() models and the runtime does.
//
//===----------------------------------------------------------------------===//

#include "schedule/BufferNumbers.h"
#include "schedule/Slots.h"
#include "schedule/rules/ProgramNames.h"

#include <algorithm>

using namespace rondo;

namespace {

constexpr ProgramRule rule = ProgramRule::Buffers;

/// What lies in a slot, and who put it there.
struct Content {
  bool isOwned = false;
  /// Weights and the like: never taken, never released.
  bool isState = false;
  /// By its number.
  int32_t buffer = -1;
  int32_t rank = 0;
  int64_t microbatch = 0, position = 0;
  /// Consumers and sends that have still to read it.
  int64_t uses = 0;
};

class Replay {
public:
  using Result = std::optional<ProgramViolation>;

  Replay(const Problem &problem, const Program &program)
      : problem(problem), program(program), edges(problem), buffers(problem),
        slots(program), contents(slots.count()),
        poolRanks(program.pools.size(), -1), hasBackward(problem.numStages()) {}

  Result run();

private:
  Result placeState();
  Result step();
  Result task();
  Result take(int32_t buffer, int64_t uses);
  Result read(int32_t buffer, bool isLastUse);
  Result readAll(bool isLastUse);
  int64_t usesOf(int32_t buffer) const;
  Result checkReleased() const;

  ProgramViolation fault(const std::string &sentence) const {
    return violationAt(rule, rank, position,
                       programActionName(action, problem) + " " +
                           programPlace(rank, position) + " " + sentence);
  }
  std::string nameOf(int32_t number, int64_t microbatch) const {
    const BufferNumbers::Buffer &buffer = buffers[number];
    const int32_t stage = problem.homes[buffer.home].stage;
    std::string name = std::string(traitsOf(buffer.kind).keyword) +
                       " of stage " + std::to_string(stage);
    if (buffer.isOneOfSeveral) {
      const Edge &edge = problem.edges[buffer.edge];
      name += edge.to == stage ? " from stage " + std::to_string(edge.from)
                               : " to stage " + std::to_string(edge.to);
    }
    return traitsOf(buffer.kind).isState()
               ? name
               : name + ", micro-batch " + std::to_string(microbatch);
  }
  std::string slotName(int64_t slot) const {
    int32_t pool = slots.poolOf(slot);
    return "slot " + std::to_string(slot - slots.begin(pool)) + " of pool " +
           std::to_string(pool);
  }
  std::string contentName(const Content &content) const {
    return content.isOwned ? nameOf(content.buffer, content.microbatch)
                           : "nothing";
  }

  const Problem &problem;
  const Program &program;
  EdgeTable edges;
  BufferNumbers buffers;
  Slots slots;
  std::vector<Content> contents;
  /// The rank whose actions use a pool's slots.
  std::vector<int32_t> poolRanks;
  std::vector<bool> hasBackward;

  /// The action that is being replayed.
  int32_t rank = 0;
  int64_t position = 0;
  Action action;
};

Replay::Result Replay::placeState() {
  for (int32_t home = 0; home < problem.homes.size(); ++home)
    for (const BufferTraits &traits : bufferTable) {
      if (program.placements.empty() || !traits.isState())
        continue;
      const int32_t buffer = buffers.of(home, traits.kind);
      size_t entries = program.placements[buffer].slotOf.size();
      for (size_t i = 0; i < std::max<size_t>(entries, 1); ++i) {
        int64_t slot = slots.of(buffer, static_cast<int64_t>(i));
        std::string name = nameOf(buffer, 0);
        if (slot == Slots::none)
          break;
        if (slot == Slots::invalid)
          return violationAt(rule, -1, -1, name + " lies in no slot of a pool");
        Content &content = contents[slot];
        bool isShared = traits.owner == Owner::Rank && content.buffer >= 0 &&
                        buffers[content.buffer].kind == traits.kind;
        bool isSame = content.buffer == buffer;
        if (content.isOwned && !isShared && !isSame)
          return violationAt(rule, -1, -1,
                             name + " lies in " + slotName(slot) + ", where " +
                                 contentName(content) + " lies");
        content.isOwned = content.isState = true;
        content.buffer = buffer;
      }
    }
  return std::nullopt;
}

Replay::Result Replay::take(int32_t buffer, int64_t uses) {
  const int64_t slot = slots.of(buffer, action.index);
  if (slot == Slots::none)
    return std::nullopt;
  std::string name = nameOf(buffer, action.index);
  if (slot == Slots::invalid)
    return fault("takes " + name + ", which lies in no slot of a pool");
  int32_t &owner = poolRanks[slots.poolOf(slot)];
  if (owner >= 0 && owner != rank)
    return fault("takes " + slotName(slot) + ", a pool of rank " +
                 std::to_string(owner));
  owner = rank;
  Content &content = contents[slot];
  if (content.isOwned) {
    ProgramViolation violation =
        fault("takes " + slotName(slot) + " for " + name + ", where " +
              contentName(content) + " still lies" +
              (content.isState ? std::string()
                               : ", taken at position " +
                                     std::to_string(content.position)));
    if (!content.isState) {
      violation.otherRank = content.rank;
      violation.otherPosition = content.position;
    }
    return violation;
  }
  content.isOwned = true;
  content.buffer = buffer;
  content.rank = rank;
  content.microbatch = action.index;
  content.position = position;
  content.uses = uses;
  return std::nullopt;
}

Replay::Result Replay::read(int32_t buffer, bool isLastUse) {
  const int64_t slot = slots.of(buffer, action.index);
  if (slot == Slots::none)
    return std::nullopt;
  std::string name = nameOf(buffer, action.index);
  if (slot == Slots::invalid)
    return fault("reads " + name + ", which lies in no slot of a pool");
  Content &content = contents[slot];
  if (!content.isOwned || content.buffer != buffer ||
      content.microbatch != action.index)
    return fault("reads " + name + " in " + slotName(slot) + ", which holds " +
                 contentName(content));
  if (isLastUse && --content.uses == 0)
    content.isOwned = false;
  return std::nullopt;
}

/// Everything that the task at hand reads. What comes from other stages lies in
/// an own buffer that a message filled, or in the producer's where it is on the
/// same rank.
Replay::Result Replay::readAll(bool isLastUse) {
  const int32_t stage = action.stage;
  const ActionKind kind = action.kind();
  for (int32_t e : edges.inputs(stage, kind)) {
    const int32_t sent = buffers.sent(e), received = buffers.received(e);
    bool isLocal = problem.homeOf(problem.edges[e].from).rank == rank;
    if (isLocal &&
        slots.of(received, action.index) != slots.of(sent, action.index))
      return fault("reads " + nameOf(received, action.index) +
                   " in another slot than " + nameOf(sent, action.index) +
                   ", which the same rank makes");
    if (Result wrong = read(isLocal ? sent : received, isLastUse))
      return wrong;
  }
  for (BufferKind saved : action.traits().releases)
    if (Result wrong =
            read(buffers.of(problem.homes.numberOf(stage), saved), isLastUse))
      return wrong;
  return std::nullopt;
}

/// How many tasks and sends read a buffer that the task at hand takes.
int64_t Replay::usesOf(int32_t number) const {
  const BufferNumbers::Buffer &buffer = buffers[number];
  if (traitsOf(buffer.kind).owner != Owner::Edge)
    return hasBackward[action.stage] ? 1 : 0;
  if (buffer.kind != BufferKind::Output)
    return buffer.edge >= 0 ? 1 : 0;
  EdgeRange outputs = edges.outputs(action.stage, action.kind());
  return outputs.end() - outputs.begin();
}

Replay::Result Replay::task() {
  // What a task reads is there until its end, so nothing that it takes may lie
  // there; what nobody reads is there as long as the task.
  if (Result wrong = readAll(/*isLastUse=*/false))
    return wrong;
  const int32_t home = problem.homes.numberOf(action.stage);
  Result wrong;
  auto takeOne = [&](int32_t buffer) {
    wrong = take(buffer, std::max<int64_t>(usesOf(buffer), 1));
    return !wrong;
  };
  auto dropUnused = [&](int32_t buffer) {
    if (usesOf(buffer) == 0)
      wrong = read(buffer, /*isLastUse=*/true);
    return !wrong;
  };
  if (!buffers.forEachTaken(edges, home, action, takeOne) ||
      !buffers.forEachTaken(edges, home, action, dropUnused))
    return wrong;
  return readAll(/*isLastUse=*/true);
}

Replay::Result Replay::step() {
  if (action.isTask())
    return task();
  if (action.traits().subject != Subject::Edge)
    return std::nullopt;
  return action.kind() == ActionKind::Send
             ? read(buffers.sent(action.stage), /*isLastUse=*/true)
             : take(buffers.received(action.stage), 1);
}

Replay::Result Replay::checkReleased() const {
  for (const Content &content : contents) {
    if (!content.isOwned || content.isState)
      continue;
    Action taker = program.order.rank(content.rank)[content.position];
    return violationAt(rule, content.rank, content.position,
                       contentName(content) + ", taken by " +
                           programActionName(taker, problem) + " " +
                           programPlace(content.rank, content.position) +
                           ", is never released");
  }
  return std::nullopt;
}

Replay::Result Replay::run() {
  if (Result wrong = placeState())
    return wrong;
  for (int32_t r = 0; r < program.order.numRanks(); ++r)
    for (Action a : program.order.rank(r))
      if (a.traits().releases.count > 0)
        hasBackward[a.stage] = true;
  for (rank = 0; rank < program.order.numRanks(); ++rank) {
    ActionRange actions = program.order.rank(rank);
    for (position = 0; position < actions.size(); ++position) {
      action = actions[position];
      if (Result wrong = step())
        return wrong;
    }
  }
  return checkReleased();
}

} // namespace

std::optional<ProgramViolation> rondo::checkBuffers(const Problem &problem,
                                                    const Program &program) {
  if (auto violation = checkNames(problem, program, rule))
    return violation;
  return Replay(problem, program).run();
}
