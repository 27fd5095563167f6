//===- SearchCurve.h - rondo search --pareto --------------------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#ifndef RONDO_TOOLS_DRIVER_SEARCHCURVE_H
#define RONDO_TOOLS_DRIVER_SEARCHCURVE_H

#include "tools/driver/SearchRun.h"

#include <string>

namespace rondo::driver {

struct CurveRequest {
  bool isAsked = false;
  int64_t points = 16;
  /// Lines on standard output instead of tables.
  bool asJson = false;
  /// `-` if no file gets the lines.
  std::string output;
};

/// Reads --pareto, --points and --json. Returns Success, or the exit code after
/// printing an error.
int readCurveRequest(const Arguments &arguments, CurveRequest &request);

/// Searches the curve of every problem, prints tables or lines and writes the
/// lines; `plans` are those of the problems in `file`, or empty. Returns the
/// exit code.
int searchCurves(const CurveRequest &request, const SearchRequest &search,
                 ModuleFile &file, const std::vector<Problem> &problems,
                 const std::vector<PlanFigures> &plans);

} // namespace rondo::driver

#endif // RONDO_TOOLS_DRIVER_SEARCHCURVE_H
