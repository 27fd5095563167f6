//===- SinglePlan.cpp - A module of one plan with its schedule ------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "modules/SinglePlan.h"

#include "dialect/Bridge.h"
#include "lowering/Lowering.h"
#include "passes/Pipelines.h"
#include "plans/PlanFigures.h"

#include "mlir/IR/Builders.h"
#include "mlir/IR/Diagnostics.h"
#include "mlir/IR/Verifier.h"
#include "mlir/Pass/PassManager.h"

using namespace llvm;

namespace rondo::pipe {

SinglePlan moduleOfPlan(PlanOp chosen, StringRef planName,
                        StringRef modelName) {
  mlir::ModuleOp all = chosen->getParentOfType<mlir::ModuleOp>();
  SinglePlan result{
      mlir::ModuleOp::create(mlir::UnknownLoc::get(all.getContext())), {}};
  mlir::OpBuilder builder =
      mlir::OpBuilder::atBlockEnd(result.module->getBody());
  ModelOp model = chosen.lookupModel();
  for (mlir::Operation &op : *all.getBody())
    if (&op == model || &op == chosen.lookupCluster() || &op == chosen) {
      mlir::Operation *copy = builder.clone(op);
      if (&op == model)
        cast<ModelOp>(copy).setSymName(modelName);
      else if (&op == chosen)
        result.plan = cast<PlanOp>(copy);
    }
  result.plan.setModel(modelName);
  result.plan.setSymName(planName);
  return result;
}

mlir::FailureOr<ScheduleOp> addSchedule(PlanOp plan, StringRef name,
                                        const Schedule &order,
                                        const Problem &problem) {
  mlir::OpBuilder builder(plan);
  builder.setInsertionPointAfter(plan);
  auto schedule = ScheduleOp::create(
      builder, plan.getLoc(), name, plan.getSymName(), FamilyAttr(),
      SearchAttr(), FoundAttr(), versionsOf(builder, problem), GathersAttr(),
      ClaimsAttr(), /*order=*/mlir::DenseI32ArrayAttr(), Accumulate::IndexOrder,
      Norm::Global);
  if (failed(foldSchedule(order, schedule)))
    return mlir::failure();
  return schedule;
}

ScheduleOp addSchedule(PlanOp plan, StringRef name, const std::string &family) {
  mlir::OpBuilder builder(plan);
  builder.setInsertionPointAfter(plan);
  return ScheduleOp::create(
      builder, plan.getLoc(), name, plan.getSymName(),
      familyAttrOf(*parseFamily(family), builder.getContext()), SearchAttr(),
      FoundAttr(), /*versions=*/mlir::ArrayAttr(), GathersAttr(), ClaimsAttr(),
      /*order=*/mlir::DenseI32ArrayAttr(), Accumulate::IndexOrder,
      Norm::Global);
}

std::optional<std::vector<int64_t>>
arenasOfWindow(PlanOp plan, const Problem &window, const Schedule &order) {
  mlir::ScopedDiagnosticHandler silent(
      plan.getContext(), [](mlir::Diagnostic &) { return mlir::success(); });
  const SinglePlan alone =
      moduleOfPlan(plan, plan.getSymName(), plan.getModel());
  mlir::FailureOr<ScheduleOp> op =
      addSchedule(alone.plan, "searched", order, window);
  if (failed(op))
    return std::nullopt;
  mlir::FailureOr<Problem> proof = buildProblem(*op);
  if (failed(proof))
    return std::nullopt;
  mlir::FailureOr<ExpandedSchedule> expanded = expandSchedule(*op, *proof);
  if (failed(expanded))
    return std::nullopt;
  return arenaOf(figuresOf(*op), *proof, expanded->schedule);
}

Error checkCompiles(mlir::ModuleOp module) {
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
  buildVerifyPipeline(passes);
  const auto fail = [&](StringRef what) {
    return createStringError(inconvertibleErrorCode(),
                             what + Twine(fault) + "; nothing was written");
  };
  const StringRef illegal =
      "internal error: the plan that was found is not legal: ";
  if (failed(mlir::verify(*copy)) || failed(passes.run(*copy)))
    return fail(illegal);
  for (auto schedule : copy->getOps<ScheduleOp>()) {
    mlir::FailureOr<Problem> problem = buildProblem(schedule);
    if (failed(problem))
      return fail(illegal);
    mlir::FailureOr<ExpandedSchedule> expanded =
        expandSchedule(schedule, *problem);
    if (failed(expanded))
      return fail(illegal);
    if (expanded->schedule.numActions() > maxProvedTasks)
      continue;
    // Searches judge arenas themselves, and some know no limit of them.
    const ProvedPrograms proved =
        provePrograms(figuresOf(schedule), *problem, expanded->schedule);
    if (!proved.fault || proved.isOverCap())
      continue;
    fault = describeFault(proved, *problem);
    return fail("the schedule that was found does not run: ");
  }
  return Error::success();
}

void dropStageFigures(PlanOp plan) {
  for (StageOp stage : plan.getStages()) {
    stage.removeCostsAttr();
    stage.removeBuffersAttr();
  }
}

} // namespace rondo::pipe
