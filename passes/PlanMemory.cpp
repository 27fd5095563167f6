//===- PlanMemory.cpp - Give every buffer a compile-time slot -------------===//

#include "passes/Communication.h"
#include "passes/MemoryPlan.h"
#include "passes/Passes.h"
#include "passes/Phases.h"

#include "llvm/ADT/MapVector.h"

#include <algorithm>

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
  std::vector<StageBuffers> buffers = stageBuffers(plan);
  std::vector<int32_t> homes;
  for (int32_t s = 0; s < problem->numStages(); ++s)
    homes.push_back(problem->rankOf(s));

  std::vector<Program> planned;
  std::vector<int64_t> arena(problem->numRanks(), 0);
  for (ProgramOp op : programs) {
    Problem executing = executingProblem(op.getKind(), *problem);
    FailureOr<ExpandedProgram> expanded = expandProgram(op, executing);
    if (failed(expanded))
      return failure();
    Program program = std::move(expanded->program);
    if (std::optional<std::string> wrong =
            planMemory(executing, homes, problem->numRanks(), buffers, program))
      return op.emitError() << *wrong;
    for (auto [most, bytes] : llvm::zip_equal(arena, program.arenaBytes))
      most = std::max(most, bytes);
    planned.push_back(std::move(program));
  }
  for (auto [constOp, program] : llvm::zip_equal(programs, planned)) {
    ProgramOp op = constOp;
    program.arenaBytes = arena;
    foldProgram(program, executingProblem(op.getKind(), *problem), op);
  }
  return success();
}

} // namespace
} // namespace rondo::pipe
