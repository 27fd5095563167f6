//===- PlanSearch.cpp - Searches among plans and reports ------------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "tools/driver/Searching.h"

#include "planning/PlanSearch.h"

#include "dialect/Bridge.h"
#include "formats/json/ProblemWriter.h"
#include "modules/SinglePlan.h"
#include "plans/PlanFactory.h"
#include "reports/Figures.h"
#include "reports/SearchFigures.h"
#include "reports/Table.h"
#include "schedule/bounds/Shortfall.h"
#include "tools/driver/Commands.h"
#include "tools/driver/Files.h"
#include "tools/driver/Report.h"
#include "tools/driver/Session.h"
#include "tools/driver/Terminal.h"

#include "llvm/ADT/STLExtras.h"
#include "llvm/Support/Format.h"

#include <cmath>
#include <optional>

using namespace llvm;

namespace rondo::driver {

namespace {

/// One `rondo search` among plans.
class PlanSearchRun {
public:
  PlanSearchRun(const PlanSearchRequest &request, Session &session)
      : request(request), deadline(request.search.options.timeLimitMs),
        session(session) {}

  int run();

private:
  /// The output is a module, whose schedule must give the sequential run's
  /// bits.
  bool isModule() const { return isModuleFile(request.output); }
  ArrayRef<PlanCandidate> candidates() const { return result.candidates; }
  mlir::OwningOpRef<mlir::ModuleOp> moduleOf(const PlanCandidate &best);
  std::string nearest() const;
  void printTable(const PlanCandidate *best, raw_ostream &os);
  int write(const PlanCandidate &best);
  int reportNone();

