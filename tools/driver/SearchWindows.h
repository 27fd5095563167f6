//===- SearchWindows.h - Searches of overlapping iterations -----*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#ifndef RONDO_TOOLS_DRIVER_SEARCHWINDOWS_H
#define RONDO_TOOLS_DRIVER_SEARCHWINDOWS_H

#include "planning/FittingWindows.h"
#include "tools/driver/Arguments.h"
#include "tools/driver/ModuleFile.h"
#include "tools/driver/SearchRun.h"

#include <string>
#include <vector>

namespace rondo::driver {

/// What `rondo search` asks for of windows.
struct WindowSearchRequest {
  /// 0: as the problem has it.
  int64_t iterations = 0;
  /// Names of namedPolicies; empty: as the problem has it.
  std::vector<std::string> policies;
  int64_t maxDelay = anyDelay;
  /// Micro-batches of an iteration; empty: as the problem has it.
  std::vector<int64_t> microbatches;
};

/// Returns Success, or the exit code after printing an error.
int readWindowRequest(const Arguments &arguments, WindowSearchRequest &request);

/// Makes windows of problems as asked, and reads --microbatches of them.
/// Reports what cannot be, also options that need a window where there is none,
/// or that windows do not have; returns the exit code.
/// `file` is that of the problems' plans, if they have any.
int makeWindows(const Arguments &arguments, WindowSearchRequest &request,
                ModuleFile &file, std::vector<Problem> &problems);

/// Searches one window: the best of its numbers of micro-batches. With
/// `arenasOf`, of a plan, which has one number, as searchFittingWindow() does.
WindowSearchResult runWindowSearch(const Problem &window,
                                   const WindowSearchRequest &request,
                                   const SearchOptions &options,
                                   const ArenasOfOrder &arenasOf = nullptr);

/// `iteration 90 ns, optimal; pipedream, depths 3,2,1, ...`.
std::string figuresOf(const WindowSearchResult &result);

/// The record in a rondo-schedule line; it points into the result.
json::SearchRecord recordOf(const WindowSearchResult &result,
                            const SearchOptions &options);

} // namespace rondo::driver

#endif // RONDO_TOOLS_DRIVER_SEARCHWINDOWS_H
