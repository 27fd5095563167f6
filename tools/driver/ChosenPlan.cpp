//===- ChosenPlan.cpp - The module of one plan among several --------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "tools/driver/ChosenPlan.h"

#include "dialect/Bridge.h"
#include "lowering/Lowering.h"
#include "passes/Pipelines.h"
#include "plans/PlanFigures.h"

#include "mlir/IR/Builders.h"
#include "mlir/IR/Diagnostics.h"
#include "mlir/IR/Verifier.h"
#include "mlir/Pass/PassManager.h"

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

Error checkChosen(mlir::ModuleOp module) {
  std::string fault;
  mlir::ScopedDiagnosticHandler handler(
      module.getContext(), [&](mlir::Diagnostic &diagnostic) {
        if (fault.empty() &&
            diagnostic.getSeverity() == mlir::DiagnosticSeverity::Error)
          fault = diagnostic.str();
        return mlir::success();
      });
  // The passes add costs, which are not written.
  mlir::OwningOpRef<mlir::ModuleOp> copy = module.clone();
  mlir::PassManager passes(module.getContext());
  pipe::buildVerifyPipeline(passes);
  const auto fail = [&](StringRef what) {
    return createStringError(inconvertibleErrorCode(),
                             what + Twine(fault) + "; nothing was written");
  };
  const StringRef illegal =
      "internal error: the plan that was found is not legal: ";
  if (failed(mlir::verify(*copy)) || failed(passes.run(*copy)))
    return fail(illegal);
  for (auto schedule : copy->getOps<pipe::ScheduleOp>()) {
    mlir::FailureOr<Problem> problem = pipe::buildProblem(schedule);
    if (failed(problem))
      return fail(illegal);
    mlir::FailureOr<pipe::ExpandedSchedule> expanded =
        pipe::expandSchedule(schedule, *problem);
    if (failed(expanded))
      return fail(illegal);
    if (expanded->schedule.numActions() > maxProvedTasks)
      continue;
    // Searches judge arenas themselves, and some know no limit of them.
    const ProvedPrograms proved =
        provePrograms(pipe::figuresOf(schedule), *problem, expanded->schedule);
    if (!proved.fault || proved.isOverCap())
      continue;
    fault = describeFault(proved, *problem);
    return fail("the schedule that was found does not run: ");
  }
  return Error::success();
}

void dropStageFigures(pipe::PlanOp plan) {
  for (pipe::StageOp stage : plan.getStages()) {
    stage.removeCostsAttr();
    stage.removeBuffersAttr();
  }
}

} // namespace rondo::driver
