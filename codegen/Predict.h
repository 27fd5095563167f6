//===- Predict.h - Predicted times and memory of a program ------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#ifndef RONDO_CODEGEN_PREDICT_H
#define RONDO_CODEGEN_PREDICT_H

#include "codegen/EmitTables.h"
#include "schedule/Schedule.h"
#include "schedule/Simulator.h"

namespace rondo::codegen {

/// Sets them in the text of a pipeline, from the one simulator. `order` is the
/// schedule that `program` runs, and `simulation` is its own.
void predict(const Problem &problem, const Schedule &order,
             const Simulation &simulation, const Program &program,
             ProgramText &text);

} // namespace rondo::codegen

#endif // RONDO_CODEGEN_PREDICT_H
