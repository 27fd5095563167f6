//===- ScratchDiagnostics.h - Errors about plans that nobody wrote --------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#ifndef RONDO_PASSES_SCRATCHDIAGNOSTICS_H
#define RONDO_PASSES_SCRATCHDIAGNOSTICS_H

#include "schedule/model/Fault.h"

#include "mlir/IR/Diagnostics.h"

#include <optional>

namespace rondo::pipe {

/// While it lives, no error is shown: the first becomes a fault. For plans that
/// a planner tries and people never see.
class ScratchDiagnostics {
public:
  explicit ScratchDiagnostics(mlir::MLIRContext *context)
      : handler(context, [this](mlir::Diagnostic &diagnostic) {
          if (!fault &&
              diagnostic.getSeverity() == mlir::DiagnosticSeverity::Error)
            fault = makeFault<FaultKind::PlanRefused>(diagnostic.str());
          return mlir::success();
        }) {}

  std::optional<Fault> fault;

private:
  mlir::ScopedDiagnosticHandler handler;
};

} // namespace rondo::pipe

#endif // RONDO_PASSES_SCRATCHDIAGNOSTICS_H
