//===- SimulateProblems.cpp - Times of schedules of rondo-problem/1 -------===//

#include "codegen/json/ProblemReader.h"
#include "schedule/Shortfall.h"
#include "tools/driver/Commands.h"
#include "tools/driver/Files.h"
#include "tools/driver/Interrupt.h"
#include "tools/driver/Report.h"
#include "tools/driver/SearchRun.h"
#include "tools/driver/Simulate.h"

using namespace llvm;

namespace rondo::driver {

int simulateProblems(const SimulateRequest &request) {
  const std::string &path = request.path;
  Expected<std::unique_ptr<MemoryBuffer>> contents = readFile(path);
  if (!contents)
    return reportError(toString(contents.takeError()));
  Expected<json::ProblemFile> file =
      json::readProblems(path, (*contents)->getBuffer());
  if (!file) {
    int code = reportError(path + ": " + toString(file.takeError()));
    if (!StringRef(path).ends_with(".json") &&
        !StringRef(path).ends_with(".jsonl"))
      reportNote("a file is either plans (.mlir) or rondo-problem/1 (.json, or "
                 ".jsonl with one a line)");
    return code;
  }
  if (request.withSearch)
    applyObjective(file->problems);
  const std::vector<FamilyChoice> choices =
      request.choices.empty() ? allFamilies() : request.choices;
  if (request.style == Style::Csv)
    outs() << csvHead();
  std::vector<Outcome> outcomes;
  for (const Problem &problem : file->problems) {
    Comparison comparison(problem, request.style);
    if (std::optional<Shortfall> shortfall = findShortfall(problem)) {
      reportError(problem.name + ": " + shortfall->message);
      outcomes.push_back(comparison.infeasible(shortfall->message));
      continue;
    }
    if (request.withSearch)
      comparison.addSearched(runSearch(problem), request.allRanks);
    for (const FamilyChoice &choice : choices)
      comparison.add(evaluate(choice, problem, comparison.needsTimes()));
    outcomes.push_back(comparison.finish());
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
  if (!request.problemOutput.empty())
    return reportUsage("--problem-output needs a .mlir file");
  return simulateProblems(request);
}

} // namespace rondo::driver
