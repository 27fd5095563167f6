//===- Origins.cpp - Ops from which an order is written again -------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "dialect/Origins.h"
#include "dialect/Loops.h"
#include "dialect/OverlapRules.h"

using namespace mlir;
using namespace rondo;
using namespace rondo::pipe;

uint64_t Origins::keyOf(Action action) {
  return action.kindBits | uint64_t(action.subject) << 8 |
         uint64_t(action.index) << (8 + action_layout::subjectBits);
}

/// Each rank issues the same collectives; all else is of one replica, which
/// another rank runs in the reference.
static int32_t executorOf(int32_t rank, Action action) {
  return action.traits().subject == Subject::Collective ? rank : 0;
}

bool Origins::mayBeKept(Operation *owner) {
  return owner
      ->walk([&](Operation *op) {
        const bool isOwn = op != owner && (op->getLoc() != owner->getLoc() ||
                                           !op->getDiscardableAttrs().empty());
        return isOwn ? WalkResult::interrupt() : WalkResult::advance();
      })
      .wasInterrupted();
}

void Origins::add(int32_t rank, Action action, Operation *op) {
  // Steps that repeating an order adds are the schedule's own.
  if (!isa<ActionOpInterface>(op))
    return;
  ++numOps;
  someHasAttributes |= !op->getDiscardableAttrs().empty();
  auto addTo = [&](Operation *&known, Action one) {
    if (!known)
      known = op;
    else if (known != op)
      if (auto &later = repeats[{rank, keyOf(one)}];
          later.empty() || later.back() != op)
        later.push_back(op);
  };
  if (action.traits().index != IndexMeaning::Microbatch)
    return addTo(others[{executorOf(rank, action), keyOf(action)}], action);
  std::vector<Operation *> &table = tasks[action.kindBits];
  const int64_t begin = int64_t(action.subject) * microbatches,
                first = begin + int64_t(action.index);
  if (int64_t(table.size()) < begin + microbatches)
    table.resize(begin + microbatches);
  // A program runs what one op serves micro-batch by micro-batch.
  for (int64_t k = first;
       k < std::min(first + int64_t(action.count), begin + microbatches); ++k)
    addTo(table[k], Action(action.kind(), action.subject, k - begin));
}

void Origins::addRank(RankOp op) {
  ranks[static_cast<int32_t>(op.getRank())] = op;
}

Operation *Origins::findFirst(int32_t rank, Action action) const {
  if (action.traits().index != IndexMeaning::Microbatch)
    return others.lookup({executorOf(rank, action), keyOf(action)});
  const std::vector<Operation *> &table = tasks[action.kindBits];
  const int64_t k =
      int64_t(action.subject) * microbatches + int64_t(action.index);
  return k < int64_t(table.size()) ? table[k] : nullptr;
}

Operation *Origins::find(int32_t rank, Action action, int32_t repeat) const {
  Operation *first = findFirst(rank, action);
  const auto later = repeats.find({rank, keyOf(action)});
  if (later == repeats.end())
    return first;
  // The first op of all may be in another rank. Messages are in none.
  RankOp in = first->getParentOfType<RankOp>();
  const bool isHere = !in || int64_t(in.getRank()) == rank;
  if (isHere && repeat == 0)
    return first;
  const size_t last = later->second.size() - 1;
  return later->second[std::min<size_t>(repeat - isHere, last)];
}

/// Indices of actions are below it.
static int64_t boundOf(const Schedule &order) {
  int64_t bound = 0;
  for (int32_t rank = 0; rank < order.numRanks(); ++rank)
    for (Action action : order.rank(rank))
      bound = std::max(bound, int64_t(action.index) + int64_t(action.count));
  return bound;
}

Origins rondo::pipe::originsOf(const ExpandedSchedule *before, ScheduleOp op) {
  if (!before || !Origins::mayBeKept(op))
    return Origins(op.getLoc(), /*microbatches=*/0);
  const Schedule &order = before->schedule;
  Origins origins(op.getLoc(), boundOf(order));
  for (RankOp rank : op.getRanks())
    origins.addRank(rank);
  for (int32_t rank = 0; rank < order.numRanks(); ++rank)
    for (int64_t i = 0; i < order.rank(rank).size(); ++i)
      origins.add(rank, order.rank(rank)[i],
                  before->opOf[order.rankBegin(rank) + i]);
  return origins;
}

void rondo::pipe::keepPlace(Operation *replaced, Operation *op) {
  op->setLoc(replaced->getLoc());
  op->setDiscardableAttrs(replaced->getDiscardableAttrDictionary());
}

/// The ops of the order of one link, which `order` replaces. `ops` and `orders`
/// are by link.
template <typename Ops, typename Orders, typename Link, typename Op>
static Origins originsOfLink(const Ops &ops, const Orders &orders,
                             const Link &link, int32_t rank, Location loc,
                             Op order) {
  const auto found = ops.find(link);
  if (found == ops.end() || found->second.empty())
    return Origins(loc, /*microbatches=*/0);
  const std::vector<Action> &actions = orders.find(link)->second;
  int64_t bound = 0;
  for (Action action : actions)
    bound = std::max(bound, int64_t(action.index) + int64_t(action.count));
  Origins origins(loc, bound);
  for (auto [action, op] : llvm::zip_equal(actions, found->second))
    origins.add(rank, action, op);
  keepPlace(found->second.front()->template getParentOfType<Op>(), order);
  return origins;
}

Origins rondo::pipe::originsOf(const ExpandedSchedule *before, Location loc,
                               std::pair<int32_t, int32_t> link,
                               LinkOrderOp order) {
  return before
             ? originsOfLink(before->opOfMessage, before->schedule.linkOrders,
                             link, link.first, loc, order)
             : Origins(loc, /*microbatches=*/0);
}

Origins rondo::pipe::originsOf(const ExpandedSchedule *before, Location loc,
                               int32_t link, CopyOrderOp order) {
  return before ? originsOfLink(before->opOfCopy, before->schedule.copyOrders,
                                link, /*rank=*/-1, loc, order)
                : Origins(loc, /*microbatches=*/0);
}

/// The tasks of the schedule that the program is of.
static Origins tasksOf(ScheduleOp schedule, Location loc,
                       const Problem &problem) {
  Origins origins(loc, problem.microbatches);
  if (!Origins::mayBeKept(schedule))
    return origins;
  PlanOp plan = schedule.lookupPlan();
  const Replicas replicas = plan.getReplicas();
  const ReplicaNames names(plan, replicas);
  auto prototype = [&](Operation *inner) { return actionOf(inner, names); };
  Unroller unroller(plan, prototype);
  if (schedule.overlaps())
    unroller.setIterations(problem.iterations);
  for (RankOp rank : schedule.getRanks()) {
    const auto number = static_cast<int32_t>(rank.getRank());
    auto add = [&](Operation *inner, Action action) {
      origins.add(number, action, inner);
    };
    // The schedule has been checked, so it can be unrolled.
    if (failed(unroller.run(rank.getBody(), add)))
      return Origins(loc, problem.microbatches);
  }
  return origins;
}

Origins rondo::pipe::originsOf(ProgramOp op, const Problem &problem) {
  if (op.getRanks().empty())
    return tasksOf(op.lookupSchedule(), op.getLoc(), problem);
  Origins origins(op.getLoc(), problem.microbatches);
  if (!Origins::mayBeKept(op))
    return origins;
  for (RankOp rank : op.getRanks())
    origins.addRank(rank);
  forEachAction(op, problem,
                [&](int32_t rank, Operation *inner, Action action) {
                  origins.add(rank, action, inner);
                });
  return origins;
}
