//===- Pipelines.h - The passes in their order ------------------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#ifndef RONDO_PASSES_PIPELINES_H
#define RONDO_PASSES_PIPELINES_H

#include "mlir/Pass/PassManager.h"

#include <atomic>

namespace rondo::pipe {

/// Source to scheduled: every schedule written and proved. `interrupt`, which
/// may be null, ends searches with the best result so far.
void buildSchedulePipeline(mlir::OpPassManager &pm,
                           const std::atomic<bool> *interrupt = nullptr);

/// Scheduled to lowered: programs with messages and memory, proved.
void buildLowerPipeline(mlir::OpPassManager &pm);

/// Proves what the module contains, whatever its phase, without lowering it.
void buildVerifyPipeline(mlir::OpPassManager &pm,
                         const std::atomic<bool> *interrupt = nullptr);

} // namespace rondo::pipe

#endif // RONDO_PASSES_PIPELINES_H
