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
  LogicalResult placeByUnit(ScheduleOp schedule, const Problem &problem,
                            const Schedule &order, int64_t unit);
};

/// A number for each rank from `stated`, which has one, or one for all.
LogicalResult take(ScheduleOp schedule, StringRef what,
                   ArrayRef<int64_t> stated, const Problem &problem,
                   int32_t Residency::*field, Residencies &residencies) {
  if (stated.empty())
    return success();
  const auto ranks = static_cast<size_t>(problem.numRanks());
  if (stated.size() != 1 && stated.size() != ranks)
    return schedule.emitError()
           << "gathers<" << what << "> has " << stated.size() << " numbers for "
           << ranks << " ranks; write one number, or one for each rank";
  residencies.resize(ranks, residencies.front());
  for (size_t rank = 0; rank < ranks; ++rank)
    residencies[rank].*field =
        static_cast<int32_t>(stated[stated.size() == 1 ? 0 : rank]);
  // Its homes issue what they do together in one order.
  for (int32_t home = 0; home < problem.numHomes(); ++home) {
    const int32_t rank = problem.rankOf(home),
                  first = problem.rankOf(problem.homes.groupOf(home));
    if (residencies[rank].*field != residencies[first].*field)
      return schedule.emitError()
             << "ranks " << first << " and " << rank
             << " share the state of stage " << problem.homes[home].stage
             << ", but gathers<" << what << "> has "
             << residencies[first].*field << " and " << residencies[rank].*field
             << " chunks for them; ranks that share state have the same number";
  }
  return success();
}

/// One number where all are the same.
SmallVector<int64_t> countsOf(const Residencies &residencies,
                              int32_t Residency::*field) {
  SmallVector<int64_t> counts;
  for (const Residency &residency : residencies)
    counts.push_back(residency.*field);
  if (llvm::all_equal(counts))
    counts.resize(1);
  return counts;
}

/// How many micro-batches a unit of a `blockwise` schedule has; 0 of others.
FailureOr<int64_t> unitOf(ScheduleOp schedule, const Problem &problem) {
  FamilyAttr family = schedule.getFamilyAttr();
  if (!family || family.getName() != "blockwise")
    return int64_t(0);
  FailureOr<FamilyChoice> choice = chooseFamily(schedule);
  if (failed(choice))
    return failure();
  if (choice->hasAuto())
    return int64_t(0);
  if (const int64_t unit = choice->arguments.at("u"))
    return unit;
  // As many as a chunk has stages.
  const int32_t rank = problem.rankOf(0);
  return problem.numStages() /
         llvm::count_if(problem.homes,
                        [&](const Home &home) { return home.rank == rank; });
}

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
  auto gathers = schedule.getGathers();
  if (gathers && gathers->getRule() == GatherRule::Unit)
    return placeByUnit(schedule, *problem, expanded->schedule,
                       gathers->getUnit());
  Residencies residencies(1);
  if (!gathers || gathers->getWeights().empty() ||
      gathers->getGradients().empty())
    residencies = chooseResidencies(*problem, expanded->schedule);
  if (gathers && (failed(take(schedule, "weights", gathers->getWeights(),
                              *problem, &Residency::weights, residencies)) ||
                  failed(take(schedule, "gradients", gathers->getGradients(),
                              *problem, &Residency::gradients, residencies)) ||
                  failed(take(schedule, "ahead", gathers->getAhead(), *problem,
                              &Residency::ahead, residencies))))
    return failure();
  schedule.setGathersAttr(GathersAttr::get(
      &getContext(), countsOf(residencies, &Residency::weights),
      countsOf(residencies, &Residency::gradients),
      gathers ? gathers->getAhead() : ArrayRef<int64_t>(), GatherRule::Nearest,
      /*unit=*/0));
  return foldSchedule(
      placeGathersByRank(*problem, expanded->schedule, residencies), schedule);
}

LogicalResult PlaceGathers::placeByUnit(ScheduleOp schedule,
                                        const Problem &problem,
                                        const Schedule &order, int64_t unit) {
  if (unit == 0) {
    FailureOr<int64_t> own = unitOf(schedule, problem);
    if (failed(own))
      return failure();
    unit = *own;
  }
  if (unit == 0)
    return schedule.emitError()
           << "schedule @" << schedule.getSymName()
           << " gathers by units, but its order has none; say how many "
              "micro-batches one has, as in gathers<rule = unit, unit = 4>, or "
              "let family<\"blockwise\"> write it";
  schedule.setGathersAttr(
      GathersAttr::get(&getContext(), ArrayRef<int64_t>(), ArrayRef<int64_t>(),
                       ArrayRef<int64_t>(), GatherRule::Unit, unit));
  return foldSchedule(placeGathersByUnit(problem, order, unit), schedule);
}

} // namespace
} // namespace rondo::pipe
