//===- SearchRun.h - Searches that the command line asks for ----*- C++ -*-===//
//
// What `rondo search` and `rondo compare` share: the options that say how, and
// a search that shows its progress and ends at an interrupt.
//
//===----------------------------------------------------------------------===//

#ifndef RONDO_TOOLS_DRIVER_SEARCHRUN_H
#define RONDO_TOOLS_DRIVER_SEARCHRUN_H

#include "formats/json/ScheduleWriter.h"
#include "planning/FittingSearch.h"
#include "schedule/Search.h"
#include "tools/driver/Progress.h"

#include "llvm/ADT/ArrayRef.h"
#include "llvm/Support/CommandLine.h"

#include <optional>
#include <vector>

namespace rondo::driver {

/// The commands whose options are shared.
llvm::cl::SubCommand &searchSubCommand();
llvm::cl::SubCommand &compareSubCommand();

/// Success, or what the process ends with; what is wrong with the options has
/// been printed.
int checkSearchOptions();

/// The option that limits the search: `--effort` or `--time-limit-ms`.
std::string limitOption();

/// The objective of the command line, where it names one.
std::optional<Objective> wantedObjective();
/// Gives it to problems.
void applyObjective(llvm::MutableArrayRef<Problem> problems);

/// What the command line says.
SearchOptions searchOptions();

/// Searches one of the problems of `progress`, or the only one. Of a plan,
/// whose figures are not null, schedules are taken whose programs fit its
/// devices.
SearchResult runSearch(const Problem &problem, Progress &progress,
                       const PlanFigures *plan);
SearchResult runSearch(const Problem &problem, const PlanFigures *plan);

/// `makespan 12 ms, at most 3.10 % above the optimum`.
std::string figuresOf(const Problem &problem, const SearchResult &result);
/// The second half of it.
std::string gapText(bool isProvenOptimal, int64_t reachedNs, int64_t boundNs);

/// What a rondo-schedule/1 line says about a search that found a schedule.
json::SearchRecord recordOf(const SearchResult &result);

/// Problems of a rondo-problem/1 file, or the plans of a .mlir file with the
/// costs of `costsPath` and their figures. Every failure has been printed;
/// returns the exit code.
int readProblemsOrPlans(const std::string &path, const std::string &costsPath,
                        std::vector<Problem> &problems,
                        std::vector<PlanFigures> &figures);

} // namespace rondo::driver

#endif // RONDO_TOOLS_DRIVER_SEARCHRUN_H
