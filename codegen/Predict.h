//===- Predict.h - Predicted times and memory of a program ------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#ifndef RONDO_CODEGEN_PREDICT_H
#define RONDO_CODEGEN_PREDICT_H

#include "codegen/EmitTables.h"
#include "passes/CheckedSchedules.h"

namespace rondo::codegen {

/// Sets them in the text of a pipeline, from the one simulator. `program` runs
/// the schedule, which is looked up in `checked` if that is not null. Fails
/// where the schedule cannot be expanded.
mlir::LogicalResult predict(pipe::ScheduleOp schedule, const Problem &problem,
                            const pipe::CheckedSchedules *checked,
                            const Program &program, ProgramText &text);

} // namespace rondo::codegen

#endif // RONDO_CODEGEN_PREDICT_H
