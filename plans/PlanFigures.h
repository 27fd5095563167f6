//===- PlanFigures.h - Figures of plans for lowering ------------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#ifndef RONDO_PLANS_PLANFIGURES_H
#define RONDO_PLANS_PLANFIGURES_H

#include "dialect/Pipe.h"
#include "lowering/Lowering.h"

namespace rondo::pipe {

/// The figures of a plan whose stages have buffers. `hasNorm`: whether the
/// programs of its schedules compute the norm of the gradients.
PlanFigures figuresOf(PlanOp plan, bool hasNorm = true);
/// Those of its plan; with the versions of weights if iterations overlap.
PlanFigures figuresOf(ScheduleOp schedule);

/// figuresOf() as the analysis of a pipe.schedule, since those of a schedule
/// whose iterations overlap take long. A pass that changes the schedule, its
/// plan, its model or its cluster must not preserve it.
class ScheduleFigures {
public:
  explicit ScheduleFigures(mlir::Operation *op)
      : value(figuresOf(llvm::cast<ScheduleOp>(op))) {}

  const PlanFigures &figures() const { return value; }

private:
  PlanFigures value;
};

} // namespace rondo::pipe

#endif // RONDO_PLANS_PLANFIGURES_H
