//===- Phases.cpp - What phases share -------------------------------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "passes/Phases.h"

#include "llvm/ADT/STLExtras.h"
#include "llvm/ADT/SmallPtrSet.h"

using namespace mlir;

namespace rondo::pipe {

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

} // namespace rondo::pipe
