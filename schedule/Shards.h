//===- Shards.h - Stages whose state is in pieces ---------------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The homes of a group each keep a piece of a stage's weights, gradients and
// optimizer state. Tasks need all weights: `unshard` gathers them, `reshard`
// frees them. Gradients that the tasks make stay whole until `reduce_grad` adds
// those of all homes; each home keeps its piece of the sum. These actions are
// numbered within an iteration, by home and kind, from 0.
//
//===----------------------------------------------------------------------===//

#ifndef RONDO_SCHEDULE_SHARDS_H
#define RONDO_SCHEDULE_SHARDS_H

#include "schedule/Fault.h"
#include "schedule/Problem.h"
#include "schedule/Schedule.h"

#include <optional>
#include <vector>

namespace rondo {

/// What is wrong with a problem's sharded stages, if anything. Part of
/// Problem::check().
std::optional<Fault> checkShards(const Problem &problem);

/// S9: tasks read weights that are gathered; nothing is gathered twice or left
/// gathered; every gradient is reduced once, before its stage's step; the homes
/// of a group reduce the gradients of the same micro-batches; and the ranks of
/// a group issue what they do together in one order. Needs S1 and S2.
/// O(actions).
std::optional<Fault> checkGathers(const Problem &problem,
                                  const Schedule &schedule);

/// The gradients that a home has whole: the first W or B since its last
/// reduce_grad takes them, and reduce_grad, whose cost they are, gives them
/// back.
class UnreducedBytes {
public:
  explicit UnreducedBytes(const Problem &problem)
      : problem(problem),
        isHeld(problem.sharded.empty() ? 0 : problem.numHomes()) {}

  /// Bytes that the action takes; to be called with all actions in order.
  int64_t takenBy(Action action) {
    if (isHeld.empty() || !problem.homes[action.subject].isSharded())
      return 0;
    if (action.kind() == ActionKind::ReduceGrad)
      isHeld[action.subject] = false;
    if (!(action.traits().makes & weightGradDone) || isHeld[action.subject])
      return 0;
    isHeld[action.subject] = true;
    return problem.cost(action.subject, ActionKind::ReduceGrad).releaseBytes;
  }

private:
  const Problem &problem;
  std::vector<uint8_t> isHeld;
};

/// Bytes of activations and whole gradients that a rank holds while its actions
/// run one after another.
class HeldMemory {
public:
  explicit HeldMemory(const Problem &problem)
      : problem(problem), unreduced(problem) {}

  /// Bytes held while the action runs; to be called with all actions of the
  /// rank in order.
  int64_t during(Action action) {
    const Cost &cost = problem.cost(action.subject, action.kind());
    const auto count = static_cast<int64_t>(action.count);
    const int64_t most =
        held + cost.acquireBytes * count + unreduced.takenBy(action);
    held = most - cost.releaseBytes * count;
    return most;
  }
  /// Bytes held after the last action.
  int64_t after() const { return held; }

private:
  const Problem &problem;
  UnreducedBytes unreduced;
  int64_t held = 0;
};

/// Whether an order has any of these actions. O(actions).
bool movesState(const Schedule &schedule);

/// The order without them. O(actions).
Schedule withoutMoves(const Schedule &schedule);

} // namespace rondo

#endif // RONDO_SCHEDULE_SHARDS_H
