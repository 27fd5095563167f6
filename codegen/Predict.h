//===- Predict.h - Predicted times and memory of a program ------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#ifndef RONDO_CODEGEN_PREDICT_H
#define RONDO_CODEGEN_PREDICT_H

#include "codegen/EmitTables.h"
#include "plans/CheckedSchedule.h"

namespace rondo::codegen {

/// Sets them in the text of a pipeline, from the one simulator. `program` runs
/// the schedule, which keeps all rules.
void predict(const pipe::CheckedSchedule &schedule, const Program &program,
             ProgramText &text);

} // namespace rondo::codegen

#endif // RONDO_CODEGEN_PREDICT_H
