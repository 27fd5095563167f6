//===- Shards.h - Stages with sharded state ---------------------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The replicas of a group keep one shard each of a stage's weights, gradients
// and optimizer state. Tasks need all weights: `unshard` gathers them,
// `reshard` frees them. Gradients stay whole until `reduce_grad` adds those of
// all replicas; each replica keeps its shard of the sum. These actions are
// numbered within an iteration, per replica and kind, from 0.
//
//===----------------------------------------------------------------------===//

#ifndef RONDO_SCHEDULE_ORDER_SHARDS_H
#define RONDO_SCHEDULE_ORDER_SHARDS_H

#include "schedule/model/Fault.h"
#include "schedule/model/Problem.h"
#include "schedule/model/Schedule.h"

#include <optional>
#include <vector>

namespace rondo {

/// Memory of a sharded replica's unreduced gradients. The first W or B after a
/// reduce_grad acquires it. reduce_grad releases it; its cost states the size.
class UnreducedBytes {
public:
  explicit UnreducedBytes(const Problem &problem)
      : problem(problem),
        isHeld(problem.sharded.empty() ? 0 : problem.numReplicas()) {}

  /// Bytes that the action acquires. Call it for all actions in order.
  int64_t takenBy(Action action) {
    if (isHeld.empty() || !problem.replicas[action.subject].isSharded())
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
    const Cost cost = problem.costOf(action);
    const int64_t most = held + cost.acquireBytes + unreduced.takenBy(action);
    held = most - cost.releaseBytes;
    return most;
  }
  /// Bytes held after the last action.
  int64_t after() const { return held; }

private:
  const Problem &problem;
  UnreducedBytes unreduced;
  int64_t held = 0;
};

/// Whether an order has actions that move sharded state. O(actions).
bool movesState(const Schedule &schedule);

/// The order without these actions. O(actions).
Schedule withoutMoves(const Schedule &schedule);

} // namespace rondo

#endif // RONDO_SCHEDULE_ORDER_SHARDS_H
