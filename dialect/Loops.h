//===- Loops.h - Rolled ops to actions and back -----------------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Shared by schedules and programs. Part of the bridge, only for its files.
//
//===----------------------------------------------------------------------===//

#ifndef RONDO_DIALECT_LOOPS_H
#define RONDO_DIALECT_LOOPS_H

#include "dialect/Pipe.h"
#include "schedule/Schedule.h"

#include "mlir/IR/Builders.h"
#include "llvm/ADT/STLFunctionalExtras.h"

#include <vector>

namespace rondo::pipe {

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

private:
  /// An op, read once.
  struct Node {
    mlir::Operation *op = nullptr;
    /// A loop: `trips` times the nodes up to `end`.
    bool isLoop = false;
    int64_t lower = 0, step = 0, trips = 0;
    size_t end = 0;
    unsigned depth = 0;
    /// A leaf.
    Action action;
    bool hasIndex = false;
    int64_t constant = 0;
    llvm::SmallVector<std::pair<unsigned, int64_t>, 2> terms;
  };

  mlir::LogicalResult read(mlir::Region &body, unsigned depth);
  int64_t countActions(size_t begin, size_t end) const;
  mlir::LogicalResult
  execute(size_t begin, size_t end,
          llvm::function_ref<void(mlir::Operation *, Action)> take);

  PlanOp plan;
  llvm::function_ref<mlir::FailureOr<Action>(mlir::Operation *)> prototype;
  /// A loop comes before its body.
  std::vector<Node> nodes;
  /// Loop variables by depth.
  llvm::SmallVector<int64_t, 8> variables;
  int64_t numActions = 0;
};

/// Makes an op for the action, with the index as a map of loop variables.
using ActionWriter =
    llvm::function_ref<void(mlir::OpBuilder &, mlir::Location, Action,
                            mlir::AffineMapAttr, mlir::ValueRange)>;

/// Rolls the actions and writes them at the builder's insertion point.
void writeRolled(mlir::OpBuilder &builder, mlir::Location loc,
                 ActionRange actions, ActionWriter write);

/// Stage names by number, as symbol references.
std::vector<mlir::FlatSymbolRefAttr> stageNames(PlanOp plan);

/// Makes the op of a task or a step; false if the kind is another.
bool writeTask(mlir::OpBuilder &builder, mlir::Location loc, Action action,
               mlir::FlatSymbolRefAttr stage, mlir::AffineMapAttr map,
               mlir::ValueRange indices);

/// The action of a step.
Action stepOf(StepOp step,
              const llvm::DenseMap<mlir::StringAttr, int32_t> &numbers);

/// Numbers of stages by name, in pipeline order.
llvm::DenseMap<mlir::StringAttr, int32_t> stageNumbers(PlanOp plan);

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
