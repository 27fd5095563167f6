//===- Origins.h - Ops from which an order is written again -----*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Part of the bridge, only for its files.
//
//===----------------------------------------------------------------------===//

#ifndef RONDO_DIALECT_ORIGINS_H
#define RONDO_DIALECT_ORIGINS_H

#include "dialect/Bridge.h"

#include <array>
#include <vector>

namespace rondo::pipe {

/// The ops whose actions an order is made of. Ops that are written for the
/// order take their locations, fused where several roll into one, and their
/// attributes.
class Origins {
public:
  /// Without any: all ops get `loc`. Actions of a micro-batch have indices
  /// below `microbatches`.
  Origins(mlir::Location loc, int64_t microbatches)
      : loc(loc), microbatches(microbatches) {}

  /// Whether an op in `owner` has another location than `owner`, or an
  /// attribute.
  static bool mayBeKept(mlir::Operation *owner);

  /// Identifies an action without its count.
  static uint64_t keyOf(Action action);
  void add(int32_t rank, Action action, mlir::Operation *op);
  /// The op of a rank itself, and its pipe.repeat.
  void addRank(RankOp op);

  /// The op of an action of a rank, of the `repeat`-th with the same action
  /// there. Null if no op wrote the action.
  mlir::Operation *find(int32_t rank, Action action, int32_t repeat = 0) const;
  /// Whether several ops have the same action, as awaits may and faulty orders
  /// do.
  bool haveRepeats() const { return !repeats.empty(); }
  /// Null if there was none.
  RankOp findRank(int32_t rank) const { return ranks.lookup(rank); }
  bool isEmpty() const { return numOps == 0; }
  bool haveAttributes() const { return someHasAttributes; }
  /// The location of ops without an origin.
  mlir::Location getLoc() const { return loc; }

private:
  /// The first op of all ranks with the action.
  mlir::Operation *findFirst(int32_t rank, Action action) const;

  mlir::Location loc;
  int64_t microbatches, numOps = 0;
  bool someHasAttributes = false;
  /// Ops of a micro-batch by kind: [subject * microbatches + index].
  std::array<std::vector<mlir::Operation *>, numActionKinds> tasks;
  /// All others.
  llvm::DenseMap<std::pair<int32_t, uint64_t>, mlir::Operation *> others;
  /// The ops of an action after the first, by rank and keyOf(), in order.
  llvm::DenseMap<std::pair<int32_t, uint64_t>,
                 llvm::SmallVector<mlir::Operation *, 1>>
      repeats;
  llvm::DenseMap<int32_t, RankOp> ranks;
};

/// The ops in the ranks of `op`, whose actions are those of `before`; none if
/// it is null.
Origins originsOf(const ExpandedSchedule *before, ScheduleOp op);
/// The same of the messages of a link. Gives `order`, which is written for
/// them, the place and attributes of the pipe.link_order that they are from.
Origins originsOf(const ExpandedSchedule *before, mlir::Location loc,
                  std::pair<int32_t, int32_t> link, LinkOrderOp order);
/// The same of the copies over a shared host link.
Origins originsOf(const ExpandedSchedule *before, mlir::Location loc,
                  int32_t link, CopyOrderOp order);
/// Gives `op` the location and the attributes of the op that it replaces.
void keepPlace(mlir::Operation *replaced, mlir::Operation *op);
/// The ops in the ranks of `op`, or, as long as these are not written, the
/// tasks of its schedule. `problem` is the one that the program executes.
Origins originsOf(ProgramOp op, const Problem &problem);

} // namespace rondo::pipe

#endif // RONDO_DIALECT_ORIGINS_H
