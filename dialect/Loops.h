//===- Loops.h - Rolled ops to actions and back -----------------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Shared by schedules and programs. Part of the bridge, only for its files.
//
//===----------------------------------------------------------------------===//

#ifndef RONDO_DIALECT_LOOPS_H
#define RONDO_DIALECT_LOOPS_H

#include "dialect/Pipe.h"
#include "schedule/model/Schedule.h"
#include "schedule/order/Repeating.h"

#include "mlir/IR/Builders.h"
#include "llvm/ADT/STLFunctionalExtras.h"

#include <vector>

namespace rondo::pipe {

class Origins;

/// Runs the loops of rank and link order bodies.
class Unroller {
public:
  /// `prototype` gives an op's action, except for its index.
  Unroller(
      PlanOp plan,
      llvm::function_ref<mlir::FailureOr<Action>(mlir::Operation *)> prototype)
      : plan(plan), prototype(prototype) {}

  /// Passes each action of the body to `take`, in order. Refuses indices that
  /// are not a micro-batch of the plan, and more than maxActions over all
  /// calls.
  mlir::LogicalResult
  run(mlir::Region &body,
      llvm::function_ref<void(mlir::Operation *, Action)> take);
  /// Appends them to `order`, and their ops to `writers` if it is not null.
  mlir::LogicalResult run(mlir::Region &body, Schedule &order,
                          std::vector<mlir::Operation *> *writers = nullptr);

  /// From here on, what repeats runs as often as that many iterations need, and
  /// run() leaves out the actions of later ones.
  void setIterations(int64_t number) { iterations = number; }
  /// From here on, what repeats runs once, and nothing is left out.
  void setOnce() { isOnce = true; }

private:
  /// An op, read once.
  struct Node {
    mlir::Operation *op = nullptr;
    /// A loop: `trips` times the nodes up to `end`.
    bool isLoop = false, isInnermost = false;
    int64_t lower = 0, step = 0, trips = 0;
    size_t end = 0;
    unsigned depth = 0;
    /// A leaf.
    Action action;
    bool hasIndex = false;
    /// Indices are below it.
    int64_t bound = 0;
    int64_t constant = 0;
    llvm::SmallVector<std::pair<unsigned, int64_t>, 2> terms;
  };

  mlir::LogicalResult read(mlir::Region &body, unsigned depth);
  int64_t countActions(size_t begin, size_t end) const;
  mlir::LogicalResult checkLeftOut(const Node &node, int64_t index);
  int64_t indexOf(const Node &leaf) const;
  template <typename Take> mlir::LogicalResult runAll(mlir::Region &, Take &);
  template <typename Take>
  mlir::LogicalResult execute(size_t begin, size_t end, Take &take);
  template <typename Take> bool executeInnermost(size_t loop, Take &take);

  PlanOp plan;
  llvm::function_ref<mlir::FailureOr<Action>(mlir::Operation *)> prototype;
  /// A loop comes before its body.
  std::vector<Node> nodes;
  /// Loop variables by depth.
  llvm::SmallVector<int64_t, 8> variables;
  /// Scratch of executeInnermost(): a leaf, its next action, and by how much
  /// a trip moves the index.
  struct Repeated {
    mlir::Operation *op;
    Action action;
    int64_t step;
  };
  std::vector<Repeated> repeated;
  int64_t numActions = 0, microbatches = 0;
  /// 0: they do not overlap.
  int64_t iterations = 0;
  bool isOnce = false;
};

/// Reserves memory for all ranks once the first one is there: they have about
/// as many actions each, `most` together if the order is sound.
void reserveLikeFirst(Schedule &order, int32_t numRanks, int64_t most,
                      std::vector<mlir::Operation *> *writers = nullptr);

/// Makes an op for an action of the rank, with the index as a map of loop
/// variables. Several threads may call it at once.
using ActionWriter = llvm::function_ref<mlir::Operation *(
    mlir::OpBuilder &, mlir::Location, int32_t rank, Action,
    mlir::AffineMapAttr, mlir::ValueRange)>;

/// Rolls the actions, which are of the rank, and writes them at the builder's
/// insertion point.
void writeRolled(mlir::OpBuilder &builder, const Origins &origins, int32_t rank,
                 ActionRange actions, ActionWriter write);
/// Writes an op for every rank of the order at the builder's insertion point;
/// on the context's threads.
void writeRanks(mlir::OpBuilder &builder, const Origins &origins,
                const Schedule &order, ActionWriter write);
/// The same of an order that repeats. Each iteration has `microbatchesEach`
/// micro-batches.
void writeRepeatingRanks(mlir::OpBuilder &builder, const Origins &origins,
                         const Repeating &order, int64_t microbatchesEach,
                         ActionWriter write);

/// Makes the op of a task, a step or a move of sharded state; null if the kind
/// is another. `replicaIndex` is null if the replica is the stage's own on the
/// rank.
mlir::Operation *writeTask(mlir::OpBuilder &builder, mlir::Location loc,
                           Action action, mlir::FlatSymbolRefAttr stage,
                           mlir::IntegerAttr replicaIndex,
                           mlir::AffineMapAttr map, mlir::ValueRange indices);

/// Calls `visit` with each action of the program's ranks, rank by rank.
/// `problem` is the one that the program executes; it can be expanded.
void forEachAction(
    ProgramOp op, const Problem &problem,
    llvm::function_ref<void(int32_t rank, mlir::Operation *, Action)> visit);

/// Replicas by the names of their stages, and back.
class ReplicaNames {
public:
  /// `replicas` are the plan's, on the ranks that run the order at hand.
  ReplicaNames(PlanOp plan, const Replicas &replicas);

  /// The stage's number; -1 where the plan has none of that name.
  int32_t stage(mlir::FlatSymbolRefAttr name) const;
  /// The replica that an op of that rank names. The error is `op`'s.
  mlir::FailureOr<int32_t> replica(mlir::Operation *op,
                                   mlir::FlatSymbolRefAttr stage,
                                   mlir::IntegerAttr replicaIndex,
                                   int32_t rank) const;
  /// The replica's number after the stage's name in an op of that rank; null:
  /// none.
  mlir::IntegerAttr indexOf(int32_t replica, int32_t rank) const;
  mlir::FlatSymbolRefAttr stageOf(int32_t replica) const {
    return names[replicas[replica].stage];
  }
  mlir::FlatSymbolRefAttr name(int32_t stage) const { return names[stage]; }
  /// A replica's number within its stage.
  mlir::IntegerAttr number(int32_t replica) const;

  const Replicas &replicas;

private:
  std::vector<mlir::FlatSymbolRefAttr> names;
  llvm::DenseMap<mlir::StringAttr, int32_t> numbers;
};

/// The rank whose order has the op, or the first rank of its link.
int32_t executingRank(mlir::Operation *op);

/// A task's or a step's action, without the task's index.
mlir::FailureOr<Action> actionOf(mlir::Operation *op,
                                 const ReplicaNames &names);

/// Makes an empty region and block for a body op and moves the builder into it.
template <typename Op> void enterBody(mlir::OpBuilder &builder, Op op) {
  builder.setInsertionPointToStart(&op.getBody().emplaceBlock());
}

/// The bodies by rank number; null if a rank has none. Refuses numbers that
/// `numRanks` does not allow.
mlir::FailureOr<std::vector<RankOp>> ranksByNumber(llvm::ArrayRef<RankOp> ranks,
                                                   int32_t numRanks,
                                                   mlir::Operation *owner);

} // namespace rondo::pipe

#endif // RONDO_DIALECT_LOOPS_H
