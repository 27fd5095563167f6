//===- Roll.cpp - Fold written-out orders into loops ----------------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "passes/Passes.h"
#include "plans/Programs.h"

using namespace mlir;

namespace rondo::pipe {
#define GEN_PASS_DEF_ROLL
#include "passes/Passes.h.inc"

namespace {

struct Roll : impl::RollBase<Roll> {
  void runOnOperation() override {
    for (ScheduleOp schedule : getOperation().getOps<ScheduleOp>())
      if (failed(roll(schedule)))
        return signalPassFailure();
    for (ProgramOp program : getOperation().getOps<ProgramOp>())
      if (failed(roll(program)))
        return signalPassFailure();
  }

  LogicalResult roll(ScheduleOp schedule) {
    if (schedule.isBodyEmpty())
      return success();
    FailureOr<Problem> problem = buildProblem(schedule);
    if (failed(problem))
      return failure();
    FailureOr<ExpandedSchedule> expanded = expandSchedule(schedule, *problem);
    if (failed(expanded))
      return failure();
    return foldSchedule(expanded->schedule, schedule, &*expanded);
  }

  LogicalResult roll(ProgramOp op) {
    FailureOr<Problem> problem = buildProblem(op.lookupSchedule());
    if (failed(problem))
      return failure();
    Problem executing = executingProblem(op.getKind(), *problem);
    FailureOr<ExpandedProgram> expanded = expandProgram(op, executing);
    if (failed(expanded) || failed(checkLoopsHaveNoAttributes(op)))
      return failure();
    foldProgram(expanded->program, executing, op);
    return success();
  }
};

} // namespace
} // namespace rondo::pipe
