//===- PlanMemory.cpp - Give every buffer a compile-time slot -------------===//

#include "passes/Passes.h"
#include "passes/Phases.h"
#include "passes/PlanFigures.h"

#include "llvm/ADT/MapVector.h"

using namespace mlir;

namespace rondo::pipe {
#define GEN_PASS_DEF_PLANMEMORY
#include "passes/Passes.h.inc"

namespace {

struct PlanMemory : impl::PlanMemoryBase<PlanMemory> {
  void runOnOperation() override {
    // The programs of one schedule run over the same arenas.
    llvm::MapVector<Operation *, SmallVector<ProgramOp>> bySchedule;
    for (ProgramOp program : getOperation().getOps<ProgramOp>())
      bySchedule[program.lookupSchedule()].push_back(program);
    for (auto &[schedule, programs] : bySchedule)
      if (failed(plan(programs)))
        return signalPassFailure();
  }

  LogicalResult plan(ArrayRef<ProgramOp> programs);
};

LogicalResult PlanMemory::plan(ArrayRef<ProgramOp> programs) {
  PlanOp plan = ProgramOp(programs.front()).lookupPlan();
  FailureOr<Problem> problem = buildProblem(plan);
  if (failed(problem))
    return failure();
  std::vector<LoweredProgram> lowered;
  for (ProgramOp op : programs) {
    Problem executing = executingProblem(op.getKind(), *problem);
    FailureOr<ExpandedProgram> expanded = expandProgram(op, executing);
    if (failed(expanded))
      return failure();
    lowered.push_back({loweredKind(op.getKind()), std::move(executing),
                       Schedule(), std::move(expanded->program)});
  }
  if (std::optional<MemoryFault> fault =
          planMemory(figuresOf(plan), *problem, lowered))
    return ProgramOp(programs[fault->program]).emitError() << fault->message;
  for (auto [constOp, planned] : llvm::zip_equal(programs, lowered)) {
    ProgramOp op = constOp;
    foldProgram(planned.program, planned.executing, op);
  }
  return success();
}

} // namespace
} // namespace rondo::pipe