  const PlanSearchRequest &request;
  const Deadline deadline;
  Session &session;
  pipe::PlanOp base;
  std::optional<pipe::PlanFactory> factory;
  PlanSearchResult result;
};

} // namespace

/// A module with only the candidate's model, cluster, plan and schedule, under
/// their names in the file. Null after an error.
mlir::OwningOpRef<mlir::ModuleOp>
PlanSearchRun::moduleOf(const PlanCandidate &best) {
  auto [module, plan] = pipe::moduleOfPlan(factory->plan(best.plan->id),
                                           base.getSymName(), base.getModel());
  pipe::dropStageFigures(plan);
  if (failed(pipe::addSchedule(plan, "searched", *best.found->schedule,
                               best.plan->problem)))
    return {};
  return std::move(module);
}

/// Describes by how much the nearest plan exceeds its devices, and what would
/// help.
std::string PlanSearchRun::nearest() const {
  std::string said;
  double least = std::numeric_limits<double>::infinity();
  for (const PlanCandidate &candidate : candidates()) {
    if (!candidate.plan)
      continue;
    const Problem &problem = candidate.plan->problem;
    const std::vector<int64_t> one = leastActivationBytes(problem);
    double most = 0;
    std::string where;
    for (auto [rank, memory] : enumerate(problem.devices)) {
      const int64_t need = memory.stateBytes + one[rank];
      const double part = double(need) / double(memory.deviceBytes);
      if (part < most)
        continue;
      most = part;
      where = "rank " + std::to_string(rank) + " needs " +
              std::to_string(need) + " bytes and its device has " +
              std::to_string(memory.deviceBytes);
    }
    if (most >= least)
      continue;
    least = most;
    said = "; the closest is '" + candidate.shape.text() + "': " +
           (most > 1 ? "even with one micro-batch at a time, and not counting "
                       "messages, " +
                           where
                     : reasonOf(candidate, candidates()));
  }
  said += "; try devices with more memory, smaller micro-batches "
          "(--microbatches with larger numbers) ";
  return said + (request.shapes.placements == "auto"
                     ? "or fewer layers on that rank"
                     : "or other placements (--placement auto)");
}

/// Gap of a cut that may not be the best for its busiest rank; empty if it is
/// the best.
static std::string cutGapText(const PlanCandidate &candidate) {
  // Hundredths of a percent, rounded up.
  const auto gap =
      static_cast<int64_t>(std::ceil(10000 * candidate.plan->cutGap));
  std::string text;
  if (gap > 0)
    raw_string_ostream(text)
        << "its busiest rank has at most " << gap / 100 << "."
        << format("%02lld", static_cast<long long>(gap % 100))
        << " % more work than in the best cut";
  return text;
}

void PlanSearchRun::printTable(const PlanCandidate *best, raw_ostream &os) {
  // Considers only candidates with a plan.
  const bool isSpan = any_of(candidates(), [](const PlanCandidate &candidate) {
    return candidate.plan &&
           candidate.plan->problem.objective == Objective::Span;
  });
  Table table;
  table.add({"plan", isSpan ? "span" : "makespan", "at least", ""});
  const auto without = planless(candidates());
  for (const PlanCandidate &candidate : candidates()) {
    std::vector<std::string> row = {candidate.shape.text()};
    if (!candidate.plan) {
      auto said = without.find(&candidate);
      if (said == without.end())
        continue;
      row = {said->second, reasonOf(candidate, candidates())};
    } else {
      row.push_back(candidate.objective() == infinite
                        ? "-"
                        : formatNs(candidate.objective()));
      row.push_back(formatNs(candidate.knownBound()));
      std::string said =
          &candidate == best ? "chosen" : reasonOf(candidate, candidates());
      if (const std::string gap = cutGapText(candidate); !gap.empty())
        said += (said.empty() ? "" : "; ") + gap;
      row.push_back(std::move(said));
    }
    table.add(std::move(row));
  }
  os << base.getSymName() << ": an iteration of "
     << countOf(base.lookupModel().getLayers().size(), "layer") << " on "
     << countOf(base.lookupCluster().getDevices().size(), "rank") << "\n";
  table.print(os);
}

int PlanSearchRun::write(const PlanCandidate &best) {
  const Problem &problem = best.plan->problem;
  const std::string &problemOutput = request.problemOutput;
  mlir::OwningOpRef<mlir::ModuleOp> module;
  if (isModule()) {
    module = moduleOf(best);
    if (!module)
      return Failure;
    if (Error error = pipe::checkCompiles(*module))
      return reportError(toString(std::move(error)));
  }
  int code = writeOrReport(request.output, [&](raw_ostream &os) {
    if (module)
      return module->print(os);
    json::SearchRecord record = request.search.recordOf(*best.found);
    json::writeSchedule(os, problem, *best.found->schedule,
                        best.found->simulation, best.found->origin, &record);
    os << "\n";
  });
  if (!code)
    code = writeProblems(problemOutput, problem);
  if (code)
    return code;
  const int64_t reached = best.objective(), bound = result.boundNs;
  if (request.output != "-" && !isSpecialFile(request.output))
    outs() << "wrote " << request.output
           << (problemOutput.empty() ? "" : " and " + problemOutput) << ": "
           << best.shape.text() << ", " << objectiveName(problem) << " "
           << formatNs(reached) << ", "
           << gapText(reached <= bound, reached, bound)
           << (candidates().size() == 1 ? ""
               : any_of(candidates(),
                        [](const PlanCandidate &c) {
                          return !c.plan &&
                                 c.state == PlanCandidate::State::NoTime;
                        })
                   ? " among the plans above that had time"
                   : " among the plans above")
           << "\n";
  return Success;
}

/// Reports why nothing was chosen; returns the exit code.
int PlanSearchRun::reportNone() {
  const auto report = [&](const Twine &why) {
    outs().flush();
    base.emitError() << why;
    return Failure;
  };
  if (result.isInterrupted)
    return report("interrupted before a plan with a schedule was found");
  if (any_of(candidates(), [](const PlanCandidate &c) {
        return c.state == PlanCandidate::State::NoTime;
      }))
    return report("time ended before a plan with a schedule was found; raise "
                  "--time-limit-ms");
  // Then memory is not the reason.
  if (none_of(candidates(),
              [](const PlanCandidate &c) { return bool(c.plan); }))
    return report("no plan has any of these shapes; see the table");
  report("none of these plans has a schedule that fits" + nearest());
  return all_of(candidates(),
                [](const PlanCandidate &c) {
                  return !c.plan || (c.fault && isShortfall(*c.fault));
                })
             ? Infeasible
             : Failure;
}

int PlanSearchRun::run() {
  if (int code = readBasePlan(session, request.path, base))
    return code;
  std::vector<PlanShape> shapes;
  if (int code = chooseShapes(request.shapes, base, shapes))
    return code;
  factory.emplace(base);
  Interrupt interrupt;
  PlanSearchOptions options;
  options.search = request.search.options;
  options.search.inIndexOrder = isModule();
  options.objective = request.search.objective;
  options.deadline = deadline;
  {
    Progress progress(1);
    options.observer = [&](const PlanCandidate &candidate,
                           const SearchProgress &now) {
      progress.show(candidate.plan->problem, candidate.shape.text(), now);
    };
    result = rondo::searchPlans(pipe::shapeSpace(*factory), shapes, options);
  }
  const PlanCandidate *best =
      result.best ? &result.candidates[*result.best] : nullptr;
  // The table goes to standard error if the result goes to standard output.
  printTable(best, request.output == "-" ? errs() : outs());
  if (!best)
    return reportNone();
  if (int code = write(*best))
    return code;
  return Interrupt::happened() ? Interrupted : Success;
}

int searchPlans(const PlanSearchRequest &request, Session &session) {
  return PlanSearchRun(request, session).run();
}

} // namespace rondo::driver
