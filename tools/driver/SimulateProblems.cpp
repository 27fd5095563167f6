//===- SimulateProblems.cpp - Times schedules of rondo-problem/1 ----------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "schedule/bounds/Shortfall.h"
#include "tools/driver/Commands.h"
#include "tools/driver/Interrupt.h"
#include "tools/driver/Plans.h"
#include "tools/driver/Report.h"
#include "tools/driver/SearchRun.h"
#include "tools/driver/Simulate.h"

using namespace llvm;

namespace rondo::driver {

int simulateProblems(const SimulateRequest &request) {
  std::vector<Problem> problems;
  if (int code = readProblems(request.path, problems))
    return code;
  ModuleFile none;
  if (int code = applyWindow(request.window, none, problems))
    return code;
  if (!request.problemOutput.empty())
    if (Error error = writeProblems(request.problemOutput, problems))
      return reportError(toString(std::move(error)));
  if (request.search) {
    request.search->applyObjective(problems);
    if (int code = SearchRequest::checkSearchable(problems))
      return code;
  }
  if (request.style == Style::Csv)
    outs() << csvHead();
  std::vector<Outcome> outcomes;
  for (const Problem &problem : problems) {
    Comparison comparison(problem, request.style);
    if (std::optional<Fault> shortfall = findShortfall(problem)) {
      const std::string why = describe(*shortfall);
      reportError(problem.name + ": " + why);
      outcomes.push_back(comparison.infeasible(why));
      continue;
    }
    if (request.search)
      comparison.addSearched(runSearch(problem, *request.search, nullptr),
                             *request.search, request.allRanks);
    std::vector<FamilyChoice> choices =
        request.choices.empty() ? allFamilies() : request.choices;
    if (request.choices.empty() && problem.iterations > 1)
      append_range(choices, overlappedFamilies());
    for (const FamilyChoice &choice : choices)
      comparison.add(evaluate(choice, problem, comparison.needsTimes()));
    outcomes.push_back(comparison.finish());
    if (problems.size() == 1 && isRefused(request, outcomes.back()))
      reportNoSchedule(problem, none, outcomes.back().refusals);
    if (request.curves)
      request.curves->push_back(comparison.curve());
    if (Interrupt::happened())
      return Interrupted;
  }
  return exitCodeOf(outcomes);
}

int simulateFile(const SimulateRequest &request) {
  if (StringRef(request.path).ends_with(".mlir"))
    return simulatePlans(request);
  if (!request.costsPath.empty())
    return reportUsage("--costs needs a .mlir file");
  if (!request.problemOutput.empty() && request.window.isEmpty())
    return reportUsage("--problem-output needs a .mlir file, or a window such "
                       "as --iterations 8");
  return simulateProblems(request);
}

} // namespace rondo::driver
