//===- VerifyTasks.cpp - Local rules of tasks and loops -------------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "dialect/UnknownName.h"

#include "schedule/model/Schedule.h"

#include "mlir/IR/AffineExpr.h"
#include "mlir/IR/AffineMap.h"

using namespace mlir;
using namespace rondo::pipe;

//===----------------------------------------------------------------------===//
// Indices and loops
//===----------------------------------------------------------------------===//

static bool isBeyond(int64_t value, int64_t most) {
  return value < -most || value > most;
}

/// Adds `scale` times the expression; false where it is not linear or too
/// large.
static bool addLinear(AffineExpr expr, int64_t scale, LinearIndex &sum) {
  if (auto constant = dyn_cast<AffineConstantExpr>(expr)) {
    if (isBeyond(constant.getValue(), maxLoopBound))
      return false;
    sum.constant += scale * constant.getValue();
    return !isBeyond(sum.constant, maxLoopBound);
  }
  if (auto dim = dyn_cast<AffineDimExpr>(expr)) {
    sum.factors[dim.getPosition()] += scale;
    return !isBeyond(sum.factors[dim.getPosition()], maxIndexFactor);
  }
  auto binary = dyn_cast<AffineBinaryOpExpr>(expr);
  if (!binary)
    return false;
  if (binary.getKind() == AffineExprKind::Add)
    return addLinear(binary.getLHS(), scale, sum) &&
           addLinear(binary.getRHS(), scale, sum);
  auto factor = dyn_cast<AffineConstantExpr>(binary.getRHS());
  if (binary.getKind() != AffineExprKind::Mul || !factor ||
      isBeyond(factor.getValue(), maxIndexFactor))
    return false;
  int64_t product = scale * factor.getValue();
  return !isBeyond(product, maxIndexFactor) &&
         addLinear(binary.getLHS(), product, sum);
}

std::optional<LinearIndex> rondo::pipe::linearIndex(AffineMap map) {
  if (map.getNumResults() != 1 || map.getNumSymbols() != 0)
    return std::nullopt;
  LinearIndex sum;
  sum.factors.assign(map.getNumDims(), 0);
  if (!addLinear(map.getResult(0), 1, sum))
    return std::nullopt;
  return sum;
}

LogicalResult rondo::pipe::detail::verifyIndex(Operation *op) {
  auto task = cast<IndexedOpInterface>(op);
  const rondo::ActionTraits &traits = traitsOf(task.getActionKind());
  const bool isTask = traits.index == rondo::IndexMeaning::Microbatch,
             isUnit = traits.movesState();
  if (task.getMap().getNumResults() != 1)
    return op->emitError() << (isTask   ? "a task has one micro-batch, not "
                               : isUnit ? "a unit has one number, not "
                                        : "a step has one number, not ")
                           << task.getMap().getNumResults();
  if (task.getMap().isSingleConstant() &&
      isBeyond(task.getMap().getSingleConstantResult(), maxLoopBound))
    return op->emitError() << (isTask   ? "a micro-batch"
                               : isUnit ? "the number of a unit"
                                        : "the number of a step")
                           << " is " << task.getMap().getSingleConstantResult()
                           << "; it is at most " << maxLoopBound;
  if (task.getMap().getNumDims() != task.getIndices().size() ||
      !linearIndex(task.getMap()))
    return op->emitError()
           << (isTask   ? "a micro-batch"
               : isUnit ? "the number of a unit"
                        : "the number of a step")
           << " is a number or a sum of multiples of loop variables, such as "
              "%i * 2 + 3";
  for (Value index : task.getIndices()) {
    auto argument = dyn_cast<BlockArgument>(index);
    if (!argument || !isa<ForOp, RepeatOp>(argument.getOwner()->getParentOp()))
      return op->emitError()
             << (isTask   ? "a micro-batch"
                 : isUnit ? "the number of a unit"
                          : "the number of a step")
             << " may only depend on variables of pipe.for and pipe.repeat";
  }
  return success();
}

LogicalResult StepOp::verify() {
  auto schedule = (*this)->getParentOfType<ScheduleOp>();
  if (!schedule || schedule.overlaps())
    return success();
  const LinearIndex index = *linearIndex(getMap());
  if (!index.factors.empty())
    return emitError() << "an iteration has one step, number 0; steps are "
                          "numbered where iterations overlap, which "
                          "versions<...> says";
  if (index.constant != 0)
    return emitError() << "step " << index.constant
                       << " does not exist; an iteration has 1 step, numbered "
                          "from 0";
  return success();
}

LogicalResult BackwardOp::verify() {
  if (getCount() < 1 || getCount() > rondo::maxCount)
    return emitError() << "a backward serves " << getCount()
                       << " micro-batches; it must be 1 to " << rondo::maxCount;
  return success();
}

LogicalResult RepeatOp::verify() {
  if (getStep() < 1 || getStep() > maxIndexFactor)
    return emitError() << "each repetition adds " << getStep()
                       << " iterations; it must be 1 to " << maxIndexFactor;
  if ((*this)->getNextNode())
    return emitError() << "pipe.repeat goes on to the end of the run, so it is "
                          "the last op of its rank";
  return success();
}

