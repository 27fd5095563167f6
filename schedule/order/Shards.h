//===- Shards.h - Stages whose state is sharded -----------------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The replicas of a group each keep a shard of a stage's weights, gradients and
// optimizer state. Tasks need all weights: `unshard` gathers them, `reshard`
// frees them. Gradients that the tasks make stay whole until `reduce_grad` adds
// those of all replicas; each replica keeps its shard of the sum. These actions
// are numbered within an iteration, by replica and kind, from 0.
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

/// S9: tasks read weights that are gathered; nothing is gathered twice or left
/// gathered; every gradient is reduced once, before its stage's step; the
/// replicas of a group reduce the gradients of the same micro-batches; and the
/// ranks of a group issue what they do together in one order. Needs S1 and S2.
/// O(actions).
std::optional<Fault> checkGathers(const Problem &problem,
                                  const Schedule &schedule);

/// The gradients that a replica has whole: the first W or B since its last
/// reduce_grad takes them, and reduce_grad, whose cost they are, gives them
/// back.
class UnreducedBytes {
public:
  explicit UnreducedBytes(const Problem &problem)
      : problem(problem),
        isHeld(problem.sharded.empty() ? 0 : problem.numReplicas()) {}

  /// Bytes that the action takes; to be called with all actions in order.
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

/// Whether an order has any of these actions. O(actions).
bool movesState(const Schedule &schedule);

/// The order without them. O(actions).
Schedule withoutMoves(const Schedule &schedule);

} // namespace rondo

#endif // RONDO_SCHEDULE_ORDER_SHARDS_H
