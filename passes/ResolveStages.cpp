//===- ResolveStages.cpp - Give every stage its costs and sizes -----------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "passes/Passes.h"
#include "plans/Layers.h"

using namespace mlir;

namespace rondo::pipe {
#define GEN_PASS_DEF_RESOLVESTAGES
#include "passes/Passes.h.inc"

namespace {

struct ResolveStages : impl::ResolveStagesBase<ResolveStages> {
  void runOnOperation() override {
    for (ModelOp model : getOperation().getOps<ModelOp>())
      if (failed(checkLayerSizes(model)))
        return signalPassFailure();
    for (PlanOp plan : getOperation().getOps<PlanOp>()) {
      if (((plan.getSamplesAttr() || plan.hasDocuments()) &&
           failed(checkLayerSizes(plan.lookupModel(), plan))) ||
          failed(checkTarget(plan)))
        return signalPassFailure();
      const StageFigures figures(plan);
      for (StageOp stage : plan.getStages()) {
        if (!stage.getCostsAttr())
          stage.setCostsAttr(figures.costs(stage));
        if (!stage.getBuffersAttr())
          stage.setBuffersByReplica(figures.buffers(stage));
      }
    }
  }
};

} // namespace
} // namespace rondo::pipe
