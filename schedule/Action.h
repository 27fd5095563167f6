//===- Action.h - One step of a rank's order --------------------*- C++ -*-===//
//
// An action is a task, a send or a receive: 64 bits, so that 25 million of them
// fit in 200 MB.
//
//===----------------------------------------------------------------------===//

#ifndef RONDO_SCHEDULE_ACTION_H
#define RONDO_SCHEDULE_ACTION_H

#include <cstdint>

namespace rondo {

/// What an action does. The letters of the first four are PyTorch's: F, I, W
/// and B. Papers on zero-bubble schedules write "B" for what is I here.
enum class ActionKind : uint8_t {
  Forward,
  InputGrad,
  WeightGrad,
  /// InputGrad then WeightGrad without a gap. Its input gradient leaves at its
  /// end.
  Backward,
  Recompute,
  Send,
  Recv,
  Unshard,
  Reshard,
  ReduceGrad,
  AllReduce,
  Step,
  Save,
  Load,
};

inline constexpr int numActionKinds = 14;

/// The kinds that have a column in the cost table and stand in a Schedule.
inline constexpr int numTaskKinds = 4;

/// The layout of an action, in bits, and the limits that follow from it. The
/// static_asserts hold every limit to its field; Problem::check() asks for
/// them.
namespace action_layout {
inline constexpr int kindBits = 6, stageBits = 16, replicaBits = 10,
                     countBits = 8, indexBits = 24;
static_assert(kindBits + stageBits + replicaBits + countBits + indexBits == 64,
              "the fields fill 64 bits");
} // namespace action_layout

/// Messages name an edge in the field of the stage.
inline constexpr int64_t maxEdges = int64_t(1) << action_layout::stageBits;
/// A chain has 2 * (stages - 1) edges, all of which must have a number.
inline constexpr int64_t maxStages = maxEdges / 2;
/// Of one stage.
inline constexpr int64_t maxReplicas = int64_t(1) << action_layout::replicaBits;
inline constexpr int64_t maxMicrobatches = int64_t(1)
                                           << action_layout::indexBits;
/// Most consecutive indices that one action serves.
inline constexpr int64_t maxCount =
    (int64_t(1) << action_layout::countBits) - 1;
/// Most pairs of a stage and a micro-batch: eight times what 1024 ranks with
/// 8192 micro-batches have. A larger product is probably a typing error, and
/// its tables would not fit a machine.
inline constexpr int64_t maxStageMicrobatches = int64_t(1) << 26;

static_assert(numActionKinds <= 1 << action_layout::kindBits,
              "every kind has a number");
static_assert(maxStages <= int64_t(1) << action_layout::stageBits,
              "every stage has a number");
static_assert(2 * (maxStages - 1) <= maxEdges, "every edge of a chain has one");

/// One step of a rank's order. It names no version of the weights: which one a
/// task reads follows from the order.
struct Action {
  uint64_t kindBits : action_layout::kindBits;
  /// The stage of a task or step; the edge of a send or receive (an index into
  /// Problem::edges); the collective of an all-reduce.
  uint64_t stage : action_layout::stageBits;
  /// Which copy of the stage; of a message, which copy of the peer's stage.
  uint64_t replica : action_layout::replicaBits;
  /// How many consecutive indices this action serves.
  uint64_t count : action_layout::countBits;
  /// A micro-batch, a unit or a step.
  uint64_t index : action_layout::indexBits;

  constexpr Action() : kindBits(0), stage(0), replica(0), count(1), index(0) {}
  constexpr Action(ActionKind kind, int64_t stage, int64_t index)
      : kindBits(static_cast<uint64_t>(kind)),
        stage(static_cast<uint64_t>(stage)), replica(0), count(1),
        index(static_cast<uint64_t>(index)) {}

  constexpr ActionKind kind() const {
    return static_cast<ActionKind>(kindBits);
  }
  constexpr bool isTask() const { return kindBits < numTaskKinds; }

  friend constexpr bool operator==(Action a, Action b) {
    return a.kindBits == b.kindBits && a.stage == b.stage &&
           a.index == b.index && a.replica == b.replica && a.count == b.count;
  }
  friend constexpr bool operator!=(Action a, Action b) { return !(a == b); }
};

static_assert(sizeof(Action) == 8, "an action is 64 bits");

/// The letter of a task kind: F, I, W or B. '?' for all others.
constexpr char letterOf(ActionKind kind) {
  return kind <= ActionKind::Backward ? "FIWB"[static_cast<int>(kind)] : '?';
}

} // namespace rondo

#endif // RONDO_SCHEDULE_ACTION_H
