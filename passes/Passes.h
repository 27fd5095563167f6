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

/// Connects passes with the tool that runs them. It must outlive the run.
struct RunControl {
  /// Once it is true, searches end with the best result so far; may be null.
  const std::atomic<bool> *interrupt = nullptr;
  /// Set by a pass that fails because a device's memory is too small for every
  /// order (Shortfall.h).
  bool noOrderFits = false;
};

// Passes with a control, which may be null.

/// Gets a schedule for which a search found nothing, and why.
using OnNone = std::function<void(ScheduleOp, const Fault &)>;
/// With `onNone`, finding nothing is no error: the schedule stays without a
/// body.
std::unique_ptr<mlir::Pass> createSearchSchedules(RunControl *control,
                                                  OnNone onNone = nullptr);
std::unique_ptr<mlir::Pass> createChooseCandidates(const RunControl *control);
std::unique_ptr<mlir::Pass> createVerifyScheduled(RunControl *control);
std::unique_ptr<mlir::Pass> createVerifyLowered(RunControl *control);

/// Registers all passes and the pipelines of Pipelines.h.
void registerPasses();

} // namespace rondo::pipe

#endif // RONDO_PASSES_PASSES_H
