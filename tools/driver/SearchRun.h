//===- SearchRun.h - Searches as the command line asks ----------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#ifndef RONDO_TOOLS_DRIVER_SEARCHRUN_H
#define RONDO_TOOLS_DRIVER_SEARCHRUN_H

#include "formats/json/ScheduleWriter.h"
#include "planning/FittingSearch.h"
#include "schedule/search/Search.h"
#include "tools/driver/Arguments.h"
#include "tools/driver/ModuleFile.h"
#include "tools/driver/Progress.h"

#include "llvm/ADT/ArrayRef.h"

#include <optional>
#include <vector>

namespace rondo::driver {

/// What options/Searching.td and the robust options of `search` ask for.
struct SearchRequest {
  SearchOptions options;
  /// Overrides the problems' own.
  std::optional<Objective> objective;
  /// `mean` or `p95`; empty if the nominal figure decides.
  std::string robust;
  int32_t jitterPercent = 10;
  /// The schedule is written for `rondo compile`, so its programs must fit the
  /// devices whether or not weights are declared.
  bool isCompiled = false;

  /// The option that limits the search: `--effort` or `--time-limit-ms`.
  std::string limitOption() const;
  /// Sets the objective of the problems, if one is given.
  void applyObjective(llvm::MutableArrayRef<Problem> problems) const;
  /// A comparison is of one iteration: reports a problem of several, and
  /// returns the exit code.
  static int checkSearchable(llvm::ArrayRef<Problem> problems);
  /// The record in a rondo-schedule line of a search that found a schedule.
  json::SearchRecord recordOf(const SearchResult &result) const;
};

/// Reads the options of options/Searching.td.
SearchRequest searchRequest(const Arguments &arguments);
/// Reads the robust options of `search`. Returns Success, or the exit code
/// after printing an error.
int readRobustness(const Arguments &arguments, SearchRequest &request);

/// Searches one of the problems of `progress`, or the only one. If `plan` is
/// not null, accepts only schedules whose programs fit its devices.
SearchResult runSearch(const Problem &problem, const SearchRequest &request,
                       Progress &progress, const PlanFigures *plan);
SearchResult runSearch(const Problem &problem, const SearchRequest &request,
                       const PlanFigures *plan);

/// `makespan 12 ms, at most 3.10 % above the optimum`.
std::string figuresOf(const Problem &problem, const SearchResult &result);
/// The second half of that.
std::string gapText(bool isProvenOptimal, int64_t reachedNs, int64_t boundNs);

/// Reads the problems of a rondo-problem/1 file, or into `file` the plans of a
/// .mlir file with the costs of `costsPath` and their figures. Every failure
/// has been printed; returns the exit code.
int readProblemsOrPlans(ModuleFile &file, const std::string &path,
                        const std::string &costsPath,
                        std::vector<Problem> &problems,
                        std::vector<PlanFigures> &figures);

} // namespace rondo::driver

#endif // RONDO_TOOLS_DRIVER_SEARCHRUN_H
