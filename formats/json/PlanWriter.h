//===- PlanWriter.h - Plans to rondo-plan -----------------------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#ifndef RONDO_FORMATS_JSON_PLANWRITER_H
#define RONDO_FORMATS_JSON_PLANWRITER_H

#include "planning/chain/ChainPlanner.h"

#include "llvm/ADT/StringRef.h"
#include "llvm/Support/raw_ostream.h"

namespace rondo::json {

/// Writes a rondo-plan/1 object without a line's end: the plan, or why there is
/// none. `evaluator` is its name.
void writePlan(llvm::raw_ostream &os, const ChainProblem &problem,
               llvm::StringRef evaluator, const ChainPlannerResult &result);

} // namespace rondo::json

#endif // RONDO_FORMATS_JSON_PLANWRITER_H
