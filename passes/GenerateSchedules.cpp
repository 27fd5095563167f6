//===- GenerateSchedules.cpp - Write the schedules that name a family -----===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "dialect/Bridge.h"
#include "passes/Passes.h"
#include "planning/gathers/Units.h"
#include "plans/PlanFigures.h"
#include "schedule/rules/Repeatable.h"
#include "schedule/transforms/Iterations.h"

using namespace mlir;

namespace rondo::pipe {
#define GEN_PASS_DEF_GENERATESCHEDULES
#include "passes/Passes.h.inc"

namespace {

struct GenerateSchedules : impl::GenerateSchedulesBase<GenerateSchedules> {
  void runOnOperation() override {
    for (ScheduleOp schedule : getOperation().getOps<ScheduleOp>())
      if (failed(generate(schedule)))
        return signalPassFailure();
  }

  LogicalResult generate(ScheduleOp schedule);
};

/// Writes the schedule of a family; over several iterations, in a window long
/// enough for the order to repeat. If its times never settle, writes the order
/// of equal times, as papers state it.
FamilyResult generateRepeating(const FamilyChoice &choice, Problem problem) {
  // A longer window takes too long to write and to search.
  constexpr int64_t maxTasks = int64_t(1) << 21;
  if (problem.iterations == 1)
    return rondo::generate(choice, problem);
  const Problem slots = inSlots(problem);
  for (;;) {
    FamilyResult result = rondo::generate(choice, problem);
    if (!result)
      return result;
    if (std::optional<Schedule> order = repeatableOrder(problem, *result))
      return std::move(*order);
    if (result->numActions() > maxTasks / 2)
      break;
    auto longer = overIterations(problem, 2 * int64_t(problem.iterations));
    if (!longer)
      return std::move(longer.fault());
    problem = std::move(*longer);
  }
  return rondo::generate(choice, slots);
}

/// The attribute with the chosen numbers in place of its own.
FamilyAttr withArguments(FamilyAttr family, const FamilyArguments &chosen) {
  Builder builder(family.getContext());
  NamedAttrList list;
  for (NamedAttribute argument : family.getArguments())
    if (const auto found = chosen.find(argument.getName().str());
        found != chosen.end())
      list.append(argument.getName(), builder.getI64IntegerAttr(found->second));
    else
      list.append(argument);
  return FamilyAttr::get(family.getContext(), family.getName(),
                         list.getDictionary(family.getContext()));
}

/// The advice if a schedule's family does not apply: families or searches that
/// order the stages.
std::string otherOrders(ScheduleOp schedule, const Problem &problem) {
  if (problem.iterations > 1) {
    const StringRef family = schedule.getFamilyAttr().getName();
    const Family *known = findFamily(family.str());
    return "`rondo search FILE --iterations 12 --policy " +
           std::string(known && known->policy ? known->policy : "NAME") +
           " -o OUT.mlir` orders any stages";
  }
  // Families of larger problems take long to write.
  constexpr int64_t maxTasks = int64_t(1) << 14;
  std::string names;
  for (const FamilyChoice &choice : allFamilies()) {
    if (problem.numTasks() > maxTasks)
      break;
    const FamilyResult order = rondo::generate(choice, problem);
    if (order &&
        (problem.replicas.areSharded() || !checkSchedule(problem, *order)) &&
        (!schedule.accumulatesInStatedOrder() ||
         !checkAccumulation(problem, *order)))
      names += (names.empty() ? "" : ", ") + std::string(choice.family->name);
  }
  return (names.empty() ? "" : "families that apply: " + names + "; ") +
         "search<effort = 1000> orders any stages";
}

LogicalResult GenerateSchedules::generate(ScheduleOp schedule) {
  FamilyAttr family = schedule.getFamilyAttr();
  if (!family || !schedule.isBodyEmpty())
    return success();
  PlanOp plan = schedule.lookupPlan();
  FailureOr<Problem> problem = buildProblem(schedule);
  if (failed(problem))
    return failure();
  FailureOr<FamilyChoice> choice = chooseFamily(schedule);
  if (failed(choice))
    return failure();
  auto refuse = [&](const Fault &wrong) -> LogicalResult {
    InFlightDiagnostic error = schedule.emitError()
                               << "family '" << family.getName()
                               << "' does not apply: " << describe(wrong);
    error.attachNote(plan.getLoc())
        << "this is the plan; " << otherOrders(schedule, *problem);
    return error;
  };
  if (choice->hasAuto()) {
    const PlanFigures figures = figuresOf(plan);
    auto chosen = withNumbers(*choice, *problem, PlanArenas(figures, *problem));
    if (!chosen)
      return refuse(chosen.fault());
    *choice = std::move(*chosen);
    schedule.setFamilyAttr(withArguments(family, choice->arguments));
  }
  FamilyResult result = generateRepeating(*choice, *problem);
  if (!result)
    return refuse(result.fault());
  if (schedule.overlaps() && !schedule.getVersions()) {
    // The family's, so that the schedule says what its tasks read.
    Builder builder(schedule.getContext());
    schedule.setVersionsAttr(builder.getArrayAttr(
        VersionsAttr::get(schedule.getContext(), problem->versions.front())));
  }
  return foldSchedule(*result, schedule);
}

} // namespace
} // namespace rondo::pipe
