//===- SimulatePlans.cpp - Times the schedules of a .mlir file ------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "tools/driver/Simulate.h"

#include "dialect/Bridge.h"
#include "passes/Passes.h"
#include "planning/PlanArenas.h"
#include "schedule/bounds/Bounds.h"
#include "schedule/bounds/Shortfall.h"
#include "tools/driver/Commands.h"
#include "tools/driver/Interrupt.h"
#include "tools/driver/Plans.h"
#include "tools/driver/Report.h"
#include "tools/driver/SearchRun.h"
#include "tools/driver/Windows.h"

#include "mlir/Pass/PassManager.h"
#include "llvm/ADT/STLExtras.h"
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
    Candidate none;
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
  Candidate candidate = evaluate(nameOf(op, *family), *family, problem,
                                 expanded->schedule, comparison.needsTimes());
  if (candidate.fault && !candidate.isOverCap())
    return pipe::emitFault(*candidate.fault, *expanded, problem, op);
  if (candidate.schedule && op.accumulatesInIndexOrder())
    if (auto fault = checkAccumulation(problem, expanded->schedule))
      op.emitWarning("compile refuses this order: ")
          << describe(*fault, problem);
  // Of one iteration there is no earlier norm.
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

mlir::FailureOr<Outcome> comparePlan(pipe::PlanOp plan, const Problem &problem,
                                     const PlanFigures &figures,
                                     Unfound &unfound,
                                     const SimulateRequest &request) {
  Comparison comparison(problem, request.style);
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
    comparison.addSearched(runSearch(problem, *request.search, &figures),
                           *request.search, request.allRanks);
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
    Candidate candidate =
        evaluate(choice, problem, comparison.needsTimes(),
                 hasArenas ? PlanArenas(figures, problem) : PlanArenas());
    if (hasArenas)
      addArena(candidate, problem, figures);
    comparison.add(candidate);
  }
  const Outcome outcome = comparison.finish();
  if (request.curves)
    request.curves->push_back(comparison.curve());
  return outcome;
}

} // namespace

int simulatePlans(const SimulateRequest &request) {
  ModuleFile file;
  std::vector<Problem> problems;
  std::vector<PlanFigures> figures;
  if (int code =
          readPlans(file, request.path, request.costsPath, problems, figures))
    return code;
  mlir::ModuleOp module = file.module();
  if (int code = applyWindow(request.window, file, problems))
    return code;
  noteOverlaps(to_vector(module.getOps<pipe::ScheduleOp>()), problems);
  if (!request.problemOutput.empty())
    if (Error error = writeProblems(request.problemOutput, problems))
      return reportError(toString(std::move(error)));
  if (request.search)
    request.search->applyObjective(problems);
  // An earlier run's search result holds only for the costs of that time.
  SmallVector<pipe::ScheduleOp> searched;
  Unfound unfound;
  if (request.choices.empty() || request.search) {
    searched = unsearched(module);
    if (failed(file.run([&](mlir::OpPassManager &passes) {
          passes.addPass(pipe::createGenerateSchedules());
          passes.addPass(pipe::createSearchSchedules(
              file.control(), [&](pipe::ScheduleOp op, const Fault &why) {
                unfound.try_emplace(op, why);
              }));
          passes.addPass(pipe::createPlaceGathers());
        })))
      return file.exitCode();
  }
  if (request.style == Style::Csv)
    outs() << csvHead();
  std::vector<Outcome> outcomes;
  std::optional<size_t> refused;
  for (auto [number, plan] : enumerate(module.getOps<pipe::PlanOp>())) {
    mlir::FailureOr<Outcome> outcome =
        comparePlan(plan, problems[number], figures[number], unfound, request);
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
    reportNoSchedule(problems[*refused], file, outcomes[*refused].refusals);
  return code;
}

} // namespace rondo::driver
