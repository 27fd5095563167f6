//===- InsertCommunication.cpp - Write the programs of a schedule ---------===//

#include "passes/Communication.h"
#include "passes/Layers.h"
#include "passes/Passes.h"
#include "passes/Phases.h"

#include "mlir/IR/Builders.h"

using namespace mlir;

namespace rondo::pipe {
#define GEN_PASS_DEF_INSERTCOMMUNICATION
#include "passes/Passes.h.inc"

namespace {

/// What the ranks of a plan do together at the end of an iteration; empty where
/// no stage has weights.
std::vector<Collective> planCollectives(PlanOp plan) {
  std::vector<Collective> collectives;
  bool hasWeights = false;
  Collective norm;
  for (auto [s, buffers] : llvm::enumerate(stageBuffers(plan))) {
    hasWeights |= buffers[static_cast<int>(BufferKind::Weights)] > 0;
    norm.stages.push_back(s);
  }
  if (!hasWeights)
    return collectives;

  ModelOp model = plan.lookupModel();
  if (model.getGptAttr() && model.getGptAttr().getTied()) {
    Collective tied;
    tied.kind = Collective::Kind::TiedGradients;
    tied.tensor = "wte.weight";
    llvm::StringMap<LayerKind> kinds;
    for (LayerOp layer : model.getLayers())
      kinds[layer.getSymName()] = layer.getKind();
    for (auto [s, stage] : llvm::enumerate(plan.getStages()))
      for (FlatSymbolRefAttr layer :
           stage.getLayers().getAsRange<FlatSymbolRefAttr>())
        if (kinds[layer.getValue()] == LayerKind::Embedding ||
            kinds[layer.getValue()] == LayerKind::Head)
          tied.stages.push_back(s);
    if (tied.stages.size() > 1)
      collectives.push_back(std::move(tied));
  }
  collectives.push_back(std::move(norm));
  return collectives;
}

struct InsertCommunication
    : impl::InsertCommunicationBase<InsertCommunication> {
  void runOnOperation() override {
    SmallVector<ScheduleOp> schedules(getOperation().getOps<ScheduleOp>());
    for (ScheduleOp schedule : schedules)
      if (failed(lower(schedule)))
        return signalPassFailure();
  }

  LogicalResult lower(ScheduleOp schedule);
  LogicalResult write(ScheduleOp op, StringRef suffix, ProgramKind kind,
                      const Problem &problem, const Schedule &schedule,
                      std::vector<Collective> collectives, OpBuilder &builder);
};

/// A symbol of another op, or programs that the schedule has already.
LogicalResult checkIsFree(ScheduleOp schedule, StringRef suffix) {
  std::string name = (schedule.getSymName() + "_" + suffix).str();
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

LogicalResult InsertCommunication::write(ScheduleOp op, StringRef suffix,
                                         ProgramKind kind,
                                         const Problem &problem,
                                         const Schedule &schedule,
                                         std::vector<Collective> collectives,
                                         OpBuilder &builder) {
  Simulation simulation = simulate(problem, schedule, /*keepTimes=*/true);
  if (!simulation.complete)
    return op.emitError() << "cannot place receives, the schedule does not run "
                             "to its end: "
                          << describeCycle(simulation.cycle);
  Program program = insertCommunication(problem, schedule, simulation,
                                        std::move(collectives));
  foldProgram(builder, op.getLoc(), (op.getSymName() + "_" + suffix).str(), op,
              kind, program, problem);
  return success();
}

LogicalResult InsertCommunication::lower(ScheduleOp schedule) {
  PlanOp plan = schedule.lookupPlan();
  FailureOr<Problem> problem = buildProblem(plan);
  if (failed(problem))
    return failure();
  for (StringRef suffix : {"sequential", "evaluation", "lowered"})
    if (failed(checkIsFree(schedule, suffix)))
      return failure();
  FailureOr<ExpandedSchedule> expanded = expandSchedule(schedule, *problem);
  if (failed(expanded))
    return failure();
  if (std::optional<Violation> violation =
          checkSchedule(*problem, expanded->schedule))
    return emitViolation(*violation, *expanded, *problem, schedule);
  std::vector<Collective> collectives = planCollectives(plan);
  OpBuilder builder(schedule);
  builder.setInsertionPointAfter(schedule);
  Problem sequential = sequentialProblem(*problem);
  if (failed(write(schedule, "sequential", ProgramKind::Sequential, sequential,
                   sequentialSchedule(sequential), collectives, builder)) ||
      failed(write(schedule, "evaluation", ProgramKind::Evaluation, *problem,
                   evaluationSchedule(*problem), {}, builder)))
    return failure();
  return write(schedule, "lowered", ProgramKind::Pipeline, *problem,
               expanded->schedule, std::move(collectives), builder);
}

} // namespace
} // namespace rondo::pipe
