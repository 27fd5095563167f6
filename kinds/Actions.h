//===- Actions.h - Action kinds and their traits ----------------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The table of action kinds and message kinds. Simulators, rules, bridge, code
// generation and runtime all read this table. It depends on kinds/Buffers.h
// only.
//
//===----------------------------------------------------------------------===//

#ifndef RONDO_KINDS_ACTIONS_H
#define RONDO_KINDS_ACTIONS_H

#include "kinds/Buffers.h"

#include <cstdint>

namespace rondo {

/// The kind of an action. The letters F, I, W and B are PyTorch's; papers on
/// zero-bubble schedules write "B" for I.
enum class ActionKind : uint8_t {
  Forward,
  InputGrad,
  WeightGrad,
  /// InputGrad immediately followed by WeightGrad. Its input gradient is sent
  /// at its end.
  Backward,
  /// Runs F again to restore the activations that the backward needs.
  Recompute,
  Send,
  Recv,
  /// Unshard issues a gather of a replica's weights from the shards of its
  /// group. Reshard frees the gathered weights.
  Unshard,
  Reshard,
  /// Issues a reduction over a group: adds the gradients that its replicas have
  /// accumulated since the last one; each replica adds its shard of the sum to
  /// its gradients.
  ReduceGrad,
  /// Issues a collective, which runs on its own lane while the rank continues.
  AllReduce,
  /// Waits for the end of a collective that the rank has issued.
  Await,
  /// The optimizer's step.
  Step,
  /// Save copies activations of a micro-batch to the host's memory; Load copies
  /// them back.
  Save,
  Load,
};

inline constexpr int numActionKinds = static_cast<int>(ActionKind::Load) + 1;
/// Number of kinds that fit in the kind field of an action.
inline constexpr int maxActionKinds = 64;

/// Whether a kind copies activations between a device and its host.
constexpr bool isCopy(ActionKind kind) {
  return kind == ActionKind::Save || kind == ActionKind::Load;
}

/// A rank does one thing at a time on each of its lanes. With a half-duplex
/// host link, all its copies are on CopyOut. Messages occupy links, not lanes.
enum class Lane : uint8_t { Compute, Collective, CopyOut, CopyIn };
inline constexpr int numLanes = 4;

/// The meaning of an action's `subject`.
enum class Subject : uint8_t { Replica, Edge, Collective };

/// The meaning of an action's `index`.
enum class IndexMeaning : uint8_t {
  Microbatch,
  /// Optimizer step; for a collective, the step that it belongs to.
  Step,
  /// Number of the action among those of its kind and replica in one iteration,
  /// from 0.
  Unit,
};

/// The content of a message. Producer and consumer are different stages.
enum class MessageKind : uint8_t {
  /// The output of F.
  Activation,
  /// The input gradient of I or B.
  Gradient,
  /// The output of R.
  Recomputed,
  /// No message.
  None,
};

/// Bit set of the tasks that are done for one micro-batch of a stage.
using Done = uint8_t;
inline constexpr Done nothingDone = 0, forwardDone = 1, inputGradDone = 2,
                      weightGradDone = 4, recomputeDone = 8, tasksDone = 15,
                      saveDone = 16, loadDone = 32,
                      copiesDone = saveDone | loadDone;

/// A list of at most eight buffers.
struct BufferList {
  BufferKind kinds[8] = {};
  int count = 0;

  constexpr const BufferKind *begin() const { return kinds; }
  constexpr const BufferKind *end() const { return kinds + count; }
};

struct ActionTraits {
  ActionKind kind = ActionKind::Forward;
  /// Name of the dialect's op and of the runtime's function, e.g.
  /// `weight_grad`.
  const char *keyword = "unknown kind";
  /// F, I, W, B or R; '?' for all others.
  char letter = '?';
  /// Separates stage and index in action names and in JSON: the letter, or a
  /// word such as STEP.
  const char *code = "?";
  Lane lane = Lane::Compute;
  Subject subject = Subject::Replica;
  IndexMeaning index = IndexMeaning::Microbatch;
  /// Whether an order may contain it several times for one subject and index.
  bool mayRepeat = false;
  /// If false, no kind has this number; the rules of programs refuse it.
  bool isImplemented = false;

