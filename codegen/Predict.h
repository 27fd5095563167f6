//===- Predict.h - Predicted times and memory of a program ------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#ifndef RONDO_CODEGEN_PREDICT_H
#define RONDO_CODEGEN_PREDICT_H

#include "codegen/EmitTables.h"
#include "schedule/Schedule.h"

namespace rondo::codegen {

/// Sets them in the text of a pipeline, from the one simulator. `order` is the
/// schedule that `program` runs.
void predict(const Problem &problem, const Schedule &order,
             const Program &program, ProgramText &text);

} // namespace rondo::codegen

#endif // RONDO_CODEGEN_PREDICT_H
