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

constexpr Rule rule = Rule::Buffers;

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
  using Found = std::optional<Fault>;

  Replay(const Problem &problem, const Program &program)
      : problem(problem), program(program), edges(problem), buffers(problem),
        slots(program), contents(slots.count()),
        poolRanks(program.pools.size(), -1), hasBackward(problem.numHomes()),
        readsInputAgain(problem.numHomes()),
        isSharded(problem.homes.areSharded()), gathered(problem.numHomes(), -1),
        reduced(problem.numHomes(), 0), hasUnreduced(problem.numHomes()) {}

  Found run();

private:
  Found placeState();
  Found step();
  Found task();
  Found take(int32_t buffer, int64_t number, int64_t uses);
  Found take(int32_t buffer, int64_t uses) {
    return take(buffer, action.index, uses);
  }
  Found moveState();
  Found awaitReduction();
  Found receive();
  Found read(int32_t buffer, int64_t number, bool isLastUse);
  Found read(int32_t buffer, bool isLastUse) {
    return read(buffer, action.index, isLastUse);
  }
  Found readAll(bool isLastUse);
  EdgeRange inputs() const;
  bool isCopied(int32_t edge) const;
  /// Whether an edge has a message of the micro-batch at hand.
  bool isThere(int32_t edge) const {
    return problem.carries(problem.edges[edge], action.index);
  }
  /// How many tasks read what comes along an edge.
  int64_t readersOf(int32_t edge) const {
    const Edge &desc = problem.edges[edge];
    return desc.producer == ActionKind::Forward && readsInputAgain[desc.to] ? 2
                                                                            : 1;
  }
  template <typename Visit> Found forEachCopied(Visit visit);
  int64_t usesOf(int32_t buffer) const;
  Found checkReleased() const;

  /// Of the action that is being replayed.
  template <FaultKind kind, typename... Parts>
  Fault fault(const Parts &...parts) const {
    return makeFaultAt<kind>(rule, rank, position, action, parts...);
  }
  BufferName nameOf(int32_t number) const {
    return {number, static_cast<int64_t>(action.index)};
  }
  SlotName slotName(int64_t slot) const {
    int32_t pool = slots.poolOf(slot);
    return {pool, slot - slots.begin(pool)};
  }
  BufferName contentName(const Content &content) const {
    return content.isOwned ? BufferName{content.buffer, content.microbatch}
                           : BufferName();
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
  /// By home: its R reads what its F has read.
  std::vector<bool> readsInputAgain;
  /// By home of a sharded stage: the gather that is there, -1: none; reductions
  /// so far; whether there are gradients that none has taken.
  const bool isSharded;
  std::vector<int64_t> gathered, reduced;
  std::vector<bool> hasUnreduced;

  /// The action that is being replayed.
  int32_t rank = 0;
  int64_t position = 0;
  Action action;
};

Replay::Found Replay::placeState() {
  for (size_t buffer = 0; buffer < program.places.size(); ++buffer)
    for (int32_t pool : program.staging)
      if (pool >= 0 && program.places[buffer].pool == pool)
        return makeRuleFault<FaultKind::LiesInStaging>(
            rule, BufferName{static_cast<int32_t>(buffer)}, pool);
  for (int32_t home = 0; home < problem.numHomes(); ++home)
    for (const BufferTraits &traits : bufferTable) {
      if (program.places.empty() || !traits.isState())
        continue;
      const int32_t buffer = buffers.of(home, traits.kind);
      size_t entries = program.places[buffer].slotOf.size();
      for (size_t i = 0; i < std::max<size_t>(entries, 1); ++i) {
        int64_t slot = slots.of(buffer, static_cast<int64_t>(i));
        if (slot == Slots::none)
          break;
        if (slot == Slots::invalid)
          return makeRuleFault<FaultKind::LiesInNoSlot>(rule,
                                                        BufferName{buffer});
        Content &content = contents[slot];
        bool isShared = traits.owner == Owner::Rank && content.buffer >= 0 &&
                        buffers[content.buffer].kind == traits.kind;
        bool isSame = content.buffer == buffer;
        if (content.isOwned && !isShared && !isSame)
          return makeRuleFault<FaultKind::LiesWhereOtherLies>(
              rule, BufferName{buffer}, slotName(slot), contentName(content));
        content.isOwned = content.isState = true;
        content.buffer = buffer;
      }
    }
  return std::nullopt;
}

