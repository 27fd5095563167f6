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
  if (adaptive && adaptive.getMemoryBytes() < 1)
    return emitError() << "executable @" << getSymName() << " has "
                       << adaptive.getMemoryBytes()
                       << " memory_bytes; it must be 1 or more";
  return success();
}

namespace {

/// Compares the plans of two schedules.
class Comparer {
public:
  Comparer(ExecutableOp op, PlanOp first, PlanOp other)
      : op(op), first(first), other(other) {}

  LogicalResult run();

private:
  /// `what` ends the sentence that names both plans.
  LogicalResult fail(Operation *mine, Operation *theirs, const Twine &what) {
    InFlightDiagnostic error = op.emitError()
                               << "executable @" << op.getSymName()
                               << ": plans @" << first.getSymName() << " and @"
                               << other.getSymName() << " " << what;
    error.attachNote(mine->getLoc()) << "first seen here";
    error.attachNote(theirs->getLoc()) << "differs here";
    return error;
  }
  LogicalResult compareStages();

  ExecutableOp op;
  PlanOp first, other;
};

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

LogicalResult Comparer::compareStages() {
  SmallVector<StageOp, 0> mine = first.getStages(), theirs = other.getStages();
  for (auto [a, b] : llvm::zip(mine, theirs)) {
    if (a.getLayers() != b.getLayers())
      return fail(a, b,
                  "have different layers in stages @" + a.getSymName() +
                      " and @" + b.getSymName());
    if (a.getRanks() != b.getRanks())
      return fail(a, b,
                  "have stages @" + a.getSymName() + " and @" + b.getSymName() +
                      " on different ranks: " + a.describeRanks() + ", and " +
                      b.describeRanks());
    if (a.getDeals() != b.getDeals())
      return fail(a, b,
                  "deal micro-batches to the homes of stage @" +
                      (a.getDeals() ? a : b).getSymName() +
                      ", and divide the samples of each over those of @" +
                      (a.getDeals() ? b : a).getSymName());
    for (auto [mine, theirs] :
         llvm::zip(a.sharesOf(first.getSamplesOfMicrobatch()),
                   b.sharesOf(other.getSamplesOfMicrobatch())))
      if (mine.samples * other.getSamplesOfMicrobatch() !=
          theirs.samples * first.getSamplesOfMicrobatch())
        return fail(a, b,
                    "divide the samples of a micro-batch in stages @" +
                        a.getSymName() + " and @" + b.getSymName() +
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
  return success();
}

} // namespace

LogicalResult ExecutableOp::verifySymbolUses(SymbolTableCollection &tables) {
  PlanOp first;
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
    if (!first)
      first = plan;
    if (failed(Comparer(*this, first, plan).run()))
      return failure();
  }
  return success();
}
