//===- PlanMemory.cpp - Give every buffer a compile-time slot -------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "dialect/OverlapRules.h"
#include "lowering/ReferenceOrders.h"
#include "passes/Passes.h"
#include "plans/CheckedSchedule.h"
#include "plans/PlanFigures.h"
#include "plans/Programs.h"
#include "plans/Threads.h"

#include <algorithm>
#include <atomic>
#include <map>
#include <string>

using namespace mlir;

namespace rondo::pipe {
#define GEN_PASS_DEF_PLANMEMORY
#include "passes/Passes.h.inc"
#include "schedule/rules/ProgramRules.h"

namespace {

struct PlanMemory : impl::PlanMemoryBase<PlanMemory> {
  void runOnOperation() override {
    for (const SmallVector<ScheduleOp, 0> &schedules :
         executables(getOperation()))
      if (failed(plan(schedules)))
        return signalPassFailure();
    // Schedules stay as they are.
    markAnalysesPreserved<CheckedSchedule, ScheduleFigures>();
  }

  LogicalResult plan(ArrayRef<ScheduleOp> schedules);
};

/// `2 and 4 micro-batches`.
std::string countsOf(ArrayRef<int32_t> counts) {
  std::string text;
  for (auto [i, count] : llvm::enumerate(counts))
    text += (i == 0                   ? ""
             : i + 1 == counts.size() ? " and "
                                      : ", ") +
            std::to_string(count);
  return text +
         (counts == ArrayRef<int32_t>(1) ? " micro-batch" : " micro-batches");
}

/// Schedules with the same micro-batches share a reference, which adds the
/// gradients of sharded stages in the same units.
LogicalResult checkUnits(ArrayRef<ScheduleOp> schedules) {
  std::map<int64_t, std::pair<ScheduleOp, Units>> first;
  for (ScheduleOp schedule : schedules) {
    PlanOp plan = schedule.lookupPlan();
    if (!plan.getReplicas().areSharded())
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
    if (isNew)
      continue;
    auto &[other, otherUnits] = it->second;
    const auto at =
        std::mismatch(units.begin(), units.end(), otherUnits.begin());
    if (at.first == units.end())
      continue;
    const Replica &replica =
        problem->replicas[int32_t(at.first - units.begin())];
    return schedule.emitError()
               .append("schedule @", schedule.getSymName(),
                       " reduces the gradients of stage @",
                       plan.getStages()[replica.stage].getSymName(), " after ",
                       countsOf(*at.first), ", and @", other.getSymName(),
                       " after ", countsOf(*at.second),
                       ", so they cannot share a reference; compile them "
                       "apart, or write the same order of gradients and "
                       "reductions in both")
               .attachNote(other.getLoc())
           << "@" << other.getSymName() << " is here";
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
    for (ProgramOp op : programs)
      if (overlaps(op) && failed(checkLoopsHaveNoAttributes(op)))
        return failure();
    if (programs.empty())
      continue;
    FailureOr<Problem> problem = buildProblem(schedule);
    if (failed(problem))
      return failure();
    LoweredSchedule each{getChildAnalysis<ScheduleFigures>(schedule).figures(),
                         std::move(*problem),
                         {}};
    each.programs.resize(programs.size());
    std::atomic<bool> isSound{true};
    fromTheLast(onThreadsOf(&getContext()), programs.size(), [&](size_t i) {
      LoweredProgram &program = each.programs[i];
      program.kind = loweredKind(programs[i].getKind());
      program.executing = executingProblem(programs[i].getKind(), each.problem);
      FailureOr<ExpandedProgram> expanded =
          expandProgram(programs[i], program.executing);
      if (failed(expanded)) {
        isSound = false;
        return;
      }
      program.program = std::move(expanded->program);
      if (!program.program.arenaBytes.empty())
        return;
      if (auto fault = checkChannels(program.executing, program.program)) {
        programs[i].emitError() << describe(*fault, program.executing);
        isSound = false;
      }
    });
    if (!isSound)
      return failure();
    lowered.push_back(std::move(each));
    ops.push_back(std::move(programs));
  }
  if (lowered.empty())
    return success();
  if (std::optional<MemoryFault> wrong =
          planMemory(lowered, onThreadsOf(&getContext())))
    return ops[wrong->schedule][wrong->program].emitError() << describe(
               wrong->fault,
               lowered[wrong->schedule].programs[wrong->program].executing);
  for (auto [programs, each] : llvm::zip_equal(ops, lowered))
    for (auto &&[op, planned] : llvm::zip_equal(programs, each.programs))
      // Its ops, and with them their locations, stay.
      if (op.getArenaAttr())
        setArenas(planned.program, op);
      // Iterations that overlap are planned as a window. The body is written
      // again, so that what runs is what the window shows.
      else if (planned.executing.iterations > 1)
        foldProgram(planned.program, planned.executing, op);
      else
        placeProgram(planned.program, planned.executing, op);
  return success();
}

} // namespace
} // namespace rondo::pipe