  /// Tasks of the same stage and micro-batch that must be done before the
  /// action, and those that it completes.
  Done needs = nothingDone, makes = nothingDone;
  /// Tasks that must be done for all micro-batches of its stage or stages.
  Done needsOfAll = nothingDone;
  /// Messages from other stages that it needs, and messages that it makes.
  MessageKind consumes = MessageKind::None, produces = MessageKind::None;
  /// Buffers of its stage and micro-batch that it acquires at its start, and
  /// buffers whose last reader it is. Message buffers are not listed. What may
  /// leave is listed twice: a copied micro-batch has the loaded buffers, others
  /// have the offloaded ones.
  BufferList takes, releases;

  /// Whether a schedule orders it and the cost table has a column for it: a
  /// task, a step, a copy, or an action that moves sharded state.
  constexpr bool hasCost() const {
    return isImplemented && subject == Subject::Replica;
  }
  /// Whether it runs a stage on a micro-batch.
  constexpr bool isTask() const {
    return hasCost() && index == IndexMeaning::Microbatch && !isCopy();
  }
  /// Whether it copies activations between a device and its host.
  constexpr bool isCopy() const { return rondo::isCopy(kind); }
  /// Whether it gathers, frees or reduces sharded state of a group.
  constexpr bool movesState() const { return index == IndexMeaning::Unit; }

