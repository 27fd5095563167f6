//===- PlaceGathers.cpp - Where sharded stages gather and reduce ----------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "schedule/gathers/PlaceGathers.h"
#include "dialect/Bridge.h"
#include "kinds/Counts.h"
#include "passes/Passes.h"
#include "planning/gathers/FittingGathers.h"
#include "plans/PlanFigures.h"
#include "schedule/order/Shards.h"
#include "schedule/rules/Legality.h"

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
                            const ExpandedSchedule &expanded, int64_t unit);
};

/// One of the numbers of `gathers`, as stated.
struct Stated {
  StringRef what;
  ArrayRef<int64_t> counts;
  int32_t Residency::*field;

  int32_t of(size_t rank) const {
    return static_cast<int32_t>(counts[counts.size() == 1 ? 0 : rank]);
  }
};

/// The chunks that a rank of an order by hand holds whole at once.
struct Held {
  int64_t weights = 0, gradients = 0;
  /// [replica]: number of micro-batches whose gradients are not reduced; and
  /// the micro-batch whose tasks have read what is gathered, -1: none yet, -2:
  /// several.
  std::vector<int64_t> unreduced, readBy;
};

/// Checks that an order that moves state by itself holds no more than `gathers`
/// states. O(actions * replicas).
class StatedOrder {
public:
  StatedOrder(ScheduleOp schedule, const Problem &problem,
              const ExpandedSchedule &expanded, const Stated &weights,
              const Stated &gradients)
      : schedule(schedule), problem(problem), expanded(expanded),
        weights(weights), gradients(gradients) {}

  LogicalResult check() const {
    for (int32_t rank = 0; rank < problem.numRanks(); ++rank) {
      Held held{0, 0, std::vector<int64_t>(problem.numReplicas(), 0),
                std::vector<int64_t>(problem.numReplicas(), -1)};
      const ActionRange order = expanded.schedule.rank(rank);
      for (int64_t i = 0; i < order.size(); ++i) {
        Operation *op = expanded.opOf[expanded.schedule.rankBegin(rank) + i];
        take(order[i], held);
        if (failed(compare(op, rank, weights, held.weights,
                           llvm::is_contained(held.readBy, -2))) ||
            failed(compare(op, rank, gradients, held.gradients,
                           llvm::any_of(held.unreduced, [](int64_t count) {
                             return count > 1;
                           }))))
          return failure();
      }
    }
    return success();
  }

private:
  void take(Action action, Held &held) const {
    const auto replica = static_cast<int32_t>(action.subject);
    if (!(action.isTask() || action.traits().movesState()) ||
        !problem.replicas[replica].isSharded())
      return;
    const rondo::ShardedState how = problem.shardedState(replica);
    const bool isWeights = how == rondo::ShardedState::Weights,
               isGradients = how != rondo::ShardedState::Optimizer;
    if (action.kind() == ActionKind::Unshard) {
      held.weights += isWeights;
      held.readBy[replica] = -1;
    } else if (action.kind() == ActionKind::Reshard) {
      held.weights -= isWeights;
      held.readBy[replica] = -1;
    } else if (action.kind() == ActionKind::ReduceGrad) {
      held.gradients -= isGradients && held.unreduced[replica] > 0;
      held.unreduced[replica] = 0;
    } else {
      int64_t &by = held.readBy[replica];
      by = !isWeights || by == -1 || by == action.index ? action.index : -2;
      if (action.traits().makes & weightGradDone) {
        held.gradients += isGradients && held.unreduced[replica] == 0;
        held.unreduced[replica] += isGradients;
      }
    }
  }

  LogicalResult compare(Operation *op, int32_t rank, const Stated &stated,
                        int64_t held, bool isOfSeveral) const {
    if (stated.counts.empty())
      return success();
    const int64_t most = stated.of(rank);
    if (held <= std::max<int64_t>(most, 1) && !(most == 0 && isOfSeveral))
      return success();
    InFlightDiagnostic error =
        op->emitError() << "rank " << rank << " has " << stated.what << " of "
                        << countOf(held, "chunk") << " whole here";
    if (held <= std::max<int64_t>(most, 1))
      error << " for more than one micro-batch";
    error << ", more than the " << most << " of gathers<" << stated.what
          << ">; leave `gathers` out, or the actions that move state";
    error.attachNote(ScheduleOp(schedule).getLoc())
        << "this schedule has the numbers";
    return error;
  }

