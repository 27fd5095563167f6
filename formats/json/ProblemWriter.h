//===- ProblemWriter.h - Problem to rondo-problem ---------------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#ifndef RONDO_FORMATS_JSON_PROBLEMWRITER_H
#define RONDO_FORMATS_JSON_PROBLEMWRITER_H

#include "schedule/Problem.h"

#include "llvm/Support/raw_ostream.h"

namespace rondo::json {

/// Whether version 1 can say this problem: its stages are a chain, and B takes
/// I's and W's time.
bool isVersion1(const Problem &problem);

/// Writes a problem on one line, without a line end: in version 1 if that can
/// say it, else in version 2. In version 1 the output of the last stage, which
/// goes nowhere, is written as 0.
void writeProblem(llvm::raw_ostream &os, const Problem &problem);

} // namespace rondo::json

#endif // RONDO_FORMATS_JSON_PROBLEMWRITER_H