  // Builders for the rows of the table.
  constexpr ActionTraits on(Subject what, Lane where) const {
    ActionTraits row = *this;
    row.subject = what;
    row.lane = where;
    return row;
  }
  constexpr ActionTraits perStep() const {
    ActionTraits row = *this;
    row.index = IndexMeaning::Step;
    return row;
  }
  constexpr ActionTraits perUnit() const {
    ActionTraits row = *this;
    row.index = IndexMeaning::Unit;
    return row;
  }
  constexpr ActionTraits repeatable() const {
    ActionTraits row = *this;
    row.mayRepeat = true;
    return row;
  }
  constexpr ActionTraits progress(Done before, Done after) const {
    ActionTraits row = *this;
    row.needs = before;
    row.makes = after;
    return row;
  }
  constexpr ActionTraits afterAll(Done before) const {
    ActionTraits row = *this;
    row.needsOfAll = before;
    return row;
  }
  constexpr ActionTraits passes(MessageKind message) const {
    ActionTraits row = *this;
    row.consumes = row.produces = message;
    return row;
  }
  constexpr ActionTraits buffers(BufferList taken, BufferList released) const {
    ActionTraits row = *this;
    row.takes = taken;
    row.releases = released;
    return row;
  }
  constexpr ActionTraits named(const char *word) const {
    ActionTraits row = *this;
    row.code = word;
    return row;
  }
  constexpr ActionTraits implemented() const {
    ActionTraits row = *this;
    row.isImplemented = true;
    return row;
  }
  constexpr ActionTraits implemented(const char *name) const {
    ActionTraits row = named(name).implemented();
    row.letter = name[0];
    return row;
  }
};

namespace detail {

constexpr ActionTraits row(ActionKind kind, const char *keyword) {
  ActionTraits traits;
  traits.kind = kind;
  traits.keyword = keyword;
  return traits;
}

using K = ActionKind;
using B = BufferKind;

/// A row per kind.
inline constexpr ActionTraits knownActions[] = {
    row(K::Forward, "forward")
        .progress(nothingDone, forwardDone)
        .passes(MessageKind::Activation)
        .buffers({{B::Output, B::SavedForInputGrad, B::SavedForWeightGrad,
                   B::Checkpoints, B::OffloadedForInputGrad,
                   B::OffloadedForWeightGrad},
                  6},
                 {})
        .implemented("F"),
    row(K::InputGrad, "input_grad")
        .progress(forwardDone, inputGradDone)
        .passes(MessageKind::Gradient)
        .buffers({{B::InputGrad, B::KeptForWeightGrad}, 2},
                 {{B::SavedForInputGrad, B::RecomputedForInputGrad,
                   B::OffloadedForInputGrad, B::LoadedForInputGrad},
                  4})
        .implemented("I"),
    row(K::WeightGrad, "weight_grad")
        .progress(inputGradDone, weightGradDone)
        .buffers({}, {{B::SavedForWeightGrad, B::RecomputedForWeightGrad,
                       B::KeptForWeightGrad, B::OffloadedForWeightGrad,
                       B::LoadedForWeightGrad},
                      5})
        .implemented("W"),
    row(K::Backward, "backward")
        .progress(forwardDone, inputGradDone | weightGradDone)
        .passes(MessageKind::Gradient)
        // Nobody else reads what it keeps between its two halves.
        .buffers({{B::InputGrad, B::KeptForWeightGrad}, 2},
                 {{B::SavedForInputGrad, B::SavedForWeightGrad,
                   B::RecomputedForInputGrad, B::RecomputedForWeightGrad,
                   B::OffloadedForInputGrad, B::OffloadedForWeightGrad,
                   B::LoadedForInputGrad, B::LoadedForWeightGrad},
                  8})
        .implemented("B"),
    // If the stage recomputes, I and B of the micro-batch need R in addition
    // to F.
    row(K::Recompute, "recompute")
        .progress(forwardDone, recomputeDone)
        .passes(MessageKind::Recomputed)
        .buffers({{B::RecomputedOutput, B::RecomputedForInputGrad,
                   B::RecomputedForWeightGrad},
                  3},
                 {{B::Checkpoints}, 1})
        .implemented("R"),
    row(K::Send, "send").on(Subject::Edge, Lane::Compute).implemented(),
    row(K::Recv, "recv").on(Subject::Edge, Lane::Compute).implemented(),
    row(K::Unshard, "unshard")
        .named("UNSHARD")
        .on(Subject::Replica, Lane::Collective)
        .perUnit()
        .implemented(),
    row(K::Reshard, "reshard").named("RESHARD").perUnit().implemented(),
    row(K::ReduceGrad, "reduce_grad")
        .named("REDUCE_GRAD")
        .on(Subject::Replica, Lane::Collective)
        .perUnit()
        .implemented(),
    row(K::AllReduce, "all_reduce")
        .named("ALL_REDUCE")
        .on(Subject::Collective, Lane::Collective)
        .perStep()
        .afterAll(weightGradDone)
        .implemented(),
    row(K::Await, "await")
        .on(Subject::Collective, Lane::Compute)
        .perStep()
        .implemented(),
    row(K::Step, "step")
        .named("STEP")
        .perStep()
        .afterAll(weightGradDone)
        .implemented(),
    row(K::Save, "save")
        .named("SAVE")
        .on(Subject::Replica, Lane::CopyOut)
        .progress(forwardDone, saveDone)
        .buffers({{B::OnHost}, 1},
                 {{B::OffloadedForInputGrad, B::OffloadedForWeightGrad}, 2})
        .implemented(),
    // If a schedule has it, one of R, I and W of the micro-batch needs it in
    // addition.
    row(K::Load, "load")
        .named("LOAD")
        .on(Subject::Replica, Lane::CopyIn)
        .progress(saveDone, loadDone)
        .buffers({{B::LoadedForInputGrad, B::LoadedForWeightGrad}, 2},
                 {{B::OnHost}, 1})
        .implemented(),
};
static_assert(sizeof knownActions / sizeof *knownActions == numActionKinds,
              "every kind has a row");

/// A row for each of the maxActionKinds values of the kind field.
struct ActionTable {
  ActionTraits rows[maxActionKinds];
};

constexpr ActionTable makeActionTable() {
  ActionTable table;
  for (const ActionTraits &traits : knownActions)
    table.rows[static_cast<int>(traits.kind)] = traits;
  return table;
}

} // namespace detail

inline constexpr detail::ActionTable actionTable = detail::makeActionTable();

/// Numbers that are not a kind have a row with the keyword `unknown kind`.
constexpr const ActionTraits &traitsOf(ActionKind kind) {
  return actionTable.rows[static_cast<int>(kind)];
}

namespace detail {
constexpr bool hasEachKindOnce() {
  for (int k = 0; k < numActionKinds; ++k)
    if (static_cast<int>(actionTable.rows[k].kind) != k)
      return false;
  return true;
}
static_assert(hasEachKindOnce(), "no row of the table is missing");

/// Per kind: the number of kinds before it that have a cost.
struct CostColumns {
  uint8_t of[maxActionKinds];
  int count;
};
constexpr CostColumns makeCostColumns() {
  CostColumns columns{};
  for (int k = 0; k < maxActionKinds; ++k) {
    columns.of[k] = static_cast<uint8_t>(columns.count);
    columns.count += actionTable.rows[k].hasCost();
  }
  return columns;
}
} // namespace detail

inline constexpr detail::CostColumns costColumns = detail::makeCostColumns();
/// Number of columns of the cost table.
inline constexpr int numCostColumns = costColumns.count;
/// The column of a kind. Precondition: the kind has a cost.
constexpr int costColumn(ActionKind kind) {
  return costColumns.of[static_cast<int>(kind)];
}

namespace detail {

constexpr int countTaskKinds() {
  int count = 0;
  for (const ActionTraits &traits : actionTable.rows)
    if (traits.isTask())
      count = static_cast<int>(traits.kind) + 1;
  return count;
}
inline constexpr int numTaskKinds = countTaskKinds();

} // namespace detail

/// A second numbering of the kinds with a cost, apart from copies, computed
/// without a table lookup and dense, so that tables indexed by it are small:
/// tasks by kind, then Step, then Unshard, Reshard and ReduceGrad.
inline constexpr int numWorkKinds = detail::numTaskKinds + 4;
constexpr int workNumber(ActionKind kind) {
  const int number = static_cast<int>(kind);
  return number < detail::numTaskKinds ? number
         : kind == ActionKind::Step ? detail::numTaskKinds
                                    : detail::numTaskKinds + 1 + number -
                                          static_cast<int>(ActionKind::Unshard);
}
static_assert(workNumber(ActionKind::ReduceGrad) == numWorkKinds - 1,
              "Unshard, Reshard and ReduceGrad follow each other");

struct MessageTraits {
  /// The enumerator, and the keyword of the dialect.
  const char *name, *keyword;
  /// Tasks that the producer has done when the message exists. `producer` is
  /// the first kind that does them; edges name that kind.
  Done made;
  ActionKind producer;
  /// The producer's buffer that is sent, and the consumer's buffer that
  /// receives it.
  BufferKind sent, received;
};

inline constexpr MessageTraits messageTable[] = {
    {"Activation", "activation", forwardDone, ActionKind::Forward,
     BufferKind::Output, BufferKind::Input},
    {"Gradient", "gradient", inputGradDone, ActionKind::InputGrad,
     BufferKind::InputGrad, BufferKind::OutputGrad},
    {"Recomputed", "recomputed", recomputeDone, ActionKind::Recompute,
     BufferKind::RecomputedOutput, BufferKind::RecomputedInput},
};
inline constexpr int numMessageKinds =
    sizeof messageTable / sizeof *messageTable;
static_assert(numMessageKinds == static_cast<int>(MessageKind::None),
              "every message has a row");

constexpr const MessageTraits &traitsOf(MessageKind kind) {
  return messageTable[static_cast<int>(kind)];
}

} // namespace rondo

#endif // RONDO_KINDS_ACTIONS_H
