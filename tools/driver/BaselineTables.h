//===- BaselineTables.h - Published planners beside a plan ------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#ifndef RONDO_TOOLS_DRIVER_BASELINETABLES_H
#define RONDO_TOOLS_DRIVER_BASELINETABLES_H

#include "planning/chain/ChainPlanner.h"

#include "llvm/ADT/ArrayRef.h"

namespace rondo::driver {

/// Prints a table for each problem: Rondo's plan and those of the baselines,
/// best first, then those that have none. With several problems, a summary
/// follows.
void printBaselines(llvm::ArrayRef<ChainProblem> problems,
                    llvm::ArrayRef<ChainPlannerResult> results,
                    PlanEvaluator evaluator);

} // namespace rondo::driver

#endif // RONDO_TOOLS_DRIVER_BASELINETABLES_H
