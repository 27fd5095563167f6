//===- InsertCommunication.cpp - Write the programs of a schedule ---------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "lowering/Lowering.h"
#include "passes/Passes.h"
#include "plans/CheckedSchedule.h"
#include "plans/PlanFigures.h"
#include "plans/Programs.h"
#include "plans/Threads.h"

#include "mlir/IR/Builders.h"

#include <vector>

using namespace mlir;

namespace rondo::pipe {
#define GEN_PASS_DEF_INSERTCOMMUNICATION
#include "passes/Passes.h.inc"

namespace {

struct InsertCommunication
    : impl::InsertCommunicationBase<InsertCommunication> {
  void runOnOperation() override {
    SmallVector<ScheduleOp> schedules(getOperation().getOps<ScheduleOp>());
    for (ScheduleOp schedule : schedules)
      if (failed(lower(schedule)))
        return signalPassFailure();
    // Schedules stay as they are.
    markAnalysesPreserved<CheckedSchedule, ScheduleFigures>();
  }

  LogicalResult lower(ScheduleOp schedule);
  void write(ScheduleOp schedule, std::vector<LoweredProgram> &lowered);
};

/// Program kinds that already exist and are not written again.
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

/// Writes the ops of the programs, on all threads.
void InsertCommunication::write(ScheduleOp schedule,
                                std::vector<LoweredProgram> &lowered) {
  OpBuilder builder(schedule);
  builder.setInsertionPointAfter(schedule);
  std::vector<ProgramOp> ops;
  for (const LoweredProgram &program : lowered)
    ops.push_back(createProgram(builder, schedule.getLoc(),
                                programName(schedule, program.kind), schedule,
                                dialectKind(program.kind)));
  fromTheLast(onThreadsOf(&getContext()), ops.size(), [&](size_t i) {
    foldProgram(lowered[i].program, lowered[i].executing, ops[i]);
  });
}

LogicalResult InsertCommunication::lower(ScheduleOp schedule) {
  const SmallVector<ProgramKind> written = kindsWritten(schedule);
  auto isWritten = [&](rondo::ProgramKind kind) {
    return llvm::is_contained(written, dialectKind(kind));
  };
  for (rondo::ProgramKind kind :
       {rondo::ProgramKind::Sequential, rondo::ProgramKind::Evaluation,
        rondo::ProgramKind::Pipeline})
    if (!isWritten(kind) && failed(checkIsFree(schedule, kind)))
      return failure();
  const auto &checked = getChildAnalysis<CheckedSchedule>(schedule);
  if (!checked.isReadable())
    return failure();
  if (checked.fault())
    return checked.emitFault();
  const auto &figures = getChildAnalysis<ScheduleFigures>(schedule).figures();
  auto lowered =
      lowerSchedule(figures, checked.problem(), checked.order(),
                    onThreadsOf(&getContext()), &checked.simulation());
  if (!lowered)
    return schedule.emitError() << describe(lowered.fault(), checked.problem());
  std::vector<LoweredProgram> &programs = *lowered;
  llvm::erase_if(programs, [&](const LoweredProgram &program) {
    return isWritten(program.kind);
  });
  write(schedule, programs);
  return success();
}

} // namespace
} // namespace rondo::pipe
