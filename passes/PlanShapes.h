//===- PlanShapes.h - Other ways to lay a model on a cluster ----*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#ifndef RONDO_PASSES_PLANSHAPES_H
#define RONDO_PASSES_PLANSHAPES_H

#include "dialect/Pipe.h"
#include "planning/PlanCandidates.h"

#include <vector>

namespace rondo::pipe {

/// The plans of a plan's model on its cluster, for planning. They are written
/// behind it in the module, each with a name of its own and its stages' costs
/// and buffers; where there is none, no error is emitted.
///
/// The plan is resolved and keeps rule P1; the costs of its stages come from
/// its layers. Layers are cut by partitionLayers(). An iteration keeps its
/// samples: with another number of micro-batches a copy of the model, behind
/// it, says their size. Estimated times follow from it; stated times and sizes
/// of layers are taken to be proportional to it, rounded up.
class PlanShapes {
public:
  explicit PlanShapes(PlanOp base) : base(base) {}

  /// Refers to this object.
  PlanSpace space();
  /// The op of a plan of the space.
  PlanOp plan(const ShapedPlan &shaped) const { return made[shaped.id]; }

private:
  Result<ShapedPlan> make(const PlanShape &shape);

  PlanOp base;
  /// By id.
  std::vector<PlanOp> made;
};

} // namespace rondo::pipe

#endif // RONDO_PASSES_PLANSHAPES_H
