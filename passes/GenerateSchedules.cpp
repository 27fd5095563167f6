//===- GenerateSchedules.cpp - Write the schedules that name a family -----===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "dialect/Bridge.h"
#include "passes/Passes.h"

using namespace mlir;

namespace rondo::pipe {
#define GEN_PASS_DEF_GENERATESCHEDULES
#include "passes/Passes.h.inc"

namespace {

struct GenerateSchedules : impl::GenerateSchedulesBase<GenerateSchedules> {
  void runOnOperation() override {
    for (ScheduleOp schedule : getOperation().getOps<ScheduleOp>())
      if (failed(generate(schedule)))
        return signalPassFailure();
  }

  LogicalResult generate(ScheduleOp schedule);
};

LogicalResult GenerateSchedules::generate(ScheduleOp schedule) {
  FamilyAttr family = schedule.getFamilyAttr();
  if (!family || !schedule.isBodyEmpty())
    return success();
  PlanOp plan = schedule.lookupPlan();
  FailureOr<Problem> problem = buildProblem(plan);
  if (failed(problem))
    return failure();
  FailureOr<FamilyChoice> choice = chooseFamily(schedule);
  if (failed(choice))
    return failure();
  FamilyResult result = rondo::generate(*choice, *problem);
  if (auto *wrong = std::get_if<Fault>(&result)) {
    InFlightDiagnostic error = schedule.emitError()
                               << "family '" << family.getName()
                               << "' does not apply: " << describe(*wrong);
    error.attachNote(plan.getLoc()) << "this is the plan";
    return error;
  }
  return foldSchedule(std::get<Schedule>(result), schedule);
}

} // namespace
} // namespace rondo::pipe
