//===- TimelineTrace.h - Traces that rondo show has written -----*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// rondo-timeline/1, which `rondo show -o FILE.json` writes
// (formats/timeline/Trace.cpp): schedules with predicted times.
//
//===----------------------------------------------------------------------===//

#ifndef RONDO_FORMATS_JSON_TIMELINETRACE_H
#define RONDO_FORMATS_JSON_TIMELINETRACE_H

#include "schedule/model/Fault.h"
#include "schedule/timeline/Measured.h"

#include "llvm/ADT/StringRef.h"

#include <string>

namespace rondo::json {

/// A schedule of one iteration as it was predicted.
struct TimelineTrace {
  /// The names of the schedule and of its problem.
  std::string title, problem;
  MeasuredRun run;
};

/// Whether a text says that it is a rondo-timeline, of any version.
bool isTimelineTrace(llvm::StringRef text);

/// Several schedules, and iterations that overlap, are refused. An error is one
/// sentence, with line and column.
Result<TimelineTrace> readTimelineTrace(llvm::StringRef text);

} // namespace rondo::json

#endif // RONDO_FORMATS_JSON_TIMELINETRACE_H
