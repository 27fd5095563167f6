//===- Programs.cpp - Programs and executables of schedules ---------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "plans/Programs.h"

#include "llvm/ADT/STLExtras.h"
#include "llvm/ADT/SmallPtrSet.h"

using namespace mlir;

namespace rondo::pipe {

Problem executingProblem(ProgramKind kind, const Problem &problem) {
  return rondo::executingProblem(loweredKind(kind), problem);
}

static StringRef suffixOf(rondo::ProgramKind kind) {
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

std::string programName(ScheduleOp schedule, rondo::ProgramKind kind) {
  return (schedule.getSymName() + "_" + suffixOf(kind)).str();
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

} // namespace rondo::pipe