  ScheduleOp schedule;
  const Problem &problem;
  const ExpandedSchedule &expanded;
  const Stated &weights, &gradients;
};

LogicalResult check(ScheduleOp schedule, const Problem &problem,
                    const Stated &stated) {
  const auto ranks = static_cast<size_t>(problem.numRanks());
  if (stated.counts.size() > 1 && stated.counts.size() != ranks)
    return schedule.emitError()
           << "gathers<" << stated.what << "> has " << stated.counts.size()
           << " numbers for " << ranks
           << " ranks; write one number, or one for each rank";
  // Its replicas issue what they do together in one order.
  for (int32_t replica = 0;
       replica < problem.numReplicas() && !stated.counts.empty(); ++replica) {
    const int32_t rank = problem.rankOf(replica),
                  first = problem.rankOf(problem.replicas.groupOf(replica));
    if (stated.of(rank) != stated.of(first))
      return schedule.emitError()
             << "ranks " << first << " and " << rank
             << " share the state of stage " << problem.replicas[replica].stage
             << ", but gathers<" << stated.what << "> has " << stated.of(first)
             << " and " << stated.of(rank)
             << " chunks for them; ranks that share state have the same number";
  }
  return success();
}

/// The residencies with the numbers that are stated.
Residencies withStated(Residencies residencies, ArrayRef<Stated> all,
                       size_t ranks) {
  for (const Stated &stated : all) {
    if (stated.counts.empty())
      continue;
    if (stated.counts.size() > 1)
      residencies.resize(ranks, residencies.front());
    for (size_t rank = 0; rank < residencies.size(); ++rank)
      residencies[rank].*stated.field = stated.of(rank);
  }
  return residencies;
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

/// Returns the micro-batches of a unit of a `blockwise` schedule; 0 for others.
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
  // One for each stage of a chunk.
  const int32_t rank = problem.rankOf(0);
  return problem.numStages() /
         llvm::count_if(problem.replicas, [&](const Replica &replica) {
           return replica.rank == rank;
         });
}

/// Returns the micro-batches of a unit of the rule.
FailureOr<int64_t> unitOfRule(ScheduleOp schedule, const Problem &problem,
                              int64_t stated) {
  if (stated > problem.microbatches) {
    InFlightDiagnostic error = schedule.emitError()
                               << "gathers<unit = " << stated
                               << "> is more than the " << problem.microbatches
                               << " micro-batches of an iteration; write 1 to "
                               << problem.microbatches;
    if (FamilyAttr family = schedule.getFamilyAttr();
        family && family.getName() == "blockwise")
      error << ", or leave it out";
    return error;
  }
  FailureOr<int64_t> unit =
      stated > 0 ? FailureOr<int64_t>(stated) : unitOf(schedule, problem);
  if (succeeded(unit) && *unit == 0)
    return schedule.emitError()
           << "schedule @" << schedule.getSymName()
           << " gathers by units, but its order has none; say how many "
              "micro-batches one has, as in gathers<rule = unit, unit = 4>, or "
              "let family<\"blockwise\"> write it";
  return unit;
}

/// An order that moves state by itself must do it as the rule says.
LogicalResult compareToUnits(ScheduleOp schedule, const Problem &problem,
                             const ExpandedSchedule &expanded, int64_t stated) {
  FailureOr<int64_t> unit = unitOfRule(schedule, problem, stated);
  if (failed(unit))
    return failure();
  const Schedule byRule =
      placeGathersByUnit(problem, withoutMoves(expanded.schedule), *unit);
  for (int32_t rank = 0; rank < problem.numRanks(); ++rank) {
    const ActionRange own = expanded.schedule.rank(rank),
                      other = byRule.rank(rank);
    for (int64_t i = 0; i < own.size(); ++i)
      if (i >= other.size() || own[i] != other[i])
        return expanded.opOf[expanded.schedule.rankBegin(rank) + i]->emitError()
               << "rank " << rank << " does not gather and reduce here as "
               << "gathers<rule = unit, unit = " << *unit
               << "> does; leave `gathers` out, or the actions that move state";
  }
  return success();
}

