//===- PlanFigures.h - What lowering needs to know of a plan ----*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#ifndef RONDO_PASSES_PLANFIGURES_H
#define RONDO_PASSES_PLANFIGURES_H

#include "dialect/Pipe.h"
#include "lowering/Lowering.h"

namespace rondo::pipe {

/// Its stages must have buffers. `hasNorm`: whether its schedules' programs
/// compute the norm of the gradients.
PlanFigures figuresOf(PlanOp plan, bool hasNorm = true);
/// Those of its plan, with or without the norm.
PlanFigures figuresOf(ScheduleOp schedule);

} // namespace rondo::pipe

#endif // RONDO_PASSES_PLANFIGURES_H
