//===- ProblemWriter.h - Problem to rondo-problem ---------------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#ifndef RONDO_FORMATS_JSON_PROBLEMWRITER_H
#define RONDO_FORMATS_JSON_PROBLEMWRITER_H

#include "schedule/model/Problem.h"

#include "llvm/Support/raw_ostream.h"

namespace rondo::json {

/// Writes a problem on one line in version 2, without a newline.
void writeProblem(llvm::raw_ostream &os, const Problem &problem);

} // namespace rondo::json

#endif // RONDO_FORMATS_JSON_PROBLEMWRITER_H