/// Checks `ahead`, which counts whole chunks in addition to the one in use.
LogicalResult checkAhead(ScheduleOp schedule, const Problem &problem,
                         const Stated &weights, const Stated &ahead) {
  std::vector<int32_t> chunks(problem.numRanks(), 0);
  for (const Replica &replica : problem.replicas)
    chunks[replica.rank] += replica.isSharded();
  // A single number is for the ranks with the most.
  if (ahead.counts.size() == 1)
    llvm::fill(chunks, *llvm::max_element(chunks));
  for (size_t rank = 0; rank < chunks.size() && !ahead.counts.empty(); ++rank) {
    int64_t whole = chunks[rank];
    const char *limit = " that a rank shares";
    if (!weights.counts.empty() && weights.of(rank) < whole) {
      whole = weights.of(rank);
      limit = " that gathers<weights> keeps whole";
    }
    const int64_t most = std::max<int64_t>(0, whole - 1);
    if (chunks[rank] == 0 || ahead.of(rank) <= most)
      continue;
    return schedule.emitError()
           << "gathers<ahead> has " << ahead.of(rank) << " chunks for rank "
           << rank << ", but of the " << whole << limit << " only " << most
           << " can be gathered ahead of their use; write 0"
           << (most > 0 ? " to " + std::to_string(most) : std::string())
           << ", or leave it out";
  }
  return success();
}

LogicalResult PlaceGathers::place(ScheduleOp schedule) {
  PlanOp plan = schedule.lookupPlan();
  if (!plan || !plan.getReplicas().areSharded()) {
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
  auto gathers = schedule.getGathers();
  SmallVector<Stated, 3> stated;
  if (gathers)
    stated = {{"weights", gathers->getWeights(), &Residency::weights},
              {"gradients", gathers->getGradients(), &Residency::gradients},
              {"ahead", gathers->getAhead(), &Residency::ahead}};
  for (const Stated &one : stated)
    if (failed(check(schedule, *problem, one)))
      return failure();
  if (gathers &&
      failed(checkAhead(schedule, *problem, stated.front(), stated.back())))
    return failure();
  const bool isByUnit = gathers && gathers->getRule() == GatherRule::Unit;
  if (movesState(expanded->schedule)) {
    if (isByUnit)
      return compareToUnits(schedule, *problem, *expanded, gathers->getUnit());
    return gathers ? StatedOrder(schedule, *problem, *expanded, stated[0],
                                 stated[1])
                         .check()
                   : success();
  }
  // Verifying says what is wrong with an order that cannot run.
  for (auto rule : {checkCompleteness, checkPlacement, checkDependence})
    if (rule(*problem, expanded->schedule))
      return success();
  if (isByUnit)
    return placeByUnit(schedule, *problem, *expanded, gathers->getUnit());
  auto fix = [&](Residencies residencies) {
    return withStated(std::move(residencies), stated, problem->numRanks());
  };
  Residencies residencies = fix(Residencies(1));
  if (!gathers || gathers->getWeights().empty() ||
      gathers->getGradients().empty()) {
    const PlanFigures figures = figuresOf(schedule);
    const FittingResidencies fitting = chooseFitting(
        *problem, expanded->schedule, PlanArenas(figures, *problem), fix);
    if (fitting.lack)
      schedule.emitRemark() << describe(fitting);
    residencies = fitting.residencies;
  }
  schedule.setGathersAttr(GathersAttr::get(
      &getContext(), countsOf(residencies, &Residency::weights),
      countsOf(residencies, &Residency::gradients),
      gathers ? gathers->getAhead() : ArrayRef<int64_t>(), GatherRule::Nearest,
      /*unit=*/0));
  return foldSchedule(placeGathers(*problem, expanded->schedule, residencies),
                      schedule, &*expanded);
}

LogicalResult PlaceGathers::placeByUnit(ScheduleOp schedule,
                                        const Problem &problem,
                                        const ExpandedSchedule &expanded,
                                        int64_t stated) {
  FailureOr<int64_t> unit = unitOfRule(schedule, problem, stated);
  if (failed(unit))
    return failure();
  schedule.setGathersAttr(
      GathersAttr::get(&getContext(), ArrayRef<int64_t>(), ArrayRef<int64_t>(),
                       ArrayRef<int64_t>(), GatherRule::Unit, *unit));
  return foldSchedule(placeGathersByUnit(problem, expanded.schedule, *unit),
                      schedule, &expanded);
}

} // namespace
} // namespace rondo::pipe