LogicalResult ForOp::verify() {
  if (getStep() < 1)
    return emitError() << "step is " << getStep() << "; the minimum is 1";
  for (int64_t bound : {getLower(), getUpper(), getStep()})
    if (isBeyond(bound, maxLoopBound))
      return emitError() << "loop bound " << bound
                         << " is out of range; the maximum is " << maxLoopBound;
  return success();
}

/// Which ops an order may hold, by what it is the order of. `body` is its own
/// or that of a loop in it.
static LogicalResult verifyOrder(Region &body) {
  Operation *owner = body.getParentOp();
  while (isa_and_nonnull<ForOp, RepeatOp>(owner))
    owner = owner->getParentOp();
  const bool isLink = isa_and_nonnull<LinkOrderOp>(owner),
             isCopies = isa_and_nonnull<CopyOrderOp>(owner),
             isProgram =
                 owner && isa_and_nonnull<ProgramOp>(owner->getParentOp());
  for (Operation &op : body.getOps()) {
    auto action = dyn_cast<ActionOpInterface>(op);
    const bool isLoop =
        isa<ForOp>(op) || (isa<RepeatOp>(op) && !isLink && !isCopies);
    if (isLoop || (action && isProgram))
      continue;
    if (action) {
      const rondo::ActionTraits &traits = traitsOf(action.getActionKind());
      if (isLink     ? traits.produces != rondo::MessageKind::None
          : isCopies ? traits.isCopy()
                     : traits.hasCost())
        continue;
    }
    InFlightDiagnostic error = op.emitError()
                               << "'" << op.getName().getStringRef() << "' ";
    if (isLink)
      return error << "makes no message; a link's order names forward, "
                      "input_grad, backward and recompute tasks";
    if (isCopies)
      return error << "is no copy; a copy order names save and load";
    return error << "does not belong here; a rank of a "
                 << (isProgram
                         ? "program holds tasks, copies, messages, "
                           "collectives, optimizer steps and loops"
                         : "schedule holds tasks, copies, optimizer steps and "
                           "loops");
  }
  return success();
}

LogicalResult RankOp::verifyRegions() { return verifyOrder(getBody()); }
LogicalResult LinkOrderOp::verifyRegions() { return verifyOrder(getBody()); }
LogicalResult CopyOrderOp::verifyRegions() { return verifyOrder(getBody()); }
LogicalResult ForOp::verifyRegions() { return verifyOrder(getBody()); }
LogicalResult RepeatOp::verifyRegions() { return verifyOrder(getBody()); }

int64_t ForOp::getTripCount() {
  if (getUpper() <= getLower())
    return 0;
  return (getUpper() - getLower() + getStep() - 1) / getStep();
}

//===----------------------------------------------------------------------===//
// Names of stages
//===----------------------------------------------------------------------===//

/// The plan that a schedule or program, or an op inside one, is of. Null if a
/// name on the way is wrong; the op that uses that name reports it.
static PlanOp findPlan(Operation *op, SymbolTableCollection &tables) {
  ScheduleOp schedule;
  while (op && !isa<ScheduleOp, ProgramOp>(op))
    op = op->getParentOp();
  if (!op)
    return nullptr;
  if (auto program = dyn_cast<ProgramOp>(op))
    schedule = tables.lookupNearestSymbolFrom<ScheduleOp>(
        program->getParentOp(), program.getScheduleAttr());
  else
    schedule = cast<ScheduleOp>(op);
  if (!schedule)
    return nullptr;
  return tables.lookupNearestSymbolFrom<PlanOp>(schedule->getParentOp(),
                                                schedule.getPlanAttr());
}

LogicalResult
rondo::pipe::detail::verifyStageUse(Operation *op, FlatSymbolRefAttr stage,
                                    SymbolTableCollection &tables) {
  PlanOp plan = findPlan(op, tables);
  if (!plan || tables.lookupSymbolIn<StageOp>(plan, stage.getAttr()))
    return success();
  return op->emitError()
             .append("stage @", stage.getValue(), " is not in plan @",
                     plan.getSymName())
             .attachNote(plan.getLoc())
         << "plan @" << plan.getSymName() << " is here";
}

LogicalResult
rondo::pipe::detail::verifyCollectiveUse(Operation *op,
                                         FlatSymbolRefAttr collective,
                                         SymbolTableCollection &tables) {
  auto program = op->getParentOfType<ProgramOp>();
  if (!program || tables.lookupSymbolIn<CollectiveOp>(program, collective))
    return success();
  return emitUnknown<CollectiveOp>(op, program.getBody(), "collective",
                                   collective.getValue());
}

LogicalResult PlaceOp::verifySymbolUses(SymbolTableCollection &tables) {
  auto program = cast<ProgramOp>((*this)->getParentOp());
  if (!tables.lookupSymbolIn<PoolOp>(program, getPoolAttr()))
    return emitUnknown<PoolOp>(*this, program.getBody(), "pool", getPool());
  return detail::verifyStageUse(*this, getStageAttr(), tables);
}
