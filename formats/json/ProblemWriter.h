//===- ProblemWriter.h - Problem to rondo-problem ---------------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#ifndef RONDO_FORMATS_JSON_PROBLEMWRITER_H
#define RONDO_FORMATS_JSON_PROBLEMWRITER_H

#include "schedule/model/Problem.h"

#include "llvm/Support/raw_ostream.h"

namespace rondo::json {

/// Writes a problem on one line, without a newline: in version 1 if possible,
/// otherwise in version 2. In version 1 the output of the last stage, which
/// goes nowhere, is written as 0.
void writeProblem(llvm::raw_ostream &os, const Problem &problem);

} // namespace rondo::json

#endif // RONDO_FORMATS_JSON_PROBLEMWRITER_H
