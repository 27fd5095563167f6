//===- PlanningReader.h - rondo-planning to ChainProblem --------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#ifndef RONDO_FORMATS_JSON_PLANNINGREADER_H
#define RONDO_FORMATS_JSON_PLANNINGREADER_H

#include "planning/chain/ChainProblem.h"

#include "llvm/ADT/StringRef.h"

#include <vector>

namespace rondo::json {

/// The keys of rondo-planning/1.
const class TableBase &planningTable();

/// Reads all rondo-planning/1 objects of a file's contents, in its order; names
/// must be unique. The results have passed check(). An error is one sentence,
/// lower case, no final period; it begins with the line in a .jsonl file.
Result<std::vector<ChainProblem>>
readPlanningProblems(llvm::StringRef fileName, llvm::StringRef contents);

} // namespace rondo::json

#endif // RONDO_FORMATS_JSON_PLANNINGREADER_H
