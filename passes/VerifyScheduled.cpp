//===- VerifyScheduled.cpp - Rules S1 to S9 -------------------------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "passes/CheckedSchedules.h"
#include "passes/Claims.h"
#include "passes/Passes.h"
#include "passes/Phases.h"
#include "passes/PlanFigures.h"
#include "schedule/bounds/Shortfall.h"

using namespace mlir;

namespace rondo::pipe {
#define GEN_PASS_DEF_VERIFYSCHEDULED
#include "passes/Passes.h.inc"
#include "schedule/rules/ProgramRules.h"

namespace {

struct VerifyScheduled : impl::VerifyScheduledBase<VerifyScheduled> {
  void runOnOperation() override {
    for (ScheduleOp schedule : getOperation().getOps<ScheduleOp>())
      if (failed(verify(schedule)))
        signalPassFailure();
    markAllAnalysesPreserved();
  }

  /// Only how late a norm is takes more than the plan.
  std::vector<Collective> collectivesOf(ScheduleOp schedule) {
    const bool hasNorm = schedule.computesNorm();
    const PlanFigures figures =
        schedule.overlaps() && hasNorm
            ? getAnalysis<ScheduleFigures>().of(schedule)
            : figuresOf(schedule.lookupPlan(), hasNorm);
    return figures.needsOf(rondo::ProgramKind::Pipeline).collectives;
  }

  LogicalResult verify(ScheduleOp schedule) {
    PlanOp plan = schedule.lookupPlan();
    if (schedule.overlaps() && plan.getTargetKind() == Target::Cuda)
      return schedule.emitError()
                 .append("iterations of @", schedule.getSymName(),
                         " overlap; programs on GPUs run one iteration at a "
                         "time: compile for target cpu, or use a schedule "
                         "that drains, such as family<\"1f1b\">")
                 .attachNote(plan.getLoc())
             << "this is the plan, whose target is cuda";
    FailureOr<Problem> problem = buildProblem(schedule);
    if (failed(problem))
      return failure();
    FailureOr<ExpandedSchedule> expanded = expandSchedule(schedule, *problem);
    if (failed(expanded))
      return failure();
    Simulation simulation;
    std::optional<Fault> fault = checkAndSimulate(
        *problem, expanded->schedule, simulation, /*keepTimes=*/true);
    if (!fault)
      fault = checkSteps(*problem, expanded->schedule, collectivesOf(schedule));
    if (!fault && schedule.accumulatesInIndexOrder())
      fault = checkAccumulation(*problem, expanded->schedule);
    if (!fault) {
      getAnalysis<CheckedSchedules>().add(
          schedule, {std::move(expanded->schedule), std::move(simulation)});
      return verifyPromises(schedule);
    }
    InFlightDiagnostic error = emitFault(*fault, *expanded, *problem, schedule);
    if (fault->rule == Rule::Memory && findShortfall(*problem))
      markNoOrderFits(error);
    return error;
  }
};

} // namespace
} // namespace rondo::pipe
