//===- ChosenPlan.cpp - The module of one plan among several --------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "tools/driver/ChosenPlan.h"

using namespace llvm;

namespace rondo::driver {

ChosenPlan moduleOfPlan(pipe::PlanOp chosen, StringRef planName,
                        StringRef modelName) {
  mlir::ModuleOp all = chosen->getParentOfType<mlir::ModuleOp>();
  ChosenPlan result{
      mlir::ModuleOp::create(mlir::UnknownLoc::get(all.getContext())), {}};
  mlir::OpBuilder builder =
      mlir::OpBuilder::atBlockEnd(result.module->getBody());
  auto model = cast<pipe::ModelOp>(builder.clone(*chosen.lookupModel()));
  builder.clone(*chosen.lookupCluster());
  result.plan = cast<pipe::PlanOp>(builder.clone(*chosen));
  model.setSymName(modelName);
  result.plan.setModel(modelName);
  result.plan.setSymName(planName);
  for (pipe::StageOp stage : result.plan.getStages()) {
    stage.removeCostsAttr();
    stage.removeBuffersAttr();
  }
  return result;
}

} // namespace rondo::driver
