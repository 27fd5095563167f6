//===- PlanMemory.cpp - Give every buffer a compile-time slot -------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "lowering/Communication.h"
#include "passes/Passes.h"
#include "passes/Phases.h"
#include "passes/PlanFigures.h"

#include <map>

using namespace mlir;

namespace rondo::pipe {
#define GEN_PASS_DEF_PLANMEMORY
#include "passes/Passes.h.inc"

namespace {

struct PlanMemory : impl::PlanMemoryBase<PlanMemory> {
  void runOnOperation() override {
    for (const SmallVector<ScheduleOp, 0> &schedules :
         executables(getOperation()))
      if (failed(plan(schedules)))
        return signalPassFailure();
    markAnalysesPreserved<ScheduleFigures>();
  }

  LogicalResult plan(ArrayRef<ScheduleOp> schedules);
};

/// Schedules with the same micro-batches share a reference, which adds the
/// gradients of sharded stages in the same units.
LogicalResult checkUnits(ArrayRef<ScheduleOp> schedules) {
  std::map<int64_t, std::pair<ScheduleOp, Units>> first;
  for (ScheduleOp schedule : schedules) {
    PlanOp plan = schedule.lookupPlan();
    if (!plan.getHomes().areSharded())
      continue;
    FailureOr<Problem> problem = buildProblem(schedule);
    if (failed(problem))
      return failure();
    FailureOr<ExpandedSchedule> expanded = expandSchedule(schedule, *problem);
    if (failed(expanded))
      return failure();
    Units units = unitsOf(*problem, expanded->schedule);
    auto [it, isNew] =
        first.try_emplace(plan.getMicrobatches(), schedule, units);
    if (!isNew && it->second.second != units)
      return schedule.emitError()
                 .append("schedule @", schedule.getSymName(),
                         " reduces the gradients of sharded stages in other "
                         "units than @",
                         it->second.first.getSymName(),
                         ", so they cannot share a reference; compile them "
                         "apart, or write the same units")
                 .attachNote(it->second.first.getLoc())
             << "@" << it->second.first.getSymName() << " is here";
  }
  return success();
}

/// The programs of an executable run over the same arenas.
LogicalResult PlanMemory::plan(ArrayRef<ScheduleOp> schedules) {
  if (schedules.size() > 1 && failed(checkUnits(schedules)))
    return failure();
  std::vector<LoweredSchedule> lowered;
  std::vector<SmallVector<ProgramOp>> ops;
  for (ScheduleOp schedule : schedules) {
    SmallVector<ProgramOp> programs;
    for (ProgramOp op : getOperation().getOps<ProgramOp>())
      if (op.lookupSchedule() == schedule)
        programs.push_back(op);
    if (programs.empty())
      continue;
    FailureOr<Problem> problem = buildProblem(schedule);
    if (failed(problem))
      return failure();
    LoweredSchedule each{
        getAnalysis<ScheduleFigures>().of(schedule), std::move(*problem), {}};
    for (ProgramOp op : programs) {
      Problem executing = executingProblem(op.getKind(), each.problem);
      FailureOr<ExpandedProgram> expanded = expandProgram(op, executing);
      if (failed(expanded))
        return failure();
      each.programs.push_back({loweredKind(op.getKind()), std::move(executing),
                               Schedule(), std::move(expanded->program)});
    }
    lowered.push_back(std::move(each));
    ops.push_back(std::move(programs));
  }
  if (lowered.empty())
    return success();
  if (std::optional<MemoryFault> wrong = planMemory(lowered))
    return ops[wrong->schedule][wrong->program].emitError() << describe(
               wrong->fault,
               lowered[wrong->schedule].programs[wrong->program].executing);
  for (auto [programs, each] : llvm::zip_equal(ops, lowered))
    for (auto [op, planned] : llvm::zip_equal(programs, each.programs)) {
      // Its ops, and with them their locations, stay.
      if (op.getArenaAttr())
        op.setArenaAttr(DenseI64ArrayAttr::get(op.getContext(),
                                               planned.program.arenaBytes));
      else
        foldProgram(planned.program, planned.executing, op);
    }
  return success();
}

} // namespace
} // namespace rondo::pipe
