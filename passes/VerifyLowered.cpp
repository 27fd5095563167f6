//===- VerifyLowered.cpp - Rules L1 to L6 ---------------------------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "lowering/Lowering.h"
#include "passes/Passes.h"
#include "plans/CheckedSchedule.h"
#include "plans/PlanFigures.h"
#include "plans/ProgramValue.h"
#include "plans/Programs.h"
#include "plans/Threads.h"
#include "schedule/bounds/Shortfall.h"

#include "llvm/ADT/STLExtras.h"
#include "llvm/ADT/SmallPtrSet.h"

using namespace mlir;

namespace rondo::pipe {
#define GEN_PASS_DEF_VERIFYLOWERED
#include "passes/Passes.h.inc"

namespace {

/// A program that is being verified.
struct LoweredOp {
  ProgramOp op;
  /// The program that the op states.
  const ProgramValue *value = nullptr;
  /// The tasks that the program must contain, as the op of its schedule lists
  /// them; null if that or the program cannot be read, which has been reported.
  const Schedule *tasks = nullptr;
  /// The tasks if they are not the order of the schedule.
  Schedule ownTasks;
  std::optional<Fault> fault;
};

struct VerifyLowered : impl::VerifyLoweredBase<VerifyLowered> {
  explicit VerifyLowered(RunControl *control = nullptr) : control(control) {}

  void runOnOperation() override;
  void findFaults(MutableArrayRef<LoweredOp> programs);
  void emitFault(const LoweredOp &each);
  void explainArena(InFlightDiagnostic &error, ProgramOp op, int32_t rank);

  RunControl *control;
};

/// Reads and checks the programs of one schedule.
void VerifyLowered::findFaults(MutableArrayRef<LoweredOp> programs) {
  ScheduleOp schedule = programs.front().op.lookupSchedule();
  const auto &checked = getChildAnalysis<CheckedSchedule>(schedule);
  // Its reason has been reported. Programs then have no problem to be read by.
  if (!checked.isReadable())
    return;
  const auto &figures = getChildAnalysis<ScheduleFigures>(schedule).figures();
  const ForEach forEach = onThreadsOf(&getContext());
  std::vector<AnalysisManager> analyses;
  for (LoweredOp &each : programs)
    analyses.push_back(getAnalysisManager().nest(each.op));
  fromTheLast(forEach, programs.size(), [&](size_t i) {
    LoweredOp &each = programs[i];
    each.value = &analyses[i].getAnalysis<ProgramValue>();
    if (!each.value->isReadable())
      return;
    each.tasks = &checked.order();
    if (each.op.getKind() == ProgramKind::Pipeline &&
        !checked.order().hasCounts())
      return;
    each.ownTasks =
        tasksOf(loweredKind(each.op.getKind()), each.value->executing(),
                checked.problem(), checked.order());
    each.tasks = &each.ownTasks;
  });
  std::vector<CheckedProgram> results;
  for (const LoweredOp &each : programs)
    if (each.tasks)
      results.push_back({loweredKind(ProgramOp(each.op).getKind()),
                         &each.value->executing(), each.tasks,
                         &each.value->program(), &figures, std::nullopt});
  checkLowered(results, forEach);
  auto next = results.begin();
  for (LoweredOp &each : programs)
    if (each.tasks)
      each.fault = std::move((next++)->fault);
}

/// Says which device it is, and what fills the arena.
void VerifyLowered::explainArena(InFlightDiagnostic &error, ProgramOp op,
                                 int32_t rank) {
  std::vector<LoweredProgram> programs;
  for (const SmallVector<ScheduleOp, 0> &schedules :
       executables(getOperation())) {
    if (!llvm::is_contained(schedules, op.lookupSchedule()))
      continue;
    for (ProgramOp other : getOperation().getOps<ProgramOp>()) {
      if (!llvm::is_contained(schedules, other.lookupSchedule()))
        continue;
      const auto &value = getChildAnalysis<ProgramValue>(other);
      if (value.isReadable())
        programs.push_back({loweredKind(other.getKind()), value.executing(),
                            Schedule(), value.program(), ProgramSimulation()});
    }
  }
  PlanOp plan = op.lookupPlan();
  error.attachNote(plan.lookupCluster().getDevices()[rank].getLoc())
      << "this is the device; the arena holds "
      << describeArena(programs, rank);
  if (const std::string options = optionsForOtherPlans(plan); !options.empty())
    error.attachNote(plan.getLoc())
        << "`rondo search FILE" << options << "` searches for a plan that fits";
}

void VerifyLowered::emitFault(const LoweredOp &each) {
  ProgramOp op = each.op;
  InFlightDiagnostic error = pipe::emitFault(*each.fault, each.value->program(),
                                             each.value->executing(), op);
  if (each.fault->kind != FaultKind::ArenaOverCap)
    return;
  const auto &checked = getChildAnalysis<CheckedSchedule>(op.lookupSchedule());
  if (control && findShortfall(checked.problem()))
    control->noOrderFits = true;
  explainArena(error, op, each.fault->rank);
}

void VerifyLowered::runOnOperation() {
  std::vector<LoweredOp> programs;
  for (ProgramOp op : getOperation().getOps<ProgramOp>())
    programs.emplace_back().op = op;
  MutableArrayRef<LoweredOp> left(programs);
  while (!left.empty()) {
    ScheduleOp schedule = left.front().op.lookupSchedule();
    const auto *end = llvm::find_if(left, [&](LoweredOp &each) {
      return each.op.lookupSchedule() != schedule;
    });
    const size_t count = end - left.begin();
    findFaults(left.take_front(count));
    left = left.drop_front(count);
  }
  // The programs of a schedule share its arena and its faults, so only the
  // first error is emitted.
  llvm::SmallPtrSet<Operation *, 4> faulty;
  for (LoweredOp &each : programs) {
    if (each.tasks && !each.fault)
      continue;
    if (faulty.insert(each.op.lookupSchedule()).second && each.fault)
      emitFault(each);
    signalPassFailure();
  }
  markAllAnalysesPreserved();
}

} // namespace

std::unique_ptr<Pass> createVerifyLowered(RunControl *control) {
  return std::make_unique<VerifyLowered>(control);
}

} // namespace rondo::pipe
