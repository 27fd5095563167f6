//===- VerifyLowered.cpp - Rules L1 to L6 ---------------------------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "lowering/Lowering.h"
#include "passes/KnownPrograms.h"
#include "passes/Passes.h"
#include "passes/Phases.h"
#include "passes/PlanFigures.h"
#include "passes/Threads.h"
#include "schedule/bounds/Shortfall.h"

#include "llvm/ADT/STLExtras.h"
#include "llvm/ADT/SmallPtrSet.h"

using namespace mlir;

namespace rondo::pipe {
#define GEN_PASS_DEF_VERIFYLOWERED
#include "passes/Passes.h.inc"

namespace {

/// The tasks that a program must hold, as its schedule's op lists them.
FailureOr<Schedule> promisedSchedule(ProgramOp op, const Problem &problem,
                                     const Problem &executing) {
  const auto kind = loweredKind(op.getKind());
  ScheduleOp schedule = op.lookupSchedule();
  ExpandedSchedule promising;
  const bool readsSchedule = op.getKind() == ProgramKind::Pipeline ||
                             (op.getKind() == ProgramKind::Sequential &&
                              problem.replicas.areSharded());
  if (readsSchedule) {
    FailureOr<ExpandedSchedule> expanded = expandSchedule(schedule, problem);
    if (failed(expanded))
      return failure();
    promising = std::move(*expanded);
  }
  return tasksOf(kind, executing, problem, promising.schedule);
}

/// Fills `actions`, if it is not null, with what each op writes.
FailureOr<LoweredProgram>
expandLowered(ProgramOp op, const Problem &problem,
              llvm::DenseMap<Operation *, Action> *actions = nullptr) {
  LoweredProgram lowered;
  lowered.kind = loweredKind(op.getKind());
  lowered.executing = executingProblem(op.getKind(), problem);
  FailureOr<ExpandedProgram> expanded = expandProgram(op, lowered.executing);
  if (failed(expanded))
    return failure();
  FailureOr<Schedule> promised =
      promisedSchedule(op, problem, lowered.executing);
  if (failed(promised))
    return failure();
  lowered.tasks = std::move(*promised);
  lowered.program = std::move(expanded->program);
  if (actions)
    *actions = std::move(expanded->actions);
  return lowered;
}

/// Says which device it is, and what fills the arena.
void explainArena(InFlightDiagnostic &error, ProgramOp op, int32_t rank) {
  auto module = op->getParentOfType<ModuleOp>();
  std::vector<LoweredProgram> programs;
  for (const SmallVector<ScheduleOp, 0> &schedules : executables(module)) {
    if (!llvm::is_contained(schedules, op.lookupSchedule()))
      continue;
    for (ProgramOp other : module.getOps<ProgramOp>()) {
      if (!llvm::is_contained(schedules, other.lookupSchedule()))
        continue;
      FailureOr<Problem> problem = buildProblem(other.lookupSchedule());
      if (failed(problem))
        continue;
      if (auto lowered = expandLowered(other, *problem); succeeded(lowered))
        programs.push_back(std::move(*lowered));
    }
  }
  PlanOp plan = op.lookupPlan();
  error.attachNote(plan.lookupCluster().getDevices()[rank].getLoc())
      << "this is the device; the arena holds "
      << describeArena(programs, rank);
  if (const std::string options = optionsForOtherPlans(plan); !options.empty())
    error.attachNote(plan.getLoc())
        << "`rondo search FILE" << options << "` looks for a plan that fits";
}

/// A program that is being verified.
struct LoweredOp {
  ProgramOp op;
  const PlanFigures *plan;
  LoweredProgram lowered;
  /// What its ops write.
  llvm::DenseMap<Operation *, Action> actions;
  std::optional<Fault> fault;
  /// Errors about what it says have been emitted.
  bool isUnreadable = false;
};

struct VerifyLowered : impl::VerifyLoweredBase<VerifyLowered> {
  void runOnOperation() override;
};

/// Checks the programs of one schedule and hands those without faults on.
void findFaults(MutableArrayRef<LoweredOp> programs,
                VerifiedPrograms &verified) {
  MLIRContext *context = programs.front().op.getContext();
  fromTheLast(onThreadsOf(context), programs.size(), [&](size_t i) {
    LoweredOp &each = programs[i];
    FailureOr<Problem> problem = buildProblem(each.op.lookupSchedule());
    FailureOr<LoweredProgram> lowered = failure();
    if (succeeded(problem))
      lowered = expandLowered(each.op, *problem, &each.actions);
    each.isUnreadable = failed(lowered);
    if (!each.isUnreadable)
      each.lowered = std::move(*lowered);
  });
  std::vector<CheckedProgram> checked;
  for (const LoweredOp &each : programs)
    if (!each.isUnreadable)
      checked.push_back({&each.lowered, each.plan, std::nullopt});
  checkLowered(checked, onThreadsOf(context));
  auto next = checked.begin();
  for (LoweredOp &each : programs) {
    if (each.isUnreadable)
      continue;
    each.fault = std::move((next++)->fault);
    if (each.fault)
      continue;
    verified.add(each.op,
                 {std::move(each.lowered.program), std::move(each.actions)});
    each.lowered = {};
  }
}

void emitFault(const LoweredOp &each) {
  ProgramOp op = each.op;
  InFlightDiagnostic error =
      emitFault(*each.fault, each.lowered.program, each.lowered.executing, op);
  if (each.fault->kind != FaultKind::ArenaOverCap)
    return;
  FailureOr<Problem> problem = buildProblem(op.lookupSchedule());
  if (succeeded(problem) && findShortfall(*problem))
    markNoOrderFits(error);
  explainArena(error, op, each.fault->rank);
}

void VerifyLowered::runOnOperation() {
  auto &figures = getAnalysis<ScheduleFigures>();
  auto &verified = getAnalysis<VerifiedPrograms>();
  std::vector<LoweredOp> programs;
  for (ProgramOp op : getOperation().getOps<ProgramOp>())
    programs.push_back({op, &figures.of(op.lookupSchedule()), LoweredProgram(),
                        llvm::DenseMap<Operation *, Action>(), std::nullopt,
                        false});
  MutableArrayRef<LoweredOp> left(programs);
  while (!left.empty()) {
    ScheduleOp schedule = left.front().op.lookupSchedule();
    const auto *end = llvm::find_if(left, [&](LoweredOp &each) {
      return each.op.lookupSchedule() != schedule;
    });
    const size_t count = end - left.begin();
    findFaults(left.take_front(count), verified);
    left = left.drop_front(count);
  }
  // The programs of a schedule share its arena and its faults, so the first
  // error says it all.
  llvm::SmallPtrSet<Operation *, 4> faulty;
  for (LoweredOp &each : programs) {
    if (!each.fault && !each.isUnreadable)
      continue;
    if (faulty.insert(each.op.lookupSchedule()).second && each.fault)
      emitFault(each);
    signalPassFailure();
  }
  markAllAnalysesPreserved();
}

} // namespace
} // namespace rondo::pipe
