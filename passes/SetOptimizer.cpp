//===- SetOptimizer.cpp - Say what the plans' memory is for ---------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "passes/Passes.h"

using namespace mlir;

namespace rondo::pipe {
#define GEN_PASS_DEF_SETOPTIMIZER
#include "passes/Passes.h.inc"

namespace {

struct SetOptimizer : impl::SetOptimizerBase<SetOptimizer> {
  using SetOptimizerBase::SetOptimizerBase;

  void runOnOperation() override {
    for (PlanOp plan : getOperation().getOps<PlanOp>())
      if (failed(set(plan)))
        return signalPassFailure();
  }

  LogicalResult set(PlanOp plan) {
    if (plan.getOptimizer() == optimizer)
      return success();
    for (StageOp stage : plan.getStages())
      if (stage.getBuffersAttr())
        return stage.emitError()
               << "stage @" << stage.getSymName() << " has the moments of "
               << stringifyOptimizer(plan.getOptimizer()) << "; "
               << stringifyOptimizer(optimizer)
               << " has others: leave its buffers out";
    plan.setOptimizer(optimizer);
    return success();
  }
};

} // namespace
} // namespace rondo::pipe
