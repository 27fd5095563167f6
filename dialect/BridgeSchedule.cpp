//===- BridgeSchedule.cpp - Schedules to values and back ------------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "dialect/Bridge.h"
#include "dialect/Loops.h"
#include "dialect/Origins.h"
#include "schedule/model/MicrobatchOrder.h"
#include "schedule/transforms/Iterations.h"

using namespace mlir;
using namespace rondo;
using namespace rondo::pipe;

/// The order of one iteration in each of a window's, with a step of every
/// replica after it if it has none.
static ExpandedSchedule repeatIn(const Problem &window, ScheduleOp op,
                                 const ExpandedSchedule &one) {
  ExpandedSchedule result;
  result.schedule = repeatOrder(window, one.schedule);
  for (int32_t r = 0; r < one.schedule.numRanks(); ++r) {
    const int64_t begin = one.schedule.rankBegin(r),
                  size = one.schedule.rank(r).size(),
                  steps =
                      result.schedule.rank(r).size() / window.iterations - size;
    for (int32_t t = 0; t < window.iterations; ++t) {
      for (int64_t i = 0; i < size; ++i)
        result.opOf.push_back(one.opOf[begin + i]);
      result.opOf.insert(result.opOf.end(), steps, op);
    }
  }
  return result;
}

/// The order in which gradients are added names each micro-batch once.
static LogicalResult checkOrder(ScheduleOp op, ArrayRef<int32_t> order,
                                int64_t microbatches) {
  std::vector<bool> isListed(microbatches);
  for (int32_t microbatch : order) {
    if (microbatch < 0 || microbatch >= microbatches)
      return op.emitError() << "accumulate lists micro-batch " << microbatch
                            << "; the plan has micro-batches 0 to "
                            << microbatches - 1 << " [S7]";
    if (isListed[microbatch])
      return op.emitError()
             << "accumulate lists micro-batch " << microbatch << " twice [S7]";
    isListed[microbatch] = true;
  }
  if (int64_t(order.size()) == microbatches)
    return success();
  return op.emitError() << "accumulate lists " << order.size() << " of "
                        << microbatches
                        << " micro-batches; every stage adds the gradients of "
                           "each [S7]";
}

FailureOr<ExpandedSchedule>
rondo::pipe::expandSchedule(ScheduleOp op, const Problem &problem) {
  if (problem.iterations > 1 && !op.overlaps()) {
    FailureOr<ExpandedSchedule> one = expandSchedule(op, oneIteration(problem));
    if (failed(one))
      return failure();
    return repeatIn(problem, op, *one);
  }
  PlanOp plan = op.lookupPlan();
  const ReplicaNames names(plan, problem.replicas);
  // Programs may name replicas of other ranks, which the reference runs.
  auto prototype = [&](Operation *inner) -> FailureOr<Action> {
    FailureOr<Action> action = actionOf(inner, names);
    if (failed(action))
      return failure();
    const int32_t rank = executingRank(inner);
    const Replica &replica = problem.replicas[action->subject];
    if (cast<ReplicaOpInterface>(inner).getReplicaAttr() && rank >= 0 &&
        replica.rank != rank)
      return inner->emitError()
             << "replica " << replica.index << " of stage "
             << names.stageOf(action->subject) << " is on rank " << replica.rank
             << ", not on rank " << rank << ", whose order this is";
    return action;
  };
  Unroller unroller(plan, prototype);
  if (op.overlaps())
    unroller.setIterations(problem.iterations);
  FailureOr<std::vector<RankOp>> ranks =
      ranksByNumber(op.getRanks(), problem.numRanks(), plan.lookupCluster());
  if (failed(ranks))
    return failure();

  ExpandedSchedule result;
  if (auto order = op.getOrder()) {
    if (failed(checkOrder(op, *order, problem.microbatches)))
      return failure();
    result.schedule.accumulation.assign(order->begin(), order->end());
  }
  // A sound schedule has F, I and W.
  const int64_t most = 3 * problem.microbatches * problem.numReplicas();
  for (auto [number, rank] : llvm::enumerate(*ranks)) {
    if (rank &&
        failed(unroller.run(rank.getBody(), result.schedule, &result.opOf)))
      return failure();
    result.schedule.endRank();
    if (number == 0)
      reserveLikeFirst(result.schedule, problem.numRanks(), most, &result.opOf);
  }
  for (LinkOrderOp order : op.getLinkOrders()) {
    std::vector<Action> &messages =
        result.schedule.linkOrders[{static_cast<int32_t>(order.getFrom()),
                                    static_cast<int32_t>(order.getTo())}];
    std::vector<Operation *> &ops =
        result.opOfMessage[{static_cast<int32_t>(order.getFrom()),
                            static_cast<int32_t>(order.getTo())}];
    auto takeMessage = [&](Operation *inner, Action action) {
      messages.push_back(action);
      ops.push_back(inner);
    };
    if (failed(unroller.run(order.getBody(), takeMessage)))
      return failure();
  }
  for (CopyOrderOp order : op.getCopyOrders()) {
    const auto link = static_cast<int32_t>(order.getLink());
    std::vector<Action> &copies = result.schedule.copyOrders[link];
    std::vector<Operation *> &ops = result.opOfCopy[link];
    if (failed(
            unroller.run(order.getBody(), [&](Operation *inner, Action action) {
              copies.push_back(action);
              ops.push_back(inner);
            })))
      return failure();
  }
  return result;
}

