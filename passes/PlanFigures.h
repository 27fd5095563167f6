//===- PlanFigures.h - What lowering needs to know of a plan ----*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#ifndef RONDO_PASSES_PLANFIGURES_H
#define RONDO_PASSES_PLANFIGURES_H

#include "lowering/Lowering.h"
#include "passes/VersionedWindow.h"

#include "llvm/ADT/DenseMap.h"

#include <memory>

namespace rondo::pipe {

/// Its stages must have buffers. `hasNorm`: whether its schedules' programs
/// compute the norm of the gradients.
PlanFigures figuresOf(PlanOp plan, bool hasNorm = true);
/// Those of its plan, with or without the norm.
PlanFigures figuresOf(ScheduleOp schedule);

/// The same as an analysis of the module, since those of a schedule whose
/// iterations overlap take long. A pass that changes no schedule preserves it.
class ScheduleFigures {
public:
  explicit ScheduleFigures(mlir::Operation *) {}
  const PlanFigures &of(ScheduleOp schedule);
  /// Null where iterations do not overlap, or where analyzeWindow() fails.
  const VersionedWindow *window(ScheduleOp schedule);

private:
  struct Known {
    PlanFigures figures;
    mlir::FailureOr<VersionedWindow> window = mlir::failure();
  };
  Known &find(ScheduleOp schedule);
  llvm::DenseMap<mlir::Operation *, std::unique_ptr<Known>> known;
};

} // namespace rondo::pipe

#endif // RONDO_PASSES_PLANFIGURES_H