Replay::Found Replay::take(int32_t buffer, int64_t number, int64_t uses) {
  const int64_t slot = slots.of(buffer, number);
  if (slot == Slots::none)
    return std::nullopt;
  if (slot == Slots::invalid)
    return fault<FaultKind::TakesNoSlot>(BufferName{buffer, number});
  int32_t &owner = poolRanks[slots.poolOf(slot)];
  if (owner >= 0 && owner != rank)
    return fault<FaultKind::TakesFromOtherRank>(slotName(slot), owner);
  owner = rank;
  Content &content = contents[slot];
  if (content.isOwned) {
    if (content.isState)
      return fault<FaultKind::TakesFromState>(
          slotName(slot), BufferName{buffer, number}, contentName(content));
    Fault taken = fault<FaultKind::TakesFromOwner>(
        slotName(slot), BufferName{buffer, number}, contentName(content));
    taken.otherRank = content.rank;
    taken.otherPosition = content.position;
    return taken;
  }
  content.isOwned = true;
  content.buffer = buffer;
  content.rank = rank;
  content.microbatch = number;
  content.position = position;
  content.uses = uses;
  return std::nullopt;
}

/// A message: the whole of a buffer, or a part, the first of which takes the
/// slot.
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
      return std::nullopt;
    }
  }
  return take(buffer, readersOf(action.subject));
}

Replay::Found Replay::read(int32_t buffer, int64_t number, bool isLastUse) {
  const int64_t slot = slots.of(buffer, number);
  if (slot == Slots::none)
    return std::nullopt;
  if (slot == Slots::invalid)
    return fault<FaultKind::ReadsNoSlot>(BufferName{buffer, number});
  Content &content = contents[slot];
  if (!content.isOwned || content.buffer != buffer ||
      content.microbatch != number)
    return fault<FaultKind::ReadsOtherBuffer>(
        BufferName{buffer, number}, slotName(slot), contentName(content));
  if (isLastUse && --content.uses == 0)
    content.isOwned = false;
  return std::nullopt;
}

/// Everything that the task at hand reads. What comes from other homes lies in
/// an own buffer that a message filled, or in the producer's where it is on the
/// same rank.
Replay::Found Replay::readAll(bool isLastUse) {
  const int32_t home = action.subject;
  const ActionKind kind = action.kind();
  for (int32_t e : inputs()) {
    // R reads the copy.
    if ((kind == ActionKind::Recompute && isCopied(e)) || !isThere(e))
      continue;
    const int32_t sent = buffers.sent(e), received = buffers.received(e);
    bool isLocal = problem.rankOf(problem.edges[e].from) == rank;
    if (isLocal && !isCopied(e) &&
        slots.of(received, action.index) != slots.of(sent, action.index))
      return fault<FaultKind::ReadsOtherSlot>(nameOf(received), nameOf(sent));
    if (Found wrong = read(isLocal ? sent : received, isLastUse))
      return wrong;
  }
  if (isSharded && gathered[home] >= 0 && !isLastUse)
    if (Found wrong = read(buffers.of(home, BufferKind::GatheredWeights),
                           gathered[home], /*isLastUse=*/false))
      return wrong;
  for (BufferKind saved : action.traits().releases)
    if (Found wrong = read(buffers.of(home, saved), isLastUse))
      return wrong;
  return std::nullopt;
}

