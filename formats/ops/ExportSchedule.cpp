//===- ExportSchedule.cpp - The language to rondo-schedule/1 --------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "dialect/Bridge.h"
#include "formats/json/ScheduleWriter.h"
#include "formats/ops/Translations.h"

using namespace mlir;
using namespace rondo;

static LogicalResult exportSchedule(pipe::ScheduleOp op,
                                    llvm::raw_ostream &os) {
  if (op.isBodyEmpty())
    return op.emitError() << "schedule @" << op.getSymName()
                          << " has no body: run pipe-schedule first";
  FailureOr<std::string> family = pipe::familyText(op);
  FailureOr<Problem> problem = pipe::buildProblem(op);
  if (failed(family) || failed(problem))
    return failure();
  FailureOr<pipe::ExpandedSchedule> expanded =
      pipe::expandSchedule(op, *problem);
  if (failed(expanded))
    return failure();
  Simulation simulation;
  if (std::optional<Fault> fault =
          checkAndSimulate(*problem, expanded->schedule, simulation))
    return pipe::emitFault(*fault, *expanded, *problem, op);
  json::writeSchedule(os, *problem, expanded->schedule, simulation, *family,
                      /*search=*/nullptr, /*comparison=*/nullptr,
                      /*overlap=*/{}, op.getClip() == pipe::Clip::Global);
  os << "\n";
  return success();
}

LogicalResult rondo::formats::exportSchedules(ModuleOp module,
                                              llvm::raw_ostream &os) {
  for (pipe::ScheduleOp schedule : module.getOps<pipe::ScheduleOp>())
    if (failed(exportSchedule(schedule, os)))
      return failure();
  return success();
}
