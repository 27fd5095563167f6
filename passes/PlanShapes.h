//===- PlanShapes.h - Other ways to lay a model on a cluster ----*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#ifndef RONDO_PASSES_PLANSHAPES_H
#define RONDO_PASSES_PLANSHAPES_H

#include "dialect/Pipe.h"
#include "planning/PlanCandidates.h"

#include <vector>

namespace rondo::pipe {

/// What the layers of a plan are cut among, in the order of the first stages.
struct ShapeGroups {
  /// Each rank of the cluster by itself; or the groups of ranks that share the
  /// state of their stages.
  std::vector<llvm::SmallVector<int64_t>> ranks;
  /// Of every stage; null where none is sharded.
  ShardedAttr sharded;

  /// Ranks that have the state of a stage once together.
  int64_t shards() const {
    return !sharded                  ? 1
           : sharded.getShards() > 0 ? sharded.getShards()
                                     : int64_t(ranks.front().size());
  }
};
/// What to do where a plan cannot be laid out again.
inline constexpr const char *searchAsWritten =
    ": `rondo search FILE -o found.json` searches for orders of the plan as "
    "written";
/// Fails with an error where stages are on several ranks, but are not all
/// sharded in the same way over groups of one size that share no rank.
mlir::FailureOr<ShapeGroups> shapeGroups(PlanOp plan);

/// The plans of a plan's model on its cluster, for planning. They are written
/// behind it in the module, each with a name of its own and its stages' costs
/// and buffers; where there is none, no error is emitted.
///
/// The plan is resolved, has shapeGroups() and keeps rule P1; the costs of its
/// stages come from its layers. Layers are cut by partitionLayers(). An
/// iteration keeps its samples: with another number of micro-batches a copy of
/// the model, behind it, says their size. Estimated times follow from it;
/// stated times and sizes of layers are taken to be proportional to it, rounded
/// up.
class PlanShapes {
public:
  explicit PlanShapes(PlanOp base);

  /// Refers to this object.
  PlanSpace space();
  /// The op of a plan of the space.
  PlanOp plan(const ShapedPlan &shaped) const { return made[shaped.id]; }

private:
  Result<ShapedPlan> make(const PlanShape &shape);

  PlanOp base;
  ShapeGroups groups;
  /// By id.
  std::vector<PlanOp> made;
};

} // namespace rondo::pipe

#endif // RONDO_PASSES_PLANSHAPES_H