FailureOr<FamilyChoice> rondo::pipe::chooseFamily(ScheduleOp op) {
  FamilyAttr family = op.getFamilyAttr();
  FamilyArguments arguments = family.getArgumentMap();
  const int64_t chunks = arguments[offloadChunksName];
  arguments.erase(offloadChunksName);
  auto choice = rondo::chooseFamily(family.getName().str(), arguments);
  if (!choice)
    return op.emitError() << describe(choice.fault());
  if (!family.getOrder().empty()) {
    const auto order = familyOrderOf(family.getOrder().str());
    if (!order)
      return op.emitError() << describe(order.fault());
    choice->order = *order;
  }
  if (family.getOffload().empty() && chunks == 0)
    return *choice;
  const auto options =
      offloadOf(family.getOffload().str(), chunks, family.getName().str());
  if (!options)
    return op.emitError() << describe(options.fault());
  choice->offload = *options;
  return *choice;
}

FamilyAttr rondo::pipe::familyAttrOf(const FamilyChoice &choice,
                                     MLIRContext *context) {
  Builder builder(context);
  NamedAttrList arguments;
  for (const auto &[name, value] : choice.arguments)
    arguments.append(name, builder.getI64IntegerAttr(value));
  if (choice.order != FamilyOrder::Given)
    arguments.append(orderName,
                     builder.getStringAttr(
                         familyOrderWords[static_cast<int>(choice.order)]));
  if (choice.offload) {
    arguments.append(
        offloadName,
        builder.getStringAttr(
            offloadWords[static_cast<int>(choice.offload->pairs)]));
    if (choice.offload->chunks > 0)
      arguments.append(offloadChunksName,
                       builder.getI64IntegerAttr(choice.offload->chunks));
  }
  return FamilyAttr::get(context, choice.family->name,
                         arguments.getDictionary(context));
}

FailureOr<std::string> rondo::pipe::familyText(ScheduleOp op) {
  if (FoundAttr found = op.getFoundAttr())
    return found.getOrigin().str();
  if (!op.getFamilyAttr())
    return std::string();
  FailureOr<FamilyChoice> choice = chooseFamily(op);
  if (failed(choice))
    return failure();
  return choice->text();
}

/// Refuses actions for which the dialect has no op.
static LogicalResult checkHasOps(ActionRange actions, int32_t numReplicas,
                                 ScheduleOp op) {
  for (Action action : actions)
    if (!action.traits().hasCost() ||
        action.subject >= static_cast<uint64_t>(numReplicas) ||
        (action.count != 1 && action.kind() != ActionKind::Backward))
      return op.emitError() << "the schedule holds " << actionName(action)
                            << ", for which the language has no op";
  return success();
}

static ActionRange rangeOf(const std::vector<Action> &actions) {
  return {actions.data(), actions.data() + actions.size()};
}

