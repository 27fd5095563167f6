//===- VerifyExecutable.cpp - What schedules of one state must share ------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "dialect/UnknownName.h"

#include "llvm/ADT/SmallPtrSet.h"

using namespace mlir;
using namespace rondo::pipe;

SmallVector<ScheduleOp, 0> ExecutableOp::lookupSchedules() {
  SmallVector<ScheduleOp, 0> schedules;
  for (auto name : getSchedules().getAsRange<FlatSymbolRefAttr>())
    schedules.push_back(mlir::SymbolTable::lookupNearestSymbolFrom<ScheduleOp>(
        (*this)->getParentOp(), name));
  return schedules;
}

LogicalResult ExecutableOp::verify() {
  if (getSchedules().empty())
    return emitError() << "executable @" << getSymName() << " has no schedules";
  llvm::SmallPtrSet<Attribute, 8> seen;
  for (Attribute name : getSchedules())
    if (!seen.insert(name).second)
      return emitError() << "executable @" << getSymName() << " names " << name
                         << " twice";
  AdaptiveAttr adaptive = getAdaptiveAttr();
  if (adaptive && adaptive.getCandidates() < 2)
    return emitError() << "executable @" << getSymName() << " asks for "
                       << adaptive.getCandidates()
                       << " candidates; an adaptive one needs 2 or more";
  if (adaptive && adaptive.getMemoryBytes().value_or(1) < 1)
    return emitError() << "executable @" << getSymName() << " has "
                       << *adaptive.getMemoryBytes()
                       << " memory_bytes; it must be 1 or more";
  return success();
}

namespace {

/// Compares the plans of two schedules.
class Comparer {
public:
  Comparer(ExecutableOp op, ScheduleOp first, ScheduleOp other)
      : op(op), schedule(first), otherSchedule(other),
        first(first.lookupPlan()), other(other.lookupPlan()) {}

  LogicalResult run();

private:
  /// Fails at `theirs`, with a note at `mine`. `what` ends the clause that
  /// names both plans; `advice` is how to make them agree, if there is a simple
  /// way.
  LogicalResult fail(Operation *mine, Operation *theirs, const Twine &what,
                     const Twine &advice = "") {
    InFlightDiagnostic error =
        theirs->emitError()
        << "executable @" << op.getSymName() << ": plans @"
        << first.getSymName() << " and @" << other.getSymName() << " " << what
        << "; plans of one executable share state and data: " << advice
        << "compile them separately (--schedule " << schedule.getSymName()
        << ", --schedule " << otherSchedule.getSymName() << ")";
    error.attachNote(mine->getLoc())
        << "plan @" << first.getSymName() << " has this";
    return error;
  }
  LogicalResult compareStages();
  LogicalResult compareState(StageOp mine, StageOp theirs);

