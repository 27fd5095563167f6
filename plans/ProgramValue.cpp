//===- ProgramValue.cpp - A program as a value ----------------------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "plans/ProgramValue.h"

#include "plans/Programs.h"

#include <utility>

using namespace mlir;
using namespace rondo;
using namespace rondo::pipe;

ProgramValue::ProgramValue(Operation *op) {
  auto program = cast<ProgramOp>(op);
  FailureOr<Problem> problem = buildProblem(program.lookupSchedule());
  if (failed(problem))
    return;
  ranks = executingProblem(program.getKind(), *problem);
  FailureOr<ExpandedProgram> value = expandProgram(program, ranks);
  if (failed(value))
    return;
  readable = true;
  expanded = std::move(*value);
}
