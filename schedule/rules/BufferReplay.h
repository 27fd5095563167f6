//===- BufferReplay.h - The slots while a program runs ----------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Only for rule L3: Buffers.cpp has messages and tasks, BuffersOfState.cpp the
// buffers that belong to no micro-batch.
//
//===----------------------------------------------------------------------===//

#ifndef RONDO_SCHEDULE_RULES_BUFFERREPLAY_H
#define RONDO_SCHEDULE_RULES_BUFFERREPLAY_H

#include "schedule/model/BufferNumbers.h"
#include "schedule/program/Program.h"
#include "schedule/program/Slots.h"

namespace rondo::buffer_replay {

/// The content of a slot, and the action that took the slot. Of the slots of a
/// buffer that takes several, the first counts the uses.
struct Content {
  bool isOwned = false;
  /// Weights and other state: never taken, never released.
  bool isState = false;
  /// Number of the buffer; see BufferNumbers.
  int32_t buffer = -1;
  int32_t rank = 0;
  /// Number of consumers and sends that are still to read it.
  int32_t uses = 0;
  int64_t microbatch = 0, position = 0;
};

class Replay {
public:
  /// A fault, owned by the replay; null: none. A pointer is cheap to return,
  /// and most calls find no fault.
  using Found = const Fault *;

  Replay(const Problem &problem, const Program &program)
      : problem(problem), program(program), edges(problem), buffers(problem),
        slots(program), contents(slots.count()),
        poolRanks(program.pools.size(), -1), owned(program.pools.size()),
        mostOwned(owned), hasBackward(problem.numReplicas()),
        readsInputAgain(problem.numReplicas()),
        areRoundRobin(problem.replicas.areRoundRobin()),
        hasCopies(copiesParts(problem)), knownUses(buffers.count(), -1),
        isSharded(problem.replicas.areSharded()),
        gathered(problem.numReplicas(), -1), reduced(problem.numReplicas(), 0),
        hasUnreduced(problem.numReplicas()) {
    findCopied();
  }

  Found run();
  /// Indexed by pool: the most of its slots that buffers other than state have
  /// owned at once.
  const std::vector<int64_t> &mostOwnedSlots() const { return mostOwned; }

private:
  Found checkPools();
  Found placeState();
  Found step();
  Found task();
  Found take(int32_t buffer, int64_t number, int32_t uses);
  Found take(int32_t buffer, int32_t uses) {
    return take(buffer, action.index, uses);
  }
  Found moveState();
  void findCopied();
  /// Whether the program copies the current action's micro-batch to the host.
  bool isCopiedAway() const {
    return !copiedAway.empty() &&
           copiedAway[int64_t(action.subject) * problem.microbatches +
                      int64_t(action.index)];
  }
  /// Whether the current action is the last reader of a buffer of its stage
  /// that its kind may release.
  bool isLastReader(BufferKind kind) const {
    return isOffloaded(kind) ? action.traits().isCopy() || !isCopiedAway()
           : isLoaded(kind)  ? isCopiedAway()
                             : true;
  }
  Found awaitReduction();
  Found receive();
  Found look(int32_t buffer, int64_t number, Content *&content);
  Found read(int32_t buffer, int64_t number, bool isLastUse);
  Found read(int32_t buffer, bool isLastUse) {
    return read(buffer, action.index, isLastUse);
  }
  void release(Content &content) {
    if (--content.uses != 0)
      return;
    const int64_t span = slots.span(content.buffer, content.microbatch);
    for (Content *each = &content; each < &content + span; ++each)
      each->isOwned = false;
    --numTaken;
    owned[program.places[content.buffer].pool] -= span;
  }
  Found readInput(int32_t buffer);
  Found readInputs();
  Found releaseInputs();
  EdgeRange inputs() const;
  bool isCopied(int32_t edge) const;
  /// Whether an edge has a message of the current action's micro-batch.
  bool isThere(int32_t edge) const {
    return !areRoundRobin || problem.carries(problem.edges[edge], action.index);
  }
  static bool copiesParts(const Problem &problem);
  /// The number of tasks that read a message of an edge.
  int32_t readersOf(int32_t edge) const {
    const Edge &desc = problem.edges[edge];
    return desc.producer == ActionKind::Forward && readsInputAgain[desc.to] ? 2
                                                                            : 1;
  }
  template <typename Visit> Found forEachCopied(Visit visit);
  int32_t usesOf(int32_t buffer);
  int32_t countUses(int32_t buffer) const;
  bool areSlotsEqual() const;
  Found checkReleased();

  Found keep(Fault fault) {
    kept = std::move(fault);
    return &kept;
  }
  /// A fault of the action that is being replayed.
  template <FaultKind kind, typename... Parts>
  Found fault(const Parts &...parts) {
    return keep(
        makeFaultAt<kind>(Rule::Buffers, rank, position, action, parts...));
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
  /// The number of owned slots, without those of state.
  int64_t numTaken = 0;
  /// [pool]: the rank whose actions use its slots.
  std::vector<int32_t> poolRanks;
  /// Indexed by pool: slots that are owned, without those of state, and the
  /// most at once.
  std::vector<int64_t> owned, mostOwned;
  std::vector<bool> hasBackward;
  /// [replica]: whether its R reads the inputs of its F again.
  std::vector<bool> readsInputAgain;
  const bool areRoundRobin;
  /// Whether any task copies parts of the output of another task on its rank.
  const bool hasCopies;
  /// [buffer]: its number of uses, if that is the same for all micro-batches;
  /// -1: not computed yet.
  std::vector<int32_t> knownUses;
  /// [replica of a sharded stage]: the index of its gather that is in memory
  /// (-1: none); the number of reductions so far; whether it has gradients that
  /// no reduction has added.
  const bool isSharded;
  std::vector<int64_t> gathered, reduced;
  std::vector<bool> hasUnreduced;
  /// [replica * microbatches + microbatch]: whether it has a SAVE; empty
  /// without copies.
  std::vector<bool> copiedAway;

  /// The action that is being replayed.
  int32_t rank = 0;
  int64_t position = 0;
  Action action;
  /// Buffers that the current task reads and may be the last to use, and their
  /// contents.
  std::vector<std::pair<int32_t, Content *>> inputsRead;
  Fault kept;
};

} // namespace rondo::buffer_replay

#endif // RONDO_SCHEDULE_RULES_BUFFERREPLAY_H
