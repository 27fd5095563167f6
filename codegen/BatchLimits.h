//===- BatchLimits.h - Limits that a plan states ----------------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#ifndef RONDO_CODEGEN_BATCHLIMITS_H
#define RONDO_CODEGEN_BATCHLIMITS_H

#include "codegen/BatchLimitsTable.h"
#include "dialect/Pipe.h"

#include <optional>

namespace rondo::codegen {

/// The limits of the batches of a plan, and what its program needs to plan a
/// batch; none if the plan states no limits. `problem` is the plan's.
std::optional<BatchLimitsText> batchLimitsOf(pipe::PlanOp plan,
                                             const Problem &problem);

} // namespace rondo::codegen

#endif // RONDO_CODEGEN_BATCHLIMITS_H
