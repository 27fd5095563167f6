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

/// One step of a rank's order.
struct Action {
  uint64_t kindBits : 4;
  uint64_t version : 4;
  /// The stage of a task or step; the edge of a send or receive (an index into
  /// Problem::edges); the collective of an all-reduce.
  uint64_t stage : 16;
  uint64_t replica : 8;
  /// How many consecutive indices this action serves.
  uint64_t count : 8;
  /// A micro-batch, a unit or a step.
  uint64_t index : 24;

  constexpr Action()
      : kindBits(0), version(0), stage(0), replica(0), count(1), index(0) {}
  constexpr Action(ActionKind kind, int64_t stage, int64_t index)
      : kindBits(static_cast<uint64_t>(kind)), version(0),
        stage(static_cast<uint64_t>(stage)), replica(0), count(1),
        index(static_cast<uint64_t>(index)) {}

  constexpr ActionKind kind() const {
    return static_cast<ActionKind>(kindBits);
  }
  constexpr bool isTask() const { return kindBits < numTaskKinds; }

  friend constexpr bool operator==(Action a, Action b) {
    return a.kindBits == b.kindBits && a.stage == b.stage &&
           a.index == b.index && a.replica == b.replica && a.count == b.count &&
           a.version == b.version;
  }
  friend constexpr bool operator!=(Action a, Action b) { return !(a == b); }
};

static_assert(sizeof(Action) == 8, "an action is 64 bits");

/// How many there may be; numbers fit their fields. Problem::check() asks.
inline constexpr int64_t maxStages = int64_t(1) << 15;
inline constexpr int64_t maxMicrobatches = int64_t(1) << 24;
/// Messages name an edge in `stage`.
inline constexpr int64_t maxEdges = int64_t(1) << 16;
/// Most pairs of a stage and a micro-batch: eight times what 1024 ranks with
/// 8192 micro-batches have. More is taken for a slip of the pen.
inline constexpr int64_t maxStageMicrobatches = int64_t(1) << 26;

/// The letter of a task kind: F, I, W or B. '?' for all others.
constexpr char letterOf(ActionKind kind) {
  return kind <= ActionKind::Backward ? "FIWB"[static_cast<int>(kind)] : '?';
}

} // namespace rondo

#endif // RONDO_SCHEDULE_ACTION_H