  ExecutableOp op;
  ScheduleOp schedule, otherSchedule;
  PlanOp first, other;
};

/// `sharded<weights, shards = 2>`, or `no sharded`.
std::string wordsForState(StageOp stage) {
  auto sharded = stage.getSharded();
  if (!sharded)
    return "no `sharded`";
  return ("`sharded<" + stringifyEnum(sharded->getState()) + ", shards = " +
          Twine(std::max(stage.getShards(), stage.getMomentShards())) + ">`")
      .str();
}

/// `stage @s0`, or both if their names differ.
std::string namesOf(StageOp mine, StageOp theirs) {
  if (mine.getSymName() == theirs.getSymName())
    return ("stage @" + mine.getSymName()).str();
  return ("stages @" + mine.getSymName() + " and @" + theirs.getSymName())
      .str();
}

/// The way in which a stage takes its micro-batches.
const char *wordsForTaking(StageOp stage) {
  return stage.getRoundRobin()
             ? " gives each replica whole micro-batches, round-robin"
             : " divides the samples of each micro-batch";
}

std::string iterationOf(PlanOp plan) {
  return (Twine(plan.getMicrobatches()) + " micro-batches of " +
          Twine(plan.getSamplesOfMicrobatch()) + " samples")
      .str();
}

LogicalResult Comparer::run() {
  if (first == other)
    return success();
  if (first.getModelAttr() != other.getModelAttr())
    return fail(first, other, "cut different models");
  if (first.getClusterAttr() != other.getClusterAttr())
    return fail(first, other, "are on different clusters");
  if (first.getTargetKind() != other.getTargetKind() ||
      first.getDType() != other.getDType() ||
      first.getResident() != other.getResident())
    return fail(first, other, "are for different targets");
  if (first.getOptimizer() != other.getOptimizer())
    return fail(first, other,
                "use different optimizers, " +
                    stringifyEnum(first.getOptimizer()) + " and " +
                    stringifyEnum(other.getOptimizer()),
                "write one optimizer(...) in both, or ");
  if (first.getDocumentsAttr() != other.getDocumentsAttr())
    return fail(first, other, "take different documents",
                "write the same documents [[...]] in both, or ");
  const int64_t mine = first.getSamplesOfMicrobatch(),
                theirs = other.getSamplesOfMicrobatch();
  // Micro-batches of timed layers have no size.
  const bool areSized = mine > 0 && theirs > 0;
  if (!areSized && first.getMicrobatches() != other.getMicrobatches())
    return fail(first, other,
                "have different numbers of micro-batches, " +
                    Twine(first.getMicrobatches()) + " and " +
                    Twine(other.getMicrobatches()));
  if (areSized && mine * int64_t(first.getMicrobatches()) !=
                      theirs * int64_t(other.getMicrobatches()))
    return fail(first, other,
                "take different numbers of samples per iteration: " +
                    iterationOf(first) + " and " + iterationOf(other));
  return compareStages();
}

/// Whether both keep the state of a stage whole, or in the same shards.
LogicalResult Comparer::compareState(StageOp mine, StageOp theirs) {
  auto here = mine.getSharded(), there = theirs.getSharded();
  if (bool(here) == bool(there) &&
      (!here || (here->getState() == there->getState() &&
                 mine.getShards() == theirs.getShards() &&
                 mine.getMomentShards() == theirs.getMomentShards())))
    return success();
  return fail(mine, theirs,
              "keep the state of " + namesOf(mine, theirs) +
                  " differently, with " + wordsForState(mine) + " and " +
                  wordsForState(theirs),
              "write the same `sharded` in both, or ");
}

LogicalResult Comparer::compareStages() {
  SmallVector<StageOp, 0> mine = first.getStages(), theirs = other.getStages();
  for (auto [a, b] : llvm::zip(mine, theirs)) {
    if (a.getLayers() != b.getLayers())
      return fail(a, b, "have different layers in " + namesOf(a, b));
    if (a.getRanks() != b.getRanks())
      return fail(a, b,
                  "have " + namesOf(a, b) + " on different ranks: " +
                      a.describeRanks() + ", and " + b.describeRanks());
    if (a.getRoundRobin() != b.getRoundRobin())
      return fail(
          a, b,
          "run the replicas of " + namesOf(a, b) + " differently: @" +
              first.getSymName() + wordsForTaking(a) + ", @" +
              other.getSymName() + wordsForTaking(b),
          a.getSharded() || b.getSharded()
              ? "leave out `round_robin` and write the same `sharded` in "
                "both, or "
              : "write `round_robin` in both or in neither, or ");
    if (failed(compareState(a, b)))
      return failure();
    for (auto [mine, theirs] :
         llvm::zip(a.sharesOf(first.getSamplesOfMicrobatch()),
                   b.sharesOf(other.getSamplesOfMicrobatch())))
      if (mine.samples * other.getSamplesOfMicrobatch() !=
          theirs.samples * first.getSamplesOfMicrobatch())
        return fail(a, b,
                    "divide the samples of a micro-batch in " + namesOf(a, b) +
                        " differently over ranks: rank " + Twine(mine.rank) +
                        " has " + Twine(mine.samples) + " of " +
                        Twine(first.getSamplesOfMicrobatch()) + " and " +
                        Twine(theirs.samples) + " of " +
                        Twine(other.getSamplesOfMicrobatch()));
  }
  if (mine.size() != theirs.size())
    return fail(first, other,
                "have different stages, " + Twine(mine.size()) + " and " +
                    Twine(theirs.size()));
  const std::vector<std::vector<int32_t>> here = first.getInputs(),
                                          there = other.getInputs();
  for (size_t stage = 0; stage < here.size(); ++stage)
    if (here[stage] != there[stage])
      return fail(mine[stage], theirs[stage],
                  "feed " + namesOf(mine[stage], theirs[stage]) +
                      " from different stages",
                  "write the same `from` in both, or ");
  return success();
}

} // namespace

LogicalResult ExecutableOp::verifySymbolUses(SymbolTableCollection &tables) {
  ScheduleOp first;
  for (auto name : getSchedules().getAsRange<FlatSymbolRefAttr>()) {
    auto schedule = tables.lookupNearestSymbolFrom<ScheduleOp>(
        (*this)->getParentOp(), name);
    if (!schedule)
      return emitUnknown<ScheduleOp>(*this, "schedule", name.getValue());
    for (auto other : (*this)->getParentRegion()->getOps<ExecutableOp>())
      if (other->isBeforeInBlock(*this) &&
          llvm::is_contained(other.getSchedules(), name))
        return emitError()
                   .append("schedule ", name, " is in two executables")
                   .attachNote(other.getLoc())
               << "the other is here";
    auto plan = tables.lookupNearestSymbolFrom<PlanOp>(schedule->getParentOp(),
                                                       schedule.getPlanAttr());
    // The schedule and the plan report what they lack.
    if (!plan || !plan.lookupModel())
      return success();
    if (plan.getTokensAttr() &&
        (getAdaptiveAttr() || getSchedules().size() > 1))
      return schedule.emitError()
                 .append("plan @", plan.getSymName(),
                         " draws documents, and its program finds a schedule "
                         "for each batch: compile one schedule, without "
                         "--adaptive")
                 .attachNote(plan.getLoc())
             << "plan @" << plan.getSymName() << " is here";
    if (getAdaptiveAttr() && plan.isUneven())
      return schedule.emitError()
                 .append("the micro-batches of plan @", plan.getSymName(),
                         " differ, but an adaptive executable measures one "
                         "time for each task of a stage: compile without "
                         "--adaptive; --schedule takes several schedules, of "
                         "which a run chooses")
                 .attachNote(plan.getLoc())
             << "plan @" << plan.getSymName() << " is here";
    if (!first)
      first = schedule;
    if (failed(Comparer(*this, first, schedule).run()))
      return failure();
  }
  return success();
}
