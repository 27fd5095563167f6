//===- SearchRun.h - Searches that the command line asks for ----*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#ifndef RONDO_TOOLS_DRIVER_SEARCHRUN_H
#define RONDO_TOOLS_DRIVER_SEARCHRUN_H

#include "formats/json/ScheduleWriter.h"
#include "planning/FittingSearch.h"
#include "schedule/Search.h"
#include "tools/driver/Arguments.h"
#include "tools/driver/Progress.h"

#include "llvm/ADT/ArrayRef.h"

#include <optional>
#include <vector>

namespace rondo::driver {

/// What options/Searching.td and the robust options of `search` ask for.
struct SearchRequest {
  SearchOptions options;
  /// In place of the problems' own.
  std::optional<Objective> objective;
  /// `mean` or `p95`; empty where the nominal figure decides.
  std::string robust;
  int32_t jitterPercent = 10;

  /// The option that limits the search: `--effort` or `--time-limit-ms`.
  std::string limitOption() const;
  /// Gives the problems the objective, where there is one.
  void applyObjective(llvm::MutableArrayRef<Problem> problems) const;
  /// What a rondo-schedule/1 line says about a search that found a schedule.
  json::SearchRecord recordOf(const SearchResult &result) const;
};

/// What options/Searching.td has.
SearchRequest searchRequest(const Arguments &arguments);
/// The robust options of `search`. Returns Success, or the exit code; what is
/// wrong has been printed.
int readRobustness(const Arguments &arguments, SearchRequest &request);

/// Searches one of the problems of `progress`, or the only one. Of a plan,
/// whose figures are not null, schedules are taken whose programs fit its
/// devices.
SearchResult runSearch(const Problem &problem, const SearchRequest &request,
                       Progress &progress, const PlanFigures *plan);
SearchResult runSearch(const Problem &problem, const SearchRequest &request,
                       const PlanFigures *plan);

/// `makespan 12 ms, at most 3.10 % above the optimum`.
std::string figuresOf(const Problem &problem, const SearchResult &result);
/// The second half of it.
std::string gapText(bool isProvenOptimal, int64_t reachedNs, int64_t boundNs);

/// Problems of a rondo-problem/1 file, or the plans of a .mlir file with the
/// costs of `costsPath` and their figures. Every failure has been printed;
/// returns the exit code.
int readProblemsOrPlans(const std::string &path, const std::string &costsPath,
                        std::vector<Problem> &problems,
                        std::vector<PlanFigures> &figures);

} // namespace rondo::driver

#endif // RONDO_TOOLS_DRIVER_SEARCHRUN_H
