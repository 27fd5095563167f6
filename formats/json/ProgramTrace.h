//===- ProgramTrace.h - Traces that programs have written -------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// rondo-trace/1, which --trace of a compiled program writes:
// docs/where-time-goes.md.
//
//===----------------------------------------------------------------------===//

#ifndef RONDO_FORMATS_JSON_PROGRAMTRACE_H
#define RONDO_FORMATS_JSON_PROGRAMTRACE_H

#include "schedule/model/Fault.h"
#include "schedule/timeline/Measured.h"

#include "llvm/ADT/StringRef.h"

namespace rondo::json {

/// Whether a text says that it is a rondo-trace, of any version.
bool isProgramTrace(llvm::StringRef text);

/// Iterations in the order of their numbers. Those that overlap are refused,
/// since they have no times of their own. An error is one sentence, with line
/// and column.
Result<MeasuredRun> readProgramTrace(llvm::StringRef text);

} // namespace rondo::json

#endif // RONDO_FORMATS_JSON_PROGRAMTRACE_H
