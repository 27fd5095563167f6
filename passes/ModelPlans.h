//===- ModelPlans.h - Plans of a model as ops -------------------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#ifndef RONDO_PASSES_MODELPLANS_H
#define RONDO_PASSES_MODELPLANS_H

#include "dialect/Pipe.h"
#include "planning/model/ModelSpace.h"

#include <vector>

namespace rondo::pipe {

/// The plans of a plan's model on its cluster, for planModel(). The plan has
/// all layers in one stage. The others are written behind it in the module,
/// with costs and buffers; where there is none, no error is emitted. `samples`
/// are those of an iteration. If the model has layers of one size, see
/// ModelOp::findLayerOfOneSize(), micro-batches have as many samples as its
/// batch, whatever a plan of the space says, and each stage is on one rank.
class ModelPlans {
public:
  ModelPlans(PlanOp base, int64_t samples) : base(base), samples(samples) {}

  /// Refers to this object.
  ModelSpace space();
  /// The op of a plan of the space.
  PlanOp plan(const LaidPlan &laid) const { return made[laid.id]; }

private:
  Result<ChainProblem> chain(int64_t microbatchSamples,
                             const std::vector<bool> &recomputes);
  double leastWorkNs(int64_t microbatchSamples);
  Result<LaidPlan> make(const ModelPlan &plan);
  PlanOp copyOfBase(int64_t microbatchSamples);

  PlanOp base;
  int64_t samples;
  /// By id.
  std::vector<PlanOp> made;
};

} // namespace rondo::pipe

#endif // RONDO_PASSES_MODELPLANS_H
