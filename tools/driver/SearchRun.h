//===- SearchRun.h - Searches that the command line asks for ----*- C++ -*-===//
//
// What `rondo search` and `rondo compare` share: the options that say how, and
// a search that shows its progress and ends at an interrupt.
//
//===----------------------------------------------------------------------===//

#ifndef RONDO_TOOLS_DRIVER_SEARCHRUN_H
#define RONDO_TOOLS_DRIVER_SEARCHRUN_H

#include "codegen/json/ScheduleWriter.h"
#include "schedule/Search.h"
#include "tools/driver/Progress.h"

#include "llvm/ADT/ArrayRef.h"
#include "llvm/Support/CommandLine.h"

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

/// Gives the problems the objective of the command line, where it names one.
void applyObjective(llvm::MutableArrayRef<Problem> problems);

/// What the command line says.
SearchOptions searchOptions();

/// Searches one of the problems of `progress`, or the only one.
SearchResult runSearch(const Problem &problem, Progress &progress);
SearchResult runSearch(const Problem &problem);
/// The same with options of its own, under a name for the line of progress.
SearchResult runSearch(const Problem &problem, SearchOptions options,
                       Progress &progress, const std::string &name);

/// What a rondo-schedule/1 line says about a search that found a schedule.
json::SearchRecord recordOf(const SearchResult &result);

/// Problems of a rondo-problem/1 file, or the plans of a .mlir file with the
/// costs of `costsPath`. Every failure has been printed; returns the exit code.
int readProblemsOrPlans(const std::string &path, const std::string &costsPath,
                        std::vector<Problem> &problems);

} // namespace rondo::driver

#endif // RONDO_TOOLS_DRIVER_SEARCHRUN_H
