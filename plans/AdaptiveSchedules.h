//===- AdaptiveSchedules.h - What an adaptive executable runs ---*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#ifndef RONDO_PLANS_ADAPTIVESCHEDULES_H
#define RONDO_PLANS_ADAPTIVESCHEDULES_H

#include "dialect/Pipe.h"
#include "planning/adaptive/CandidateTable.h"

#include <atomic>

namespace rondo::pipe {

/// `adaptive<>`.
AdaptiveAttr defaultAdaptive(mlir::MLIRContext *context);

/// Finds the candidates of an adaptive executable that names one schedule, and
/// adds the kept ones to the module and to the executable. The schedule has a
/// body that keeps the rules S1 to S6, and its plan is resolved. Reports why
/// there are none.
mlir::FailureOr<CandidateTable>
chooseCandidates(ExecutableOp executable,
                 const std::atomic<bool> *interrupt = nullptr);

} // namespace rondo::pipe

#endif // RONDO_PLANS_ADAPTIVESCHEDULES_H