static LogicalResult checkHasOps(const Schedule &schedule, int32_t numReplicas,
                                 ScheduleOp op) {
  for (int32_t rank = 0; rank < schedule.numRanks(); ++rank)
    if (failed(checkHasOps(schedule.rank(rank), numReplicas, op)))
      return failure();
  for (const auto &[link, messages] : schedule.linkOrders)
    if (failed(checkHasOps(rangeOf(messages), numReplicas, op)))
      return failure();
  for (const auto &[link, copies] : schedule.copyOrders)
    if (failed(checkHasOps(rangeOf(copies), numReplicas, op)))
      return failure();
  return success();
}

/// The repetition in the order of a schedule whose iterations overlap.
static FailureOr<Repeating> repetitionOf(const Schedule &schedule,
                                         ScheduleOp op) {
  const int64_t each = op.lookupPlan().getMicrobatches();
  int64_t iterations = 0;
  for (int32_t rank = 0; rank < schedule.numRanks(); ++rank)
    for (Action action : schedule.rank(rank))
      iterations = std::max(iterations, iterationOf(action, each) + 1);
  auto found =
      findRepetition(schedule, iterations, each, RepetitionEnd::Drained);
  if (!found)
    return op.emitError() << describe(found.fault());
  return std::move(*found);
}

LogicalResult rondo::pipe::checkLoopsHaveNoAttributes(Operation *order) {
  const WalkResult result = order->walk([](ForOp loop) {
    const auto attributes = loop->getDiscardableAttrs();
    if (attributes.empty())
      return WalkResult::advance();
    loop.emitError() << "attribute '"
                     << (*attributes.begin()).getName().getValue()
                     << "' of pipe.for would be lost, because loops are "
                        "written again; put it on the ops in the loop, or "
                        "remove it";
    return WalkResult::interrupt();
  });
  return failure(result.wasInterrupted());
}

LogicalResult rondo::pipe::foldSchedule(const Schedule &schedule, ScheduleOp op,
                                        const ExpandedSchedule *before) {
  const Replicas replicas = op.lookupPlan().getReplicas();
  const ReplicaNames names(op.lookupPlan(), replicas);
  if (failed(checkHasOps(schedule, replicas.size(), op)) ||
      (before && failed(checkLoopsHaveNoAttributes(op))))
    return failure();
  if (schedule.accumulation.empty() || isIndexOrder(schedule.accumulation) ||
      !op.accumulatesInStatedOrder())
    op.removeOrderAttr();
  else
    op.setOrder(schedule.accumulation);
  std::optional<Repeating> repeating;
  if (op.overlaps()) {
    FailureOr<Repeating> found = repetitionOf(schedule, op);
    if (failed(found))
      return failure();
    repeating = std::move(*found);
  }

  const Origins origins = originsOf(before, op);
  // The ops in it are origins.
  Region written;
  written.takeBody(op.getBody());
  OpBuilder builder(op.getContext());
  Block *body = &op.getBody().emplaceBlock();
  builder.setInsertionPointToEnd(body);
  auto write = [&](OpBuilder &inner, Location at, int32_t rank, Action action,
                   AffineMapAttr map, ValueRange indices) {
    return writeTask(inner, at, action, names.stageOf(action.subject),
                     names.indexOf(action.subject, rank), map, indices);
  };
  if (repeating)
    writeRepeatingRanks(builder, origins, *repeating,
                        op.lookupPlan().getMicrobatches(), write);
  else
    writeRanks(builder, origins, schedule, write);
  for (const auto &[link, messages] : schedule.linkOrders) {
    builder.setInsertionPointToEnd(body);
    auto order =
        LinkOrderOp::create(builder, origins.getLoc(), link.first, link.second);
    const Origins ofMessages = originsOf(before, op.getLoc(), link, order);
    enterBody(builder, order);
    writeRolled(builder, ofMessages, link.first, rangeOf(messages), write);
  }
  for (const auto &[link, copies] : schedule.copyOrders) {
    builder.setInsertionPointToEnd(body);
    auto order = CopyOrderOp::create(builder, origins.getLoc(), link);
    const Origins ofCopies = originsOf(before, op.getLoc(), link, order);
    enterBody(builder, order);
    writeRolled(builder, ofCopies, /*rank=*/-1, rangeOf(copies), write);
  }
  return success();
}
