//===- InsertCommunication.cpp - Write the programs of a schedule ---------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "lowering/MemoryPlan.h"
#include "passes/CheckedSchedules.h"
#include "passes/KnownPrograms.h"
#include "passes/Passes.h"
#include "passes/Phases.h"
#include "passes/PlanFigures.h"
#include "passes/Threads.h"

#include "mlir/IR/Builders.h"

#include <utility>
#include <vector>

using namespace mlir;

namespace rondo::pipe {
#define GEN_PASS_DEF_INSERTCOMMUNICATION
#include "passes/Passes.h.inc"
#include "schedule/rules/ProgramRules.h"

namespace {

StringRef suffixOf(rondo::ProgramKind kind) {
  using rondo::ProgramKind;
  switch (kind) {
  case ProgramKind::Sequential:
    return "sequential";
  case ProgramKind::Evaluation:
    return "evaluation";
  case ProgramKind::Pipeline:
    break;
  }
  return "lowered";
}

struct InsertCommunication
    : impl::InsertCommunicationBase<InsertCommunication> {
  void runOnOperation() override {
    SmallVector<ScheduleOp> schedules(getOperation().getOps<ScheduleOp>());
    for (ScheduleOp schedule : schedules)
      if (failed(lower(schedule)))
        return signalPassFailure();
    markAnalysesPreserved<CheckedSchedules, ScheduleFigures,
                          InsertedPrograms>();
  }

  LogicalResult lower(ScheduleOp schedule);
  void write(ScheduleOp schedule, std::vector<LoweredProgram> &lowered);
};

/// Of those kinds no program is written.
SmallVector<ProgramKind> kindsWritten(ScheduleOp schedule) {
  SmallVector<ProgramKind> kinds;
  auto module = schedule->getParentOfType<ModuleOp>();
  for (ProgramOp program : module.getOps<ProgramOp>())
    if (program.lookupSchedule() == schedule)
      kinds.push_back(program.getKind());
  return kinds;
}

LogicalResult checkIsFree(ScheduleOp schedule, rondo::ProgramKind kind) {
  const std::string name = programName(schedule, kind);
  Operation *other = SymbolTable::lookupSymbolIn(schedule->getParentOp(), name);
  if (!other)
    return success();
  return schedule.emitError()
             .append("schedule @", schedule.getSymName(),
                     " is lowered to a program @", name,
                     ", but that name is taken")
             .attachNote(other->getLoc())
         << "@" << name << " is here";
}

/// How a program runs is what planning its memory asks first. It is found out
/// here, while ops are written: that keeps all threads busy, which simulating
/// one program does not.
void InsertCommunication::write(ScheduleOp schedule,
                                std::vector<LoweredProgram> &lowered) {
  struct Written {
    ProgramOp op;
    LoweredProgram *lowered;
    ProgramSimulation simulation;
  };
  OpBuilder builder(schedule);
  builder.setInsertionPointAfter(schedule);
  std::vector<Written> programs;
  for (LoweredProgram &program : lowered) {
    // Long, and needed no more.
    program.tasks = Schedule();
    programs.push_back({createProgram(builder, schedule.getLoc(),
                                      programName(schedule, program.kind),
                                      schedule, dialectKind(program.kind)),
                        &program, ProgramSimulation()});
  }
  // The longest simulation first, then the ops of a program of one rank, which
  // is for one thread.
  const size_t count = programs.size();
  const ForEach forEach = onThreadsOf(&getContext());
  forEach(2 * count, [&](size_t i) {
    Written &each = programs[i < count ? count - 1 - i : i - count];
    const Problem &executing = each.lowered->executing;
    if (i < count)
      each.simulation = simulateWithoutPlaces(executing, each.lowered->program);
    else
      foldProgram(each.lowered->program, executing, each.op);
  });
  auto &inserted = getAnalysis<InsertedPrograms>();
  for (Written &each : programs)
    inserted.add(each.op, {std::move(each.lowered->program),
                           std::move(each.simulation)});
}

LogicalResult InsertCommunication::lower(ScheduleOp schedule) {
  FailureOr<Problem> problem = buildProblem(schedule);
  if (failed(problem))
    return failure();
  const SmallVector<ProgramKind> written = kindsWritten(schedule);
  auto isWritten = [&](rondo::ProgramKind kind) {
    return llvm::is_contained(written, dialectKind(kind));
  };
  for (rondo::ProgramKind kind :
       {rondo::ProgramKind::Sequential, rondo::ProgramKind::Evaluation,
        rondo::ProgramKind::Pipeline})
    if (!isWritten(kind) && failed(checkIsFree(schedule, kind)))
      return failure();
  auto &analysis = getAnalysis<ScheduleFigures>();
  const PlanFigures &figures = analysis.of(schedule);
  const VersionedWindow *window = analysis.window(schedule);
  const auto collectives =
      figures.needsOf(rondo::ProgramKind::Pipeline).collectives;
  const Schedule *checked = nullptr;
  const Simulation *simulation = nullptr;
  auto known = getCachedAnalysis<CheckedSchedules>();
  if (known)
    if (const CheckedSchedule *found = known->get().of(schedule)) {
      checked = &found->schedule;
      simulation = found->hasTimes() ? &found->simulation : nullptr;
    }
  // Its window has been expanded, and keeps all rules but these.
  if (!checked && window && !checkMemory(*problem, window->schedule) &&
      !checkSteps(*problem, window->schedule, collectives))
    checked = &window->schedule;
  Schedule own;
  if (!checked) {
    FailureOr<ExpandedSchedule> expanded = expandSchedule(schedule, *problem);
    if (failed(expanded))
      return failure();
    std::optional<Fault> wrong = checkSchedule(*problem, expanded->schedule);
    if (!wrong)
      wrong = checkSteps(*problem, expanded->schedule, collectives);
    if (wrong)
      return emitFault(*wrong, *expanded, *problem, schedule);
    own = std::move(expanded->schedule);
  }
  auto lowered = lowerSchedule(figures, *problem, checked ? *checked : own,
                               onThreadsOf(&getContext()), simulation);
  if (!lowered)
    return schedule.emitError() << describe(lowered.fault(), *problem);
  if (known)
    known->get().forgetTimes(schedule);
  auto &programs = *lowered;
  llvm::erase_if(programs, [&](const LoweredProgram &program) {
    return isWritten(program.kind);
  });
  write(schedule, programs);
  return success();
}

} // namespace

std::string programName(ScheduleOp schedule, rondo::ProgramKind kind) {
  return (schedule.getSymName() + "_" + suffixOf(kind)).str();
}

} // namespace rondo::pipe
