//===- BaselineTables.h - Published planners next to a plan -----*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#ifndef RONDO_REPORTS_BASELINETABLES_H
#define RONDO_REPORTS_BASELINETABLES_H

#include "planning/chain/Baselines.h"
#include "planning/chain/ChainPlanner.h"

#include "llvm/ADT/ArrayRef.h"
#include "llvm/ADT/StringRef.h"
#include "llvm/Support/raw_ostream.h"

#include <functional>

namespace rondo {

/// Plans of other planners for a problem, with times; the same planners for
/// each.
using TimeBaselines =
    std::function<std::vector<TimedBaseline>(const ChainProblem &)>;

/// Prints a table for each problem: Rondo's plan and those of the baselines,
/// best first, then those that have none. With several problems, a summary
/// follows. `evaluator` is the name of the one that times both.
void printBaselines(llvm::raw_ostream &os,
                    llvm::ArrayRef<ChainProblem> problems,
                    llvm::ArrayRef<ChainPlannerResult> results,
                    llvm::StringRef evaluator, const TimeBaselines &time);

} // namespace rondo

#endif // RONDO_REPORTS_BASELINETABLES_H
