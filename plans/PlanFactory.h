//===- PlanFactory.h - Plans that planners try, as ops ----------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#ifndef RONDO_PLANS_PLANFACTORY_H
#define RONDO_PLANS_PLANFACTORY_H

#include "dialect/Pipe.h"
#include "planning/PlanCandidates.h"
#include "planning/adaptive/Candidate.h"
#include "planning/model/ModelSpace.h"

#include "mlir/IR/BuiltinOps.h"
#include "mlir/IR/OwningOpRef.h"

#include <map>
#include <vector>

namespace rondo::pipe {

/// Makes plans for planners: variants of one plan, with the costs and buffers
/// of their stages. It works in a module of its own, which holds copies of the
/// plan, its model and its cluster as they are when it is constructed; the
/// plan's module does not change. Why there is no plan is returned as a fault,
/// and no error is emitted.
class PlanFactory {
public:
  explicit PlanFactory(PlanOp source);

  /// The copy of the plan.
  PlanOp base() { return basePlan; }
  /// The plan that keep() gave this number.
  PlanOp plan(size_t id) const { return kept[id]; }
  /// The plan in the source's module: the source for a plan that is its copy,
  /// else a new op after the source, whose name begins with `name`. The plan
  /// must have the model of the base.
  PlanOp addToSource(size_t id, const llvm::Twine &name);

  // The steps from the base to another plan.

  /// A copy of the base, which is erased with the result unless it is kept.
  mlir::OwningOpRef<PlanOp> copyOfBase();
  /// The base's model for as many samples in this number of micro-batches,
  /// made once. Sizes and times that layers state are proportional to the size
  /// of a micro-batch, rounded up.
  ModelOp resizedModel(int64_t microbatches);
  /// Returns the fault of a plan that breaks a rule of its op, or whose layers
  /// are too large.
  std::optional<Fault> check(PlanOp plan) const;
  /// Checks the plan's problem and keeps the plan; returns its number. The
  /// stages have costs and buffers. The problem's name is the base's.
  Result<size_t> keep(mlir::OwningOpRef<PlanOp> plan, Problem &problem);
  /// Keeps the copy of the source itself.
  Result<size_t> keepBase(Problem &problem);

private:
  Result<size_t> add(PlanOp plan, Problem &problem);

  mlir::OwningOpRef<mlir::ModuleOp> scratch;
  PlanOp source, basePlan;
  /// Keys are numbers of micro-batches.
  std::map<int64_t, ModelOp> models;
  /// [id]
  std::vector<PlanOp> kept;
};

/// Appends a stage of these layers, named after its number, on these ranks.
StageOp addStage(PlanOp plan, llvm::ArrayRef<LayerOp> layers,
                 llvm::ArrayRef<int64_t> ranks);
/// Sets costs and buffers of all stages to those that their layers need.
void resolveStages(PlanOp plan);

/// The plans of the base's model on its cluster, for planModel(). The base has
/// all layers in one stage. `samples` are those of an iteration. If the model
/// has layers of one size, see ModelOp::findLayerOfOneSize(), micro-batches
/// have as many samples as its batch, whatever a plan of the space says, and
/// each stage is on one rank; the latter also if a custom layer is not
/// `by_sample`. Refers to `factory`.
ModelSpace modelSpace(PlanFactory &factory, int64_t samples);

/// The plans of the base's model with other stages. The base is resolved, has
/// shapeGroups() and keeps rule P1; the costs of its stages come from its
/// layers. Layers are cut by partitionLayers(). An iteration keeps its samples:
/// with another number of micro-batches the model is
/// PlanFactory::resizedModel(). Refers to `factory`.
PlanSpace shapeSpace(PlanFactory &factory);

/// Plans that differ from the base, which is resolved, only in the number and
/// size of micro-batches. `memoryBytes` limits the arena of each rank, in
/// addition to what its device has; `hasNorm`: schedules compute the norm of
/// the gradients. If layers are timed, or custom and of one size, only the size
/// as written is known; of other custom layers those that they state. Refers to
/// `factory`.
SizedPlans sizedPlans(PlanFactory &factory, int64_t memoryBytes, bool hasNorm);

} // namespace rondo::pipe

#endif // RONDO_PLANS_PLANFACTORY_H
