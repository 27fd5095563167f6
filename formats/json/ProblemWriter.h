//===- ProblemWriter.h - Problem to rondo-problem/1 -------------*- C++ -*-===//

#ifndef RONDO_FORMATS_JSON_PROBLEMWRITER_H
#define RONDO_FORMATS_JSON_PROBLEMWRITER_H

#include "schedule/Problem.h"

#include "llvm/Support/raw_ostream.h"

namespace rondo::json {

/// Writes a problem on one line, without a line end. Its edges are those of
/// makeChain() and its costs those of setStageCost(). The output of the last
/// stage goes nowhere and is written as 0.
void writeProblem(llvm::raw_ostream &os, const Problem &problem);

} // namespace rondo::json

#endif // RONDO_FORMATS_JSON_PROBLEMWRITER_H
