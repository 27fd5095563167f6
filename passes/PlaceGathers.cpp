//===- PlaceGathers.cpp - Where sharded stages gather and reduce ----------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "schedule/PlaceGathers.h"
#include "dialect/Bridge.h"
#include "passes/Passes.h"
#include "schedule/Legality.h"
#include "schedule/Shards.h"

using namespace mlir;

namespace rondo::pipe {
#define GEN_PASS_DEF_PLACEGATHERS
#include "passes/Passes.h.inc"

namespace {

struct PlaceGathers : impl::PlaceGathersBase<PlaceGathers> {
  void runOnOperation() override {
    for (ScheduleOp schedule : getOperation().getOps<ScheduleOp>())
      if (failed(place(schedule)))
        return signalPassFailure();
  }

  LogicalResult place(ScheduleOp schedule);
};

LogicalResult PlaceGathers::place(ScheduleOp schedule) {
  PlanOp plan = schedule.lookupPlan();
  if (!plan || !plan.getHomes().areSharded()) {
    if (schedule.getGathers())
      return schedule.emitError()
             << "schedule @" << schedule.getSymName()
             << " says how many chunks are gathered, but no stage of plan "
             << schedule.getPlanAttr() << " is sharded";
    return success();
  }
  if (schedule.isBodyEmpty())
    return success();
  FailureOr<Problem> problem = buildProblem(schedule);
  if (failed(problem))
    return failure();
  FailureOr<ExpandedSchedule> expanded = expandSchedule(schedule, *problem);
  if (failed(expanded))
    return failure();
  if (movesState(expanded->schedule))
    return success();
  // Verifying says what is wrong with an order that cannot run.
  for (auto rule : {checkCompleteness, checkPlacement, checkDependence})
    if (rule(*problem, expanded->schedule))
      return success();
  Residency residency;
  auto gathers = schedule.getGathers();
  if (!gathers || gathers->getWeights() < 0 || gathers->getGradients() < 0)
    residency = chooseResidency(*problem, expanded->schedule);
  if (gathers && gathers->getWeights() >= 0)
    residency.weights = static_cast<int32_t>(gathers->getWeights());
  if (gathers && gathers->getGradients() >= 0)
    residency.gradients = static_cast<int32_t>(gathers->getGradients());
  schedule.setGathersAttr(
      GathersAttr::get(&getContext(), residency.weights, residency.gradients));
  return foldSchedule(placeGathers(*problem, expanded->schedule, residency),
                      schedule);
}

} // namespace
} // namespace rondo::pipe
