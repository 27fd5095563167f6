//===- VerifyPhases.cpp - The rules at the borders of phases --------------===//

#include "passes/Communication.h"
#include "passes/Passes.h"
#include "passes/Phases.h"

#include "llvm/ADT/STLExtras.h"
#include "llvm/ADT/StringMap.h"

using namespace mlir;

namespace rondo::pipe {
#define GEN_PASS_DEF_VERIFYPARTITIONED
#define GEN_PASS_DEF_VERIFYSCHEDULED
#define GEN_PASS_DEF_VERIFYLOWERED
#include "passes/Passes.h.inc"

Problem executingProblem(ProgramKind kind, const Problem &problem) {
  return kind == ProgramKind::Sequential ? sequentialProblem(problem) : problem;
}

namespace {

//===----------------------------------------------------------------------===//
// Partitioned: P1 and P3
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
                                 << "layer " << name << " stands where ";
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

struct VerifyPartitioned : impl::VerifyPartitionedBase<VerifyPartitioned> {
  void runOnOperation() override {
    // P2 is local: the plan's verifier has checked it. P3 is what building the
    // problem checks.
    for (PlanOp plan : getOperation().getOps<PlanOp>())
      if (failed(verifyLayers(plan)) || failed(buildProblem(plan)))
        signalPassFailure();
    markAllAnalysesPreserved();
  }
};

//===----------------------------------------------------------------------===//
// Scheduled: S1 to S7
//===----------------------------------------------------------------------===//

struct VerifyScheduled : impl::VerifyScheduledBase<VerifyScheduled> {
  void runOnOperation() override {
    for (ScheduleOp schedule : getOperation().getOps<ScheduleOp>())
      if (failed(verify(schedule)))
        signalPassFailure();
    markAllAnalysesPreserved();
  }

  LogicalResult verify(ScheduleOp schedule) {
    FailureOr<Problem> problem = buildProblem(schedule.lookupPlan());
    if (failed(problem))
      return failure();
    FailureOr<ExpandedSchedule> expanded = expandSchedule(schedule, *problem);
    if (failed(expanded))
      return failure();
    std::optional<Violation> violation =
        checkSchedule(*problem, expanded->schedule);
    if (!violation && schedule.accumulatesInIndexOrder())
      violation = checkAccumulation(*problem, expanded->schedule);
    if (!violation)
      return success();
    if (violation->rule == Rule::Memory)
      getOperation()->setAttr(overMemoryAttr, UnitAttr::get(&getContext()));
    return emitViolation(*violation, *expanded, *problem, schedule);
  }
};

//===----------------------------------------------------------------------===//
// Lowered: L1 to L5
//===----------------------------------------------------------------------===//

/// The tasks that a program must hold.
FailureOr<Schedule> promisedSchedule(ProgramOp op, const Problem &problem,
                                     const Problem &executing) {
  switch (op.getKind()) {
  case ProgramKind::Sequential:
    return sequentialSchedule(executing);
  case ProgramKind::Evaluation:
    return evaluationSchedule(executing);
  case ProgramKind::Pipeline:
    break;
  }
  FailureOr<ExpandedSchedule> expanded =
      expandSchedule(op.lookupSchedule(), problem);
  if (failed(expanded))
    return failure();
  return std::move(expanded->schedule);
}

/// Says which device it is, and what fills the arena.
void explainArena(InFlightDiagnostic &error, ProgramOp op,
                  const Program &program, int32_t rank) {
  int64_t state = 0;
  std::vector<bool> counted(program.pools.size(), false);
  for (auto [k, placement] : llvm::enumerate(program.placements)) {
    auto kind = static_cast<BufferKind>(k % numBufferKinds);
    if (placement.pool < 0 || kind >= firstTransientBuffer ||
        counted[placement.pool] || program.pools[placement.pool].rank != rank)
      continue;
    counted[placement.pool] = true;
    const Pool &pool = program.pools[placement.pool];
    state += pool.slotBytes * pool.slots;
  }
  PlanOp plan = op.lookupPlan();
  DeviceOp device = plan.lookupCluster().getDevices()[rank];
  error.attachNote(device.getLoc())
      << "this is the device; " << state
      << " bytes hold weights, gradients, moments, control, data and "
         "workspace, the other "
      << program.arenaBytes[rank] - state << " activations and messages";
  error.attachNote(op.lookupPlan().getLoc())
      << "`rondo search FILE --placement auto --microbatches LIST` looks for a "
         "plan that fits";
}

struct VerifyLowered : impl::VerifyLoweredBase<VerifyLowered> {
  void runOnOperation() override {
    // The programs of a schedule share its arena and its faults, so the first
    // error says it all.
    for (ProgramOp program : getOperation().getOps<ProgramOp>())
      if (failed(verify(program)))
        return signalPassFailure();
    markAllAnalysesPreserved();
  }

  LogicalResult verify(ProgramOp op);
};

LogicalResult VerifyLowered::verify(ProgramOp op) {
  FailureOr<Problem> problem = buildProblem(op.lookupPlan());
  if (failed(problem))
    return failure();
  Problem executing = executingProblem(op.getKind(), *problem);
  FailureOr<ExpandedProgram> expanded = expandProgram(op, executing);
  if (failed(expanded))
    return failure();
  FailureOr<Schedule> promised = promisedSchedule(op, *problem, executing);
  if (failed(promised))
    return failure();

  const Program &program = expanded->program;
  std::optional<ProgramViolation> violation =
      checkTasks(executing, *promised, program);
  if (!violation)
    violation = checkChannels(executing, program);
  if (!violation)
    violation = checkWaitCycle(executing, program);
  // The arena first: it bounds the slots that the buffers' check replays.
  if (!violation && op.getArenaAttr())
    violation = checkArena(program, problem->memoryCaps);
  if (!violation && op.getArenaAttr())
    violation = checkBuffers(executing, program);
  if (!violation)
    return success();
  InFlightDiagnostic error = emitProgramViolation(*violation, *expanded, op);
  if (violation->isOverCap) {
    getOperation()->setAttr(overMemoryAttr, UnitAttr::get(&getContext()));
    explainArena(error, op, program, violation->rank);
  }
  return error;
}

} // namespace
} // namespace rondo::pipe
