//===- ChosenPlan.cpp - The module of one plan among several --------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "tools/driver/ChosenPlan.h"

#include "mlir/IR/Builders.h"

using namespace llvm;

namespace rondo::driver {

ChosenPlan moduleOfPlan(pipe::PlanOp chosen, StringRef planName,
                        StringRef modelName) {
  mlir::ModuleOp all = chosen->getParentOfType<mlir::ModuleOp>();
  ChosenPlan result{
      mlir::ModuleOp::create(mlir::UnknownLoc::get(all.getContext())), {}};
  mlir::OpBuilder builder =
      mlir::OpBuilder::atBlockEnd(result.module->getBody());
  pipe::ModelOp model = chosen.lookupModel();
  for (mlir::Operation &op : *all.getBody())
    if (&op == model || &op == chosen.lookupCluster() || &op == chosen) {
      mlir::Operation *copy = builder.clone(op);
      if (&op == model)
        cast<pipe::ModelOp>(copy).setSymName(modelName);
      else if (&op == chosen)
        result.plan = cast<pipe::PlanOp>(copy);
    }
  result.plan.setModel(modelName);
  result.plan.setSymName(planName);
  return result;
}

void dropStageFigures(pipe::PlanOp plan) {
  for (pipe::StageOp stage : plan.getStages()) {
    stage.removeCostsAttr();
    stage.removeBuffersAttr();
  }
}

} // namespace rondo::driver