/// How many tasks and sends read a buffer that the task at hand takes.
int64_t Replay::usesOf(int32_t number) const {
  const BufferNumbers::Buffer &buffer = buffers[number];
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

/// The edges along which what the task at hand reads has come.
EdgeRange Replay::inputs() const {
  const int32_t home = action.subject;
  if (action.kind() == ActionKind::Recompute && readsInputAgain[home])
    return edges.inputs(home, ActionKind::Forward);
  return edges.inputs(home, action.kind());
}

/// Whether the task at hand copies an edge's part from the producer's buffer:
/// both are on its rank, with other samples.
bool Replay::isCopied(int32_t edge) const {
  const Edge &desc = problem.edges[edge];
  return problem.rankOf(desc.from) == rank && !problem.isWhole(desc);
}

/// The buffers that the task at hand, or the F that it repeats, fills with
/// parts before it begins.
template <typename Visit> Replay::Found Replay::forEachCopied(Visit visit) {
  int32_t last = -1;
  for (int32_t e : inputs()) {
    if (!isCopied(e) || buffers.received(e) == last)
      continue;
    last = buffers.received(e);
    if (Found wrong = visit(last))
      return wrong;
  }
  return std::nullopt;
}

Replay::Found Replay::task() {
  // What a task reads is there until its end, so nothing that it takes may lie
  // there; what nobody reads is there as long as the task.
  if (Found wrong = readAll(/*isLastUse=*/false))
    return wrong;
  const bool isRead = action.kind() == ActionKind::Recompute;
  const int64_t readers =
      action.kind() == ActionKind::Forward && readsInputAgain[action.subject]
          ? 2
          : 1;
  if (Found wrong = forEachCopied([&](int32_t buffer) {
        return isRead ? read(buffer, /*isLastUse=*/false)
                      : take(buffer, readers);
      }))
    return wrong;
  const int32_t home = action.subject;
  Found wrong;
  auto takeOne = [&](int32_t buffer) {
    wrong = take(buffer, std::max<int64_t>(usesOf(buffer), 1));
    return !wrong;
  };
  auto dropUnused = [&](int32_t buffer) {
    if (usesOf(buffer) == 0)
      wrong = read(buffer, /*isLastUse=*/true);
    return !wrong;
  };
  if (isSharded && problem.homes[home].isSharded() &&
      (action.traits().makes & weightGradDone) && !hasUnreduced[home]) {
    hasUnreduced[home] = true;
    if (Found none = take(buffers.of(home, BufferKind::UnreducedGradients),
                          reduced[home], /*uses=*/1))
      return none;
  }
  if (!buffers.forEachTaken(edges, home, action, takeOne) ||
      !buffers.forEachTaken(edges, home, action, dropUnused))
    return wrong;
  if (Found left = forEachCopied(
          [&](int32_t buffer) { return read(buffer, /*isLastUse=*/true); }))
    return left;
  return readAll(/*isLastUse=*/true);
}

/// Gathered weights lie there from unshard to reshard, a unit's gradients from
/// its first W or B until its reduction has been awaited.
Replay::Found Replay::moveState() {
  const int32_t home = action.subject;
  const int32_t weights = buffers.of(home, BufferKind::GatheredWeights);
  switch (action.kind()) {
  case ActionKind::Unshard:
    gathered[home] = action.index;
    return take(weights, /*uses=*/1);
  case ActionKind::Reshard:
    gathered[home] = -1;
    return read(weights, /*isLastUse=*/true);
  default:
    hasUnreduced[home] = false;
    reduced[home] = int64_t(action.index) + 1;
    return problem.isGroupLocal(home)
               ? read(buffers.of(home, BufferKind::UnreducedGradients),
                      /*isLastUse=*/true)
               : std::nullopt;
  }
}

Replay::Found Replay::awaitReduction() {
  const Collective &collective = program.collectives[action.subject];
  if (collective.kind == CollectiveKind::ScatterGradients)
    for (int32_t home : collective.homes)
      if (problem.rankOf(home) == rank)
        if (Found wrong = read(buffers.of(home, BufferKind::UnreducedGradients),
                               /*isLastUse=*/true))
          return wrong;
  return std::nullopt;
}

Replay::Found Replay::step() {
  if (action.isTask())
    return task();
  if (action.traits().movesState())
    return moveState();
  if (action.kind() == ActionKind::Await)
    return awaitReduction();
  if (action.traits().subject != Subject::Edge)
    return std::nullopt;
  return action.kind() == ActionKind::Send
             ? read(buffers.sent(action.subject), /*isLastUse=*/true)
             : receive();
}

Replay::Found Replay::checkReleased() const {
  for (const Content &content : contents) {
    if (!content.isOwned || content.isState)
      continue;
    return makeFaultAt<FaultKind::NeverReleased>(
        rule, content.rank, content.position,
        program.order.rank(content.rank)[content.position],
        contentName(content));
  }
  return std::nullopt;
}

Replay::Found Replay::run() {
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
  for (rank = 0; rank < program.order.numRanks(); ++rank) {
    ActionRange actions = program.order.rank(rank);
    for (position = 0; position < actions.size(); ++position) {
      action = actions[position];
      if (Found wrong = step())
        return wrong;
    }
  }
  return checkReleased();
}

} // namespace

std::optional<Fault> rondo::checkBuffers(const Problem &problem,
                                         const Program &program) {
  if (auto fault = checkNames(problem, program, rule))
    return fault;
  return Replay(problem, program).run();
}
