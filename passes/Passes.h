//===- Passes.h - The passes of Rondo ---------------------------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#ifndef RONDO_PASSES_PASSES_H
#define RONDO_PASSES_PASSES_H

#include "dialect/Pipe.h"

#include "mlir/IR/BuiltinOps.h"
#include "mlir/Pass/Pass.h"

#include <atomic>
#include <functional>
#include <memory>

namespace rondo {
struct Fault;
} // namespace rondo

namespace rondo::pipe {

#define GEN_PASS_DECL
#include "passes/Passes.h.inc"

/// `pipe-search-schedules` that ends its searches with the best result so far
/// when `interrupt`, which may be null, becomes true. With `onNone`, which gets
/// each schedule for which nothing was found, and why, that is no error: the
/// schedule stays without a body.
std::unique_ptr<mlir::Pass> createSearchSchedules(
    const std::atomic<bool> *interrupt,
    std::function<void(ScheduleOp, const Fault &)> onNone = nullptr);
/// The same of `pipe-choose-candidates`.
std::unique_ptr<mlir::Pass>
createChooseCandidates(const std::atomic<bool> *interrupt);

/// Registers all passes and the pipelines of Pipelines.h.
void registerPasses();

} // namespace rondo::pipe

#endif // RONDO_PASSES_PASSES_H
