//===- StatedOrder.cpp - Orders that gather by themselves -----------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "passes/StatedOrder.h"

#include "kinds/Counts.h"

using namespace mlir;

namespace rondo::pipe {

namespace {

/// Of a rank, what an order by hand holds whole at once.
struct Held {
  int64_t weights = 0, gradients = 0;
  /// By replica: of how many micro-batches gradients are not reduced, and the
  /// micro-batch whose tasks have read what is gathered; none yet: -1, several:
  /// -2.
  std::vector<int64_t> unreduced, readBy;
};

class StatedOrder {
public:
  StatedOrder(ScheduleOp schedule, const Problem &problem,
              const ExpandedSchedule &expanded, const Stated &weights,
              const Stated &gradients)
      : schedule(schedule), problem(problem), expanded(expanded),
        weights(weights), gradients(gradients) {}

  LogicalResult check() const {
    for (int32_t rank = 0; rank < problem.numRanks(); ++rank) {
      Held held{0, 0, std::vector<int64_t>(problem.numReplicas(), 0),
                std::vector<int64_t>(problem.numReplicas(), -1)};
      const ActionRange order = expanded.schedule.rank(rank);
      for (int64_t i = 0; i < order.size(); ++i) {
        Operation *op = expanded.opOf[expanded.schedule.rankBegin(rank) + i];
        take(order[i], held);
        if (failed(compare(op, rank, weights, held.weights,
                           llvm::is_contained(held.readBy, -2))) ||
            failed(compare(op, rank, gradients, held.gradients,
                           llvm::any_of(held.unreduced, [](int64_t count) {
                             return count > 1;
                           }))))
          return failure();
      }
    }
    return success();
  }

private:
  void take(Action action, Held &held) const {
    const auto replica = static_cast<int32_t>(action.subject);
    if (!(action.isTask() || action.traits().movesState()) ||
        !problem.replicas[replica].isSharded())
      return;
    const rondo::ShardedState how = problem.shardedState(replica);
    const bool isWeights = how == rondo::ShardedState::Weights,
               isGradients = how != rondo::ShardedState::Optimizer;
    if (action.kind() == ActionKind::Unshard) {
      held.weights += isWeights;
      held.readBy[replica] = -1;
    } else if (action.kind() == ActionKind::Reshard) {
      held.weights -= isWeights;
      held.readBy[replica] = -1;
    } else if (action.kind() == ActionKind::ReduceGrad) {
      held.gradients -= isGradients && held.unreduced[replica] > 0;
      held.unreduced[replica] = 0;
    } else {
      int64_t &by = held.readBy[replica];
      by = !isWeights || by == -1 || by == action.index ? action.index : -2;
      if (action.traits().makes & weightGradDone) {
        held.gradients += isGradients && held.unreduced[replica] == 0;
        held.unreduced[replica] += isGradients;
      }
    }
  }

  LogicalResult compare(Operation *op, int32_t rank, const Stated &stated,
                        int64_t held, bool isOfSeveral) const {
    if (stated.counts.empty())
      return success();
    const int64_t most = stated.of(rank);
    if (held <= std::max<int64_t>(most, 1) && !(most == 0 && isOfSeveral))
      return success();
    InFlightDiagnostic error =
        op->emitError() << "rank " << rank << " has " << stated.what << " of "
                        << countOf(held, "chunk") << " whole here";
    if (held <= std::max<int64_t>(most, 1))
      error << " for more than one micro-batch";
    error << ", more than the " << most << " of gathers<" << stated.what
          << ">; leave `gathers` out, or the actions that move state";
    error.attachNote(ScheduleOp(schedule).getLoc())
        << "this schedule has the numbers";
    return error;
  }

  ScheduleOp schedule;
  const Problem &problem;
  const ExpandedSchedule &expanded;
  const Stated &weights, &gradients;
};

} // namespace

LogicalResult checkStatedOrder(ScheduleOp schedule, const Problem &problem,
                               const ExpandedSchedule &expanded,
                               const Stated &weights, const Stated &gradients) {
  return StatedOrder(schedule, problem, expanded, weights, gradients).check();
}

} // namespace rondo::pipe
