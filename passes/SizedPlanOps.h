//===- SizedPlanOps.h - A plan with other micro-batches, as ops -*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#ifndef RONDO_PASSES_SIZEDPLANOPS_H
#define RONDO_PASSES_SIZEDPLANOPS_H

#include "dialect/Pipe.h"
#include "planning/adaptive/Candidate.h"

#include <vector>

namespace rondo::pipe {

/// Plans that differ from one that is resolved only in the number and size of
/// micro-batches. They are written behind it in the module, with costs and
/// buffers; where there is none, no error is shown.
class SizedPlanOps {
public:
  /// `memoryBytes` limits the arena of each rank, beside what its device has;
  /// `hasNorm`: schedules compute the norm of the gradients.
  SizedPlanOps(PlanOp base, int64_t memoryBytes, bool hasNorm)
      : base(base), memoryBytes(memoryBytes), hasNorm(hasNorm) {}

  /// Refers to this object. Only the size as written, where layers are custom
  /// or timed: these know no other.
  SizedPlans plans();
  /// The op of a plan; the base for the first.
  PlanOp plan(size_t id) const { return made[id]; }
  /// Erases the plans that were made and are not in `used`, by id.
  void eraseUnused(const std::vector<bool> &used);

private:
  Result<SizedPlan> make(int64_t microbatches);
  CostSources sourcesOf(PlanOp plan);
  PlanOp copyOfBase(int64_t microbatches);
  Result<SizedPlan> valueOf(PlanOp plan);

  PlanOp base;
  const int64_t memoryBytes;
  const bool hasNorm;
  /// By id.
  std::vector<PlanOp> made;
};

} // namespace rondo::pipe

#endif // RONDO_PASSES_SIZEDPLANOPS_H
