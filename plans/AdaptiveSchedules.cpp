//===- AdaptiveSchedules.cpp - What an adaptive executable runs -----------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "plans/AdaptiveSchedules.h"

#include "dialect/Bridge.h"
#include "plans/PlanFactory.h"
#include "plans/Programs.h"
#include "schedule/rules/Legality.h"

#include "mlir/IR/Builders.h"

#include <map>

using namespace mlir;

namespace rondo::pipe {

/// Time limit of the whole search if neither time nor effort is given.
static constexpr int64_t defaultTimeLimitMs = 5000;

AdaptiveAttr defaultAdaptive(MLIRContext *context) {
  return AdaptiveAttr::get(context, defaultCandidates,
                           /*memory_bytes=*/std::nullopt,
                           /*time_limit_ms=*/std::nullopt,
                           /*effort=*/std::nullopt, /*seed=*/0);
}

static CandidateOptions optionsOf(AdaptiveAttr adaptive,
                                  const std::atomic<bool> *interrupt) {
  CandidateOptions options;
  options.most = adaptive.getCandidates();
  options.seed = adaptive.getSeed();
  options.effort = adaptive.getEffort().value_or(0);
  options.deadline = Deadline(adaptive.getTimeLimitMs().value_or(
      options.effort > 0 ? 0 : defaultTimeLimitMs));
  options.interrupt = interrupt;
  return options;
}

/// `k2_m16` or `searched_m8`, or the same with a number appended.
static std::string nameFor(const Candidate &candidate, Operation *module) {
  const std::string stem =
      (candidate.group > 0 ? "k" + std::to_string(candidate.group)
                           : std::string("searched")) +
      "_m" + std::to_string(candidate.microbatches);
  std::string name = stem;
  for (int number = 2; SymbolTable::lookupSymbolIn(module, name); ++number)
    name = stem + "_" + std::to_string(number);
  return name;
}

static FamilyAttr familyOf(const Candidate &candidate, OpBuilder &builder) {
  if (candidate.family.empty())
    return {};
  return familyAttrOf(*parseFamily(candidate.family), builder.getContext());
}

/// Writes a kept candidate after the written schedule.
static FailureOr<ScheduleOp> writeSchedule(Candidate &candidate,
                                           ScheduleOp written, PlanOp plan,
                                           const Problem &problem) {
  OpBuilder builder(written);
  Operation *last = written;
  // After the schedules that are there already.
  while (isa_and_nonnull<ScheduleOp, ProgramOp>(last->getNextNode()))
    last = last->getNextNode();
  builder.setInsertionPointAfter(last);
  SearchAttr search;
  FoundAttr found;
  if (const std::optional<SearchResult> &result = candidate.found) {
    search =
        SearchAttr::get(builder.getContext(), Objective::Makespan,
                        /*time_limit_ms=*/std::nullopt,
                        /*effort=*/std::nullopt, /*seed=*/0, Orders::WPerm);
    found = FoundAttr::get(
        builder.getContext(), result->origin, result->simulation.makespanNs,
        result->simulation.spanNs, result->bound.ns, result->bound.name,
        result->provenOptimal, static_cast<pipe::SearchStop>(result->stop));
  }
  auto schedule = ScheduleOp::create(
      builder, written.getLoc(), nameFor(candidate, written->getParentOp()),
      plan.getSymName(), familyOf(candidate, builder), search, found,
      /*versions=*/ArrayAttr(), GathersAttr(), /*claims=*/ClaimsAttr(),
      /*order=*/DenseI32ArrayAttr(), Accumulate::IndexOrder, written.getNorm());
  candidate.name = schedule.getSymName().str();
  if (failed(foldSchedule(candidate.schedule, schedule)))
    return failure();
  // Its messages are placed for a network that the cluster does not state.
  builder.setInsertionPointAfter(schedule);
  ProgramOp program =
      createProgram(builder, written.getLoc(),
                    programName(schedule, rondo::ProgramKind::Pipeline),
                    schedule, ProgramKind::Pipeline);
  foldProgram(candidate.program, problem, program);
  return schedule;
}

/// Reports a schedule that an adaptive executable cannot change.
static LogicalResult checkMayChange(ExecutableOp executable) {
  ScheduleOp written = executable.lookupSchedules().front();
  if (written.overlaps())
    return executable.emitError()
               .append("iterations of schedule @", written.getSymName(),
                       " overlap; an adaptive executable changes its schedule "
                       "between iterations, so its schedules end each of them: "
                       "use one that drains, such as family<\"1f1b\">, or "
                       "compile it without --adaptive")
               .attachNote(written.getLoc())
           << "this is the schedule";
  return success();
}

/// Writes the kept candidates that are new, with their plans; returns the names
/// of all kept ones.
static FailureOr<ArrayAttr>
writeKept(CandidateTable &table, PlanFactory &factory, ScheduleOp written) {
  // Keys are places in the table.
  std::map<size_t, PlanOp> plans;
  for (size_t place : table.kept)
    plans[table.candidates[place].plan] = PlanOp();
  const std::string stem = written.lookupPlan().getSymName().str() + "_m";
  for (auto &[place, plan] : plans)
    plan = factory.addToSource(
        table.plans[place].id,
        stem + std::to_string(table.plans[place].problem.microbatches));
  SmallVector<Attribute> names;
  for (size_t place : table.kept) {
    ScheduleOp schedule = written;
    if (place != 0) {
      Candidate &candidate = table.candidates[place];
      FailureOr<ScheduleOp> added =
          writeSchedule(candidate, written, plans[candidate.plan],
                        table.plans[candidate.plan].problem);
      if (failed(added))
        return failure();
      schedule = *added;
    }
    names.push_back(FlatSymbolRefAttr::get(schedule.getSymNameAttr()));
  }
  return ArrayAttr::get(written.getContext(), names);
}

FailureOr<CandidateTable> chooseCandidates(ExecutableOp executable,
                                           const std::atomic<bool> *interrupt) {
  if (failed(checkMayChange(executable)))
    return failure();
  ScheduleOp written = executable.lookupSchedules().front();
  PlanOp plan = written.lookupPlan();
  FailureOr<Problem> problem = buildProblem(plan);
  if (failed(problem))
    return failure();
  FailureOr<ExpandedSchedule> order = expandSchedule(written, *problem);
  if (failed(order))
    return failure();
  if (std::optional<Fault> fault = checkSchedule(*problem, order->schedule))
    return emitFault(*fault, *order, *problem, written);
  FailureOr<std::string> family = familyText(written);
  if (failed(family))
    return failure();
  AdaptiveAttr adaptive = executable.getAdaptiveAttr();
  PlanFactory factory(plan);
  Result<CandidateTable> found = findCandidates(
      sizedPlans(factory, adaptive.getMemoryBytes().value_or(noMemoryCap),
                 written.computesNorm()),
      {written.getSymName().str(), *family, order->schedule},
      optionsOf(adaptive, interrupt));
  if (!found) {
    executable.emitError() << "schedule @" << written.getSymName()
                           << " does not run: "
                           << describe(found.fault(), *problem);
    return failure();
  }
  FailureOr<ArrayAttr> names = writeKept(*found, factory, written);
  if (failed(names))
    return failure();
  executable.setSchedulesAttr(*names);
  return std::move(*found);
}

} // namespace rondo::pipe
