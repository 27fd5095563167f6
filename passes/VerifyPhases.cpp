//===- VerifyPhases.cpp - The rules at the borders of phases --------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "lowering/Lowering.h"
#include "passes/CheckedSchedules.h"
#include "passes/Passes.h"
#include "passes/Phases.h"
#include "passes/PlanFigures.h"
#include "passes/Promises.h"
#include "passes/Threads.h"
#include "schedule/Repeating.h"
#include "schedule/Shortfall.h"

#include "llvm/ADT/STLExtras.h"
#include "llvm/ADT/SmallPtrSet.h"
#include "llvm/ADT/StringMap.h"

using namespace mlir;

namespace rondo::pipe {
#define GEN_PASS_DEF_VERIFYPARTITIONED
#define GEN_PASS_DEF_VERIFYSCHEDULED
#define GEN_PASS_DEF_VERIFYLOWERED
#include "passes/Passes.h.inc"

Problem executingProblem(ProgramKind kind, const Problem &problem) {
  return rondo::executingProblem(loweredKind(kind), problem);
}

static constexpr StringLiteral noOrderFitsMark = "no order fits";

void markNoOrderFits(InFlightDiagnostic &error) {
  if (Diagnostic *diagnostic = error.getUnderlyingDiagnostic())
    diagnostic->getMetadata().push_back(DiagnosticArgument(noOrderFitsMark));
}

bool saysNoOrderFits(Diagnostic &diagnostic) {
  return llvm::any_of(
      diagnostic.getMetadata(), [](const DiagnosticArgument &mark) {
        return mark.getKind() ==
                   DiagnosticArgument::DiagnosticArgumentKind::String &&
               mark.getAsString() == noOrderFitsMark;
      });
}

std::vector<SmallVector<ScheduleOp, 0>> executables(ModuleOp module) {
  std::vector<SmallVector<ScheduleOp, 0>> result;
  llvm::SmallPtrSet<Operation *, 8> named;
  for (ExecutableOp op : module.getOps<ExecutableOp>()) {
    result.push_back(op.lookupSchedules());
    for (ScheduleOp schedule : result.back())
      named.insert(schedule);
  }
  for (ScheduleOp schedule : module.getOps<ScheduleOp>())
    if (!named.contains(schedule))
      result.push_back({schedule});
  return result;
}

namespace {

//===----------------------------------------------------------------------===//
// Partitioned: P1, P3 to P5
//===----------------------------------------------------------------------===//

/// P1: every layer in exactly one stage, stages in model order.
LogicalResult verifyLayers(PlanOp plan) {
  ModelOp model = plan.lookupModel();
  SmallVector<LayerOp> layers = model.getLayers();
  size_t next = 0;
  llvm::StringMap<StageOp> placed;
  for (StageOp stage : plan.getStages())
    for (FlatSymbolRefAttr name :
         stage.getLayers().getAsRange<FlatSymbolRefAttr>()) {
      auto [it, isNew] = placed.try_emplace(name.getValue(), stage);
      if (!isNew) {
        InFlightDiagnostic error =
            stage.emitError() << "layer " << name << " is in two stages [P1]";
        error.attachNote(it->second.getLoc()) << "it is here as well";
        return error;
      }
      if (next < layers.size() &&
          layers[next].getSymName() == name.getValue()) {
        ++next;
        continue;
      }
      InFlightDiagnostic error = stage.emitError()
                                 << "layer " << name << " comes where ";
      if (next < layers.size())
        error << "@" << layers[next].getSymName();
      else
        error << "no more layer";
      error << " is due: stages are consecutive pieces in model order [P1]";
      error.attachNote(model.getLoc()) << "this is the model";
      return error;
    }
  if (next == layers.size())
    return success();
  InFlightDiagnostic error = plan.emitError()
                             << "layer @" << layers[next].getSymName()
                             << " is in no stage [P1]";
  error.attachNote(layers[next].getLoc()) << "this is the layer";
  return error;
}

/// P4: only a loss, or a layer that computes nothing, may end the graph. Takes
/// plans for which P1 holds.
LogicalResult verifyEnds(PlanOp plan) {
  llvm::StringMap<LayerOp> layers;
  for (LayerOp layer : plan.lookupModel().getLayers())
    layers[layer.getSymName()] = layer;
  SmallVector<StageOp, 0> stages = plan.getStages();
  std::vector<bool> isTaken(stages.size());
  for (const std::vector<int32_t> &inputs : plan.getInputs())
    for (int32_t input : inputs)
      isTaken[input] = true;
  for (auto [s, stage] : llvm::enumerate(stages)) {
    LayerOp last = layers.lookup(
        cast<FlatSymbolRefAttr>(*std::prev(stage.getLayers().end()))
            .getValue());
    if (isTaken[s] || last.hasLoss() || last.getSyntheticAttr())
      continue;
    InFlightDiagnostic error = stage.emitError()
                               << "stage @" << stage.getSymName()
                               << " feeds no other stage, but its last layer @"
                               << last.getSymName() << " writes no loss [P4]";
    Diagnostic &note = error.attachNote(last.getLoc())
                       << "layer @" << last.getSymName() << " is here";
    if (s + 1 == stages.size())
      note << "; if its body writes the loss, add loss = true";
    else
      note << "; a later stage takes its output with from [@"
           << stage.getSymName() << "]";
    return error;
  }
  return success();
}

/// P5: where stages are sharded, some stage has state.
LogicalResult verifyShardedState(PlanOp plan) {
  for (StageOp stage : plan.getStages())
    if (stage.getSharded() && !declaresWeights(plan))
      return stage.emitError()
             << "stage @" << stage.getSymName()
             << " is sharded, but no layer of the plan has weights; state the "
                "weight_bytes of its layers, or leave `sharded` out [P5]";
  return success();
}

struct VerifyPartitioned : impl::VerifyPartitionedBase<VerifyPartitioned> {
  void runOnOperation() override {
    // P2 is local: the plan's verifier has checked it. P3 is what building the
    // problem checks.
    for (PlanOp plan : getOperation().getOps<PlanOp>())
      if (failed(verifyLayers(plan)) || failed(verifyEnds(plan)) ||
          failed(buildProblem(plan)) || failed(verifyShardedState(plan)))
        signalPassFailure();
    markAllAnalysesPreserved();
  }
};

//===----------------------------------------------------------------------===//
// Scheduled: S1 to S8
//===----------------------------------------------------------------------===//

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
                         "time")
                 .attachNote(plan.getLoc())
             << "this is the plan, whose target is cuda";
    FailureOr<Problem> problem = buildProblem(schedule);
    if (failed(problem))
      return failure();
    FailureOr<ExpandedSchedule> expanded = expandSchedule(schedule, *problem);
    if (failed(expanded))
      return failure();
    Simulation simulation;
    std::optional<Fault> fault = checkSchedule(*problem, expanded->schedule,
                                               &simulation, /*keepTimes=*/true);
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

//===----------------------------------------------------------------------===//
// Lowered: L1 to L5
//===----------------------------------------------------------------------===//

/// The tasks that a program must hold.
FailureOr<Schedule> promisedSchedule(ProgramOp op, const Problem &problem,
                                     const Problem &executing) {
  ExpandedSchedule promising;
  const bool readsSchedule =
      op.getKind() == ProgramKind::Pipeline ||
      (op.getKind() == ProgramKind::Sequential && problem.homes.areSharded());
  if (readsSchedule) {
    FailureOr<ExpandedSchedule> expanded =
        expandSchedule(op.lookupSchedule(), problem);
    if (failed(expanded))
      return failure();
    promising = std::move(*expanded);
  }
  return tasksOf(loweredKind(op.getKind()), executing, problem,
                 promising.schedule);
}

FailureOr<LoweredProgram> expandLowered(ProgramOp op, const Problem &problem) {
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
  /// What it is if it is faulty or being checked.
  LoweredProgram lowered;
  std::optional<Fault> fault;
  /// Errors about what it says have been emitted.
  bool isUnreadable = false;
};

struct VerifyLowered : impl::VerifyLoweredBase<VerifyLowered> {
  void runOnOperation() override;
};

/// Checks the programs of one schedule.
void findFaults(MutableArrayRef<LoweredOp> programs) {
  MLIRContext *context = programs.front().op.getContext();
  fromTheLast(onThreadsOf(context), programs.size(), [&](size_t i) {
    LoweredOp &each = programs[i];
    FailureOr<Problem> problem = buildProblem(each.op.lookupSchedule());
    FailureOr<LoweredProgram> lowered = failure();
    if (succeeded(problem))
      lowered = expandLowered(each.op, *problem);
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
    if (!each.fault)
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
  std::vector<LoweredOp> programs;
  for (ProgramOp op : getOperation().getOps<ProgramOp>())
    programs.push_back({op, &figures.of(op.lookupSchedule()), {}, {}, false});
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
