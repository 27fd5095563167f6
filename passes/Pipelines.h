//===- Pipelines.h - The passes in their order ------------------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#ifndef RONDO_PASSES_PIPELINES_H
#define RONDO_PASSES_PIPELINES_H

#include "passes/Passes.h"

#include "mlir/Pass/PassManager.h"

namespace rondo::pipe {

// `control` is that of the passes, or null.

/// Source to sound plans: stages with costs and sizes, proved.
void buildPlanPipeline(mlir::OpPassManager &pm);

/// Writes the order of every schedule of sound plans, and proves none. `onNone`
/// is that of createSearchSchedules().
void buildOrderPipeline(mlir::OpPassManager &pm, RunControl *control = nullptr,
                        OnNone onNone = nullptr);

/// Source to scheduled: every schedule written and proved.
void buildSchedulePipeline(mlir::OpPassManager &pm,
                           RunControl *control = nullptr);

/// Scheduled to lowered: programs with messages and memory, proved.
void buildLowerPipeline(mlir::OpPassManager &pm, RunControl *control = nullptr);

/// Proves what the module contains, whatever its phase, without lowering it.
void buildVerifyPipeline(mlir::OpPassManager &pm,
                         RunControl *control = nullptr);

} // namespace rondo::pipe

#endif // RONDO_PASSES_PIPELINES_H
