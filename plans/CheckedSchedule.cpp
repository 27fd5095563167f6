//===- CheckedSchedule.cpp - A schedule's order, checked ------------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "plans/CheckedSchedule.h"

#include "plans/PlanFigures.h"
#include "schedule/rules/ProgramRules.h"

#include <utility>

using namespace mlir;
using namespace rondo;
using namespace rondo::pipe;

/// The collectives of the schedule's program. Only how late a norm is depends
/// on more than the plan.
static std::vector<Collective> collectivesOf(ScheduleOp schedule,
                                             AnalysisManager &analyses) {
  const bool hasNorm = schedule.computesNorm();
  const PlanFigures figures =
      schedule.overlaps() && hasNorm
          ? analyses.getAnalysis<ScheduleFigures>().figures()
          : figuresOf(schedule.lookupPlan(), hasNorm);
  return figures.needsOf(rondo::ProgramKind::Pipeline).collectives;
}

std::optional<Fault> CheckedSchedule::findFault(AnalysisManager &analyses) {
  if (std::optional<Fault> fault =
          checkAndSimulate(judged, schedule, times, /*keepTimes=*/true))
    return fault;
  if (std::optional<Fault> fault =
          checkSteps(judged, schedule, collectivesOf(op, analyses)))
    return fault;
  return op.accumulatesInStatedOrder() ? checkAccumulation(judged, schedule)
                                       : std::nullopt;
}

CheckedSchedule::CheckedSchedule(Operation *schedule, AnalysisManager &analyses)
    : op(cast<ScheduleOp>(schedule)) {
  FailureOr<Problem> problem = buildProblem(op);
  if (failed(problem))
    return;
  FailureOr<ExpandedSchedule> expanded = expandSchedule(op, *problem);
  if (failed(expanded))
    return;
  readable = true;
  judged = std::move(*problem);
  this->schedule = std::move(expanded->schedule);
  broken = findFault(analyses);
}

InFlightDiagnostic CheckedSchedule::emitFault() const {
  // Only errors need the op of each action, and it takes as much memory as the
  // order.
  return pipe::emitFault(*broken, *expandSchedule(op, judged), judged, op);
}
