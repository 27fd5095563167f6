//===- TimelineTrace.h - Traces that rondo show has written -----*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// rondo-timeline/1, which `rondo show -o FILE.json` writes
// (formats/timeline/Trace.cpp): schedules with predicted times.
//
//===----------------------------------------------------------------------===//

#ifndef RONDO_FORMATS_JSON_TIMELINETRACE_H
#define RONDO_FORMATS_JSON_TIMELINETRACE_H

#include "schedule/timeline/Measured.h"

#include "llvm/ADT/StringRef.h"
#include "llvm/Support/Error.h"

#include <string>

namespace rondo::json {

/// A schedule of one iteration as it was predicted.
struct TimelineTrace {
  /// Of the schedule, and of its problem.
  std::string title, problem;
  MeasuredRun run;
};

/// Whether a text says that it is a rondo-timeline, of any version.
bool isTimelineTrace(llvm::StringRef text);

/// Several schedules, and iterations that overlap, are refused. An error is one
/// sentence, with line and column.
llvm::Expected<TimelineTrace> readTimelineTrace(llvm::StringRef text);

} // namespace rondo::json

#endif // RONDO_FORMATS_JSON_TIMELINETRACE_H
