//===- SimulateFile.cpp - Times the schedules of a file -------------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "tools/driver/Simulate.h"

#include "dialect/Bridge.h"
#include "passes/Pipelines.h"
#include "planning/JudgedSchedule.h"
#include "planning/PlanArenas.h"
#include "reports/Figures.h"
#include "reports/SearchFigures.h"
#include "schedule/bounds/Bounds.h"
#include "schedule/bounds/Shortfall.h"
#include "tools/driver/Commands.h"
#include "tools/driver/Exchange.h"
#include "tools/driver/Files.h"
#include "tools/driver/Report.h"
#include "tools/driver/Searching.h"
#include "tools/driver/Session.h"
#include "tools/driver/Terminal.h"
#include "tools/driver/Windows.h"

#include "mlir/Pass/PassManager.h"
#include "llvm/ADT/STLExtras.h"
#include "llvm/Support/Process.h"
#include "llvm/Support/raw_ostream.h"

using namespace llvm;

namespace rondo::driver {

namespace {

/// Schedules for which a search found nothing, and why, and those whose
/// programs break a rule.
using Unfound = DenseMap<mlir::Operation *, Fault>;

std::string nameOf(pipe::ScheduleOp op, StringRef family) {
  std::string name = "@" + op.getSymName().str();
  if (op.getSearchAttr())
    name += " search";
  else if (!family.empty())
    name += " " + family.str();
  return name;
}

/// Breaking a rule other than the cap is an error, reported at its place.
mlir::LogicalResult addSchedule(pipe::ScheduleOp op, const Problem &plain,
                                const PlanFigures &figures, Unfound &unfound,
                                Comparison &comparison) {
  if (auto found = unfound.find(op); found != unfound.end()) {
    JudgedSchedule none;
    none.name = nameOf(op, "");
    none.reason = describe(found->second);
    none.fault = found->second;
    comparison.add(none);
    return mlir::success();
  }
  mlir::FailureOr<Problem> own = pipe::withPoliciesOf(op, plain);
  if (failed(own))
    return mlir::failure();
  const Problem &problem = *own;
  mlir::FailureOr<pipe::ExpandedSchedule> expanded =
      pipe::expandSchedule(op, problem);
  mlir::FailureOr<std::string> family = pipe::familyText(op);
  if (failed(expanded) || failed(family))
    return mlir::failure();
  JudgedSchedule candidate =
      evaluate(nameOf(op, *family), *family, problem, expanded->schedule,
               comparison.needsTimes());
  if (candidate.fault && !candidate.isOverCap())
    return pipe::emitFault(*candidate.fault, *expanded, problem, op);
  if (candidate.schedule && op.accumulatesInStatedOrder())
    if (auto fault = checkAccumulation(problem, expanded->schedule))
      op.emitWarning("compile refuses this order: ")
          << describe(*fault, problem);
  // A single iteration has no earlier norm.
  candidate.clipsByNorm =
      problem.iterations > 1 && op.getClip() == pipe::Clip::Global;
  if (problem.iterations == 1 && !op.overlaps())
    addArena(candidate, problem, figures);
  if (!candidate.schedule)
    unfound.try_emplace(op, candidate.fault.value_or(Fault()));
  comparison.add(candidate);
  return mlir::success();
}

/// Prints how close to the optimum a search came.
void printGap(pipe::ScheduleOp op) {
  pipe::FoundAttr found = op.getFoundAttr();
  bool isSpan = op.getSearchAttr().getObjective() == pipe::Objective::Span;
  int64_t reached = isSpan ? found.getSpanNs() : found.getMakespanNs();
  outs() << "@" << op.getSymName() << ": "
         << gapText(found.getProvenOptimal(), reached, found.getLowerBoundNs())
         << ", no " << (isSpan ? "span" : "makespan") << " is below "
         << formatNs(found.getLowerBoundNs()) << " ("
         << printedBound(found.getBound()) << ")\n";
}

/// Schedules that have yet to be searched.
SmallVector<pipe::ScheduleOp> unsearched(mlir::ModuleOp module) {
  auto isUnsearched = [](pipe::ScheduleOp op) {
    return op.getSearchAttr() && op.isBodyEmpty();
  };
  return to_vector(
      make_filter_range(module.getOps<pipe::ScheduleOp>(), isUnsearched));
}

mlir::FailureOr<ComparisonOutcome> comparePlan(pipe::PlanOp plan,
                                               const Problem &problem,
                                               const PlanFigures &figures,
                                               Unfound &unfound,
                                               const SimulateRequest &request) {
  Comparison comparison(problem, request.style, comparisonOutput());
  // Programs are lowered for one iteration, or for any number of them.
  const bool hasArenas = problem.iterations == 1;
  if (hasArenas)
    comparison.showArenas(figures);
  if (std::optional<Fault> shortfall = findShortfall(problem)) {
    const std::string why = describe(*shortfall);
    pipe::DeviceOp device = plan.lookupCluster().getDevices()[shortfall->rank];
    plan.emitError(why).attachNote(device.getLoc())
        << "rank " << shortfall->rank << " is this device";
    return comparison.infeasible(why);
  }
  if (request.search)
    addSearched(comparison, request, problem, &figures);
  std::vector<FamilyChoice> choices = request.choices;
  if (choices.empty() || request.search) {
    bool hasSchedule = false;
    for (auto schedule :
         plan->getParentOfType<mlir::ModuleOp>().getOps<pipe::ScheduleOp>()) {
      if (schedule.lookupPlan() != plan)
        continue;
      hasSchedule = true;
      if (failed(addSchedule(schedule, problem, figures, unfound, comparison)))
        return mlir::failure();
    }
    if (!hasSchedule && choices.empty())
      choices = allFamilies();
  }
  for (const FamilyChoice &choice : choices) {
    JudgedSchedule candidate =
        evaluate(choice, problem, comparison.needsTimes(),
                 hasArenas ? PlanArenas(figures, problem) : PlanArenas());
    if (hasArenas)
      addArena(candidate, problem, figures);
    comparison.add(candidate);
  }
  const ComparisonOutcome outcome = comparison.finish();
  if (request.curves)
    request.curves->push_back(comparison.curve());
  return outcome;
}

} // namespace

static int simulatePlans(const SimulateRequest &request) {
  Session session;
  session.mayBeUneven = true;
  if (int code = session.load(request.path, request.costsPath))
    return code;
  mlir::ModuleOp module = session.module();
  std::vector<Problem> &problems = session.problems;
  if (int code = applyWindow(request.window, session))
    return code;
  noteOverlaps(to_vector(module.getOps<pipe::ScheduleOp>()), problems);
  if (int code = writeProblems(request.problemOutput, problems))
    return code;
  if (request.search)
    request.search->applyObjective(problems);
  // An earlier run's search result holds only for the costs of that time.
  SmallVector<pipe::ScheduleOp> searched;
  Unfound unfound;
  if (request.choices.empty() || request.search) {
    searched = unsearched(module);
    if (failed(session.run([&](mlir::OpPassManager &passes) {
          pipe::buildOrderPipeline(passes, session.control(),
                                   [&](pipe::ScheduleOp op, const Fault &why) {
                                     unfound.try_emplace(op, why);
                                   });
        })))
      return session.exitCode();
  }
  if (request.style == Style::Csv)
    outs() << csvHead();
  std::vector<ComparisonOutcome> outcomes;
  std::optional<size_t> refused;
  for (auto [number, plan] : enumerate(module.getOps<pipe::PlanOp>())) {
    mlir::FailureOr<ComparisonOutcome> outcome = comparePlan(
        plan, problems[number], session.figures[number], unfound, request);
    if (failed(outcome))
      return Failure;
    outcomes.push_back(*outcome);
    if (isRefused(request, outcomes.back()))
      refused = number;
    // A comparison has its own bound.
    if (!request.search && request.style != Style::Json &&
        request.style != Style::ExplainedJson)
      for (pipe::ScheduleOp schedule : searched)
        if (schedule.lookupPlan() == plan && schedule.getFoundAttr() &&
            !unfound.contains(schedule))
          printGap(schedule);
    if (Interrupt::happened())
      return Interrupt::exitCode(Success);
  }
  const int code = exitCodeOf(outcomes);
  if (code != Success && refused)
    session.reportNoSchedule(problems[*refused], outcomes[*refused].refusals,
                             request.choices);
  return code;
}

ComparisonOutput comparisonOutput() {
  const unsigned columns = sys::Process::StandardOutColumns();
  return {outs(), columns ? int(columns) : 100, outs().has_colors(), reportNote,
          Interrupt::flag()};
}

void addSearched(Comparison &comparison, const SimulateRequest &request,
                 const Problem &problem, const PlanFigures *plan) {
  const SearchResult found = runSearch(problem, *request.search, plan);
  comparison.addSearched(found, request.search->recordOf(found),
                         request.search->limitOption(), request.allRanks);
  if (request.queues)
    comparison.showQueues();
}

int exitCodeOf(const std::vector<ComparisonOutcome> &outcomes) {
  if (outcomes.size() != 1 || outcomes.front().hasSchedule)
    return Success;
  return outcomes.front().noOrderFits ? Infeasible : Failure;
}

/// Adds the orders of a file, of which each keeps the rules but the caps.
static int addSchedules(const std::string &path, const Problem &problem,
                        Comparison &comparison) {
  std::vector<FileSchedule> schedules;
  if (int code = readSchedulesFor(problem, path, schedules))
    return code;
  for (FileSchedule &of : schedules) {
    JudgedSchedule candidate = evaluate(
        of.name, "", problem, std::move(of.schedule), comparison.needsTimes());
    if (candidate.fault && !candidate.isOverCap())
      return reportError(of.where + describe(*candidate.fault, problem));
    candidate.clipsByNorm = of.clipsByNorm;
    comparison.add(candidate);
  }
  return Success;
}

static int simulateProblems(const SimulateRequest &request) {
  Session session;
  session.mayBeUneven = true;
  if (int code = session.load(request.path, request.costsPath))
    return code;
  std::vector<Problem> &problems = session.problems;
  if (int code = applyWindow(request.window, session))
    return code;
  if (int code = writeProblems(request.problemOutput, problems))
    return code;
  if (request.search) {
    request.search->applyObjective(problems);
    if (int code = SearchRequest::checkSearchable(problems))
      return code;
  }
  if (request.style == Style::Csv)
    outs() << csvHead();
  std::vector<ComparisonOutcome> outcomes;
  for (const Problem &problem : problems) {
    Comparison comparison(problem, request.style, comparisonOutput());
    if (std::optional<Fault> shortfall = findShortfall(problem)) {
      const std::string why = describe(*shortfall);
      reportError(problem.name + ": " + why);
      outcomes.push_back(comparison.infeasible(why));
      continue;
    }
    if (request.search)
      addSearched(comparison, request, problem, nullptr);
    if (!request.schedulesPath.empty())
      if (int code = addSchedules(request.schedulesPath, problem, comparison))
        return code;
    const bool areAll =
        request.choices.empty() && request.schedulesPath.empty();
    std::vector<FamilyChoice> choices =
        areAll ? allFamilies() : request.choices;
    if (areAll && problem.iterations > 1)
      append_range(choices, overlappedFamilies());
    for (const FamilyChoice &choice : choices)
      comparison.add(evaluate(choice, problem, comparison.needsTimes()));
    outcomes.push_back(comparison.finish());
    if (problems.size() == 1 && isRefused(request, outcomes.back()))
      session.reportNoSchedule(problem, outcomes.back().refusals,
                               request.choices);
    if (request.curves)
      request.curves->push_back(comparison.curve());
    if (Interrupt::happened())
      return Interrupted;
  }
  return exitCodeOf(outcomes);
}

int simulateFile(const SimulateRequest &request) {
  if (isModuleFile(request.path) && !request.schedulesPath.empty())
    return reportUsage("--schedules is for a rondo-problem; a .mlir file has "
                       "schedules of its own");
  if (isModuleFile(request.path))
    return simulatePlans(request);
  if (!request.problemOutput.empty() && request.window.isEmpty())
    return reportUsage("--problem-output needs a .mlir file, or a window such "
                       "as --iterations 8");
  return simulateProblems(request);
}

} // namespace rondo::driver
