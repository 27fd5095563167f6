//===- ShapeGroups.h - Ranks that plans of other shapes use -----*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#ifndef RONDO_PLANS_SHAPEGROUPS_H
#define RONDO_PLANS_SHAPEGROUPS_H

#include "dialect/Pipe.h"

#include "llvm/ADT/DenseMap.h"
#include "llvm/ADT/DenseSet.h"
#include "llvm/ADT/SmallVector.h"

#include <vector>

namespace rondo::pipe {

/// The ranks that have stages together, and how: each of these stages has a
/// replica on all of them.
struct ShapeGroup {
  llvm::SmallVector<int64_t> ranks;
  /// The attributes of its stages; null and false if a stage is on one rank.
  mlir::DenseI64ArrayAttr shares;
  bool isRoundRobin = false;
  ShardedAttr sharded;

  /// Ranks that have the state of a stage once together.
  int64_t shards() const {
    return !sharded                  ? 1
           : sharded.getShards() > 0 ? sharded.getShards()
                                     : int64_t(ranks.size());
  }
  /// The part of all work that its replica number `replica` has.
  double partOfWork(size_t replica) const;
  /// The part of a micro-batch's activations that it holds at most.
  double partOfActivations() const;
};

/// The parts of a plan that its other shapes keep: the groups of ranks among
/// which layers are cut, in the order of the first stages, and the layers that
/// recompute.
struct ShapeGroups {
  /// Each rank of the cluster by itself if all stages are on one rank.
  std::vector<ShapeGroup> groups;
  llvm::DenseSet<mlir::Attribute> recomputed;
  /// [name of a layer]: the entries of `offload` that name it or its parts.
  llvm::DenseMap<mlir::Attribute, llvm::SmallVector<mlir::Attribute, 1>>
      offloaded;
  LoadBefore before = LoadBefore::InputGrad;
  /// Stages that recompute begin with what the stage before recomputes, if that
  /// recomputes all of its layers.
  bool isAcross = false;
};

/// Fails with an error if stages share some but not all of their ranks, or are
/// on the same ranks in different ways, or if some recompute across stages and
/// others that could do not.
mlir::FailureOr<ShapeGroups> shapeGroups(PlanOp plan);

} // namespace rondo::pipe

#endif // RONDO_PLANS_SHAPEGROUPS_H
