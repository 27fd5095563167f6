//===- BatchReader.h - Problems of sampled batches --------------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#ifndef RONDO_FORMATS_JSON_BATCHREADER_H
#define RONDO_FORMATS_JSON_BATCHREADER_H

#include "schedule/model/Problem.h"

#include "llvm/ADT/StringRef.h"

#include <vector>

namespace rondo::json {

/// Whether a rondo-problem has `sizes`. Precondition: readProblem() succeeds.
bool statesSizes(llvm::StringRef problem);

/// One problem for each line of `batches`, `{"sizes": [[...], ...]}`: the
/// rondo-problem of `problem` with these micro-batches, named after the line.
/// Precondition: readProblem(problem) succeeds, and it states sizes. An error
/// begins with the line.
Result<std::vector<Problem>> readBatches(llvm::StringRef problem,
                                         llvm::StringRef batches);

} // namespace rondo::json

#endif // RONDO_FORMATS_JSON_BATCHREADER_H
