//===- Pipelines.h - The passes in their order ------------------*- C++ -*-===//

#ifndef RONDO_PASSES_PIPELINES_H
#define RONDO_PASSES_PIPELINES_H

#include "mlir/Pass/PassManager.h"

namespace rondo::pipe {

/// Source to scheduled: every schedule written and proved.
void buildSchedulePipeline(mlir::OpPassManager &pm);

/// Scheduled to lowered: programs with messages and memory, proved.
void buildLowerPipeline(mlir::OpPassManager &pm);

/// Proves what the module holds, whatever its phase, without lowering it.
void buildVerifyPipeline(mlir::OpPassManager &pm);

} // namespace rondo::pipe

#endif // RONDO_PASSES_PIPELINES_H
