//===- ProblemReader.h - rondo-problem/1 to Problem -------------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#ifndef RONDO_FORMATS_JSON_PROBLEMREADER_H
#define RONDO_FORMATS_JSON_PROBLEMREADER_H

#include "schedule/model/Problem.h"

#include "llvm/ADT/StringMap.h"
#include "llvm/ADT/StringRef.h"

#include <vector>

namespace rondo::json {

/// The problems of a file, in its order.
struct ProblemFile {
  std::vector<Problem> problems;
  /// Index by name.
  llvm::StringMap<size_t> byName;

  const Problem *find(llvm::StringRef name) const;
};

/// Reads one rondo-problem object. The result has passed check(). An error is
/// one sentence, lower case, no final period.
Result<Problem> readProblem(llvm::StringRef text);

/// Reads all problems of a file's contents; names must be unique. Errors begin
/// with the line in a .jsonl file.
Result<ProblemFile> readProblems(llvm::StringRef fileName,
                                 llvm::StringRef contents);

} // namespace rondo::json

#endif // RONDO_FORMATS_JSON_PROBLEMREADER_H
