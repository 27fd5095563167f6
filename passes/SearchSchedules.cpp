//===- SearchSchedules.cpp - Write the schedules that name a search -------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "passes/Passes.h"
#include "planning/FittingSearch.h"
#include "plans/PlanFigures.h"
#include "schedule/bounds/Shortfall.h"
#include "schedule/search/Search.h"

using namespace mlir;

namespace rondo::pipe {
#define GEN_PASS_DEF_SEARCHSCHEDULES
#include "passes/Passes.h.inc"

static_assert(int(pipe::Objective::Makespan) ==
                      int(rondo::Objective::Makespan) &&
                  int(pipe::Objective::Span) == int(rondo::Objective::Span),
              "the dialect's objectives are the core's, in the same order");
static_assert(int(pipe::Orders::Index) == int(OrderClass::Index) &&
                  int(pipe::Orders::WPerm) == int(OrderClass::WPerm),
              "the dialect's order classes are the core's, in the same order");
static_assert(int(pipe::SearchStop::Exhausted) ==
                      int(rondo::SearchStop::Exhausted) &&
                  int(pipe::SearchStop::Optimal) ==
                      int(rondo::SearchStop::Optimal) &&
                  int(pipe::SearchStop::Time) == int(rondo::SearchStop::Time) &&
                  int(pipe::SearchStop::Interrupted) ==
                      int(rondo::SearchStop::Interrupted),
              "the dialect knows why a search ends, in the core's order");

namespace {

struct SearchSchedules : impl::SearchSchedulesBase<SearchSchedules> {
  using SearchSchedulesBase::SearchSchedulesBase;

  void runOnOperation() override {
    for (ScheduleOp schedule : getOperation().getOps<ScheduleOp>())
      if (schedule.getSearchAttr() && schedule.isBodyEmpty() &&
          failed(write(schedule)))
        return signalPassFailure();
  }

  LogicalResult write(ScheduleOp schedule);
  SearchOptions optionsOf(SearchAttr search) const;

  RunControl *control = nullptr;
  OnNone onNone;
};

/// The options of the op; those of the pass override them.
SearchOptions SearchSchedules::optionsOf(SearchAttr search) const {
  SearchOptions options;
  options.seed = seed >= 0 ? seed : search.getSeed();
  options.effort =
      effort >= 0 ? int64_t(effort) : search.getEffort().value_or(0);
  options.timeLimitMs =
      timeLimitMs >= 0
          ? int64_t(timeLimitMs)
          : search.getTimeLimitMs().value_or(
                options.effort > 0 ? 0 : SearchOptions().timeLimitMs);
  options.interrupt = control ? control->interrupt : nullptr;
  return options;
}

LogicalResult SearchSchedules::write(ScheduleOp schedule) {
  SearchAttr search = schedule.getSearchAttr();
  PlanOp plan = schedule.lookupPlan();
  if (schedule.getGathers())
    return schedule.emitError()
           << "schedule @" << schedule.getSymName()
           << " is searched, and a search chooses how many chunks are gathered "
              "and when; leave gathers<...> out, or write family<...>";
  FailureOr<Problem> problem = buildProblem(plan);
  if (failed(problem))
    return failure();
  problem->objective = static_cast<rondo::Objective>(search.getObjective());
  SearchOptions options = optionsOf(search);
  options.orders = schedule.accumulatesInStatedOrder()
                       ? static_cast<OrderClass>(search.getOrders())
                       : OrderClass::Free;
  options.inIndexOrder =
      schedule.accumulatesInStatedOrder() && !problem->isUneven();
  SearchResult result =
      searchPlan(figuresOf(plan), *problem, options, rondo::search);
  if (!result.schedule && onNone) {
    onNone(schedule, *result.fault);
    return success();
  }
  if (!result.schedule) {
    InFlightDiagnostic error = schedule.emitError() << describe(*result.fault);
    if (isShortfall(*result.fault)) {
      if (control)
        control->noOrderFits = true;
      const int32_t rank = result.fault->rank;
      DeviceOp device = plan.lookupCluster().getDevices()[rank];
      error.attachNote(device.getLoc())
          << "rank " << rank << " is device @" << device.getSymName();
    } else {
      error.attachNote(plan.getLoc()) << "this is the plan";
    }
    return error;
  }
  schedule.setFoundAttr(FoundAttr::get(
      &getContext(), result.origin, result.simulation.makespanNs,
      result.simulation.spanNs, result.bound.ns, result.bound.name,
      result.provenOptimal, static_cast<pipe::SearchStop>(result.stop)));
  return foldSchedule(*result.schedule, schedule);
}

} // namespace

std::unique_ptr<Pass> createSearchSchedules(RunControl *control,
                                            OnNone onNone) {
  auto pass = std::make_unique<SearchSchedules>();
  pass->control = control;
  pass->onNone = std::move(onNone);
  return pass;
}

} // namespace rondo::pipe
