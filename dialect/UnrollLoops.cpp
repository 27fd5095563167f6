//===- UnrollLoops.cpp - Rolled ops to actions ----------------------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "dialect/Bridge.h"
#include "dialect/Loops.h"

#include <algorithm>
#include <limits>

using namespace mlir;
using namespace rondo;
using namespace rondo::pipe;

LogicalResult Unroller::read(Region &body, unsigned depth) {
  for (Operation &op : body.getOps()) {
    size_t self = nodes.size();
    nodes.emplace_back();
    nodes[self].op = &op;
    nodes[self].depth = depth;
    if (isa<ForOp, RepeatOp>(op)) {
      nodes[self].isLoop = true;
      if (auto loop = dyn_cast<ForOp>(op)) {
        nodes[self].lower = loop.getLower();
        nodes[self].step = loop.getStep();
        nodes[self].trips = loop.getTripCount();
      } else {
        const int64_t step = cast<RepeatOp>(op).getStep();
        nodes[self].step = step;
        nodes[self].trips = isOnce ? 1 : (iterations + step - 1) / step;
      }
      if (failed(read(op.getRegion(0), depth + 1)))
        return failure();
      nodes[self].end = nodes.size();
      nodes[self].isInnermost =
          std::none_of(nodes.begin() + self + 1, nodes.end(),
                       [](const Node &node) { return node.isLoop; });
      // Such a loop may have any number of trips.
      if (countActions(self + 1, nodes.size()) == 0)
        nodes[self].trips = 0;
      continue;
    }
    FailureOr<Action> action = prototype(&op);
    if (failed(action))
      return failure();
    nodes[self].action = *action;
    auto task = dyn_cast<IndexedOpInterface>(op);
    if (!task)
      continue;
    std::optional<LinearIndex> index = linearIndex(task.getMap());
    assert(index && "the verifier has seen the index");
    const bool isTask = action->traits().index == IndexMeaning::Microbatch;
    nodes[self].hasIndex = true;
    nodes[self].bound = isOnce ? maxMicrobatches
                        : iterations > 0
                            ? iterations * (isTask ? microbatches : 1)
                        : isTask ? microbatches
                                 : std::numeric_limits<int64_t>::max();
    nodes[self].constant = index->constant;
    for (auto [factor, value] : llvm::zip(index->factors, task.getIndices())) {
      // The variable's depth: the loops between its own and the rank.
      unsigned position = 0;
      Operation *owner = cast<BlockArgument>(value).getOwner()->getParentOp();
      for (owner = owner->getParentOp(); isa<ForOp, RepeatOp>(owner);
           owner = owner->getParentOp())
        ++position;
      nodes[self].terms.push_back({position, factor});
    }
  }
  return success();
}

/// The number of actions of the nodes; some number above maxActions if there
/// are too many.
int64_t Unroller::countActions(size_t begin, size_t end) const {
  int64_t total = 0;
  for (size_t i = begin; i < end && total <= maxActions;) {
    const Node &node = nodes[i];
    if (!node.isLoop) {
      ++total;
      ++i;
      continue;
    }
    // Both factors are at most 2^31.
    total += node.trips * countActions(i + 1, node.end);
    i = node.end;
  }
  return std::min(total, maxActions + 1);
}

/// Handles an index below 0 or not below the bound: emits an error, or succeeds
/// if the action is left out.
LogicalResult Unroller::checkLeftOut(const Node &node, int64_t index) {
  const ActionTraits &traits = node.action.traits();
  const bool isTask = traits.index == IndexMeaning::Microbatch;
  if (iterations > 0 && !isOnce && index >= node.bound)
    return success();
  // Far more than are under way anywhere, and what an action can hold.
  if (isOnce && index >= node.bound)
    return node.op->emitError()
           << (isTask ? "micro-batch " : "step ") << index
           << " is too far ahead; an order begins with numbers below "
           << maxMicrobatches;
  if (!isTask)
    return node.op->emitError()
           << (traits.movesState() ? "unit " : "step ") << index
           << " does not exist; " << (traits.movesState() ? "units" : "steps")
           << " are numbered from 0";
  return node.op->emitError()
             .append("micro-batch ", index, " does not exist")
             .attachNote(plan.getLoc())
         << "plan @" << plan.getSymName() << " has " << microbatches
         << " micro-batches, numbered from 0";
}

int64_t Unroller::indexOf(const Node &leaf) const {
  int64_t index = leaf.constant;
  for (auto [position, factor] : leaf.terms)
    index += variables[position] * factor;
  return index;
}

/// Runs an innermost loop whose variable has been set, unless some index may be
/// out of range. Most actions are in such loops.
template <typename Take>
bool Unroller::executeInnermost(size_t loop, Take &take) {
  const Node &node = nodes[loop];
  repeated.clear();
  for (size_t i = loop + 1; i < node.end; ++i) {
    const Node &leaf = nodes[i];
    repeated.push_back({leaf.op, leaf.action, 0});
    if (!leaf.hasIndex)
      continue;
    const int64_t first = indexOf(leaf);
    int64_t &step = repeated.back().step;
    for (auto [position, factor] : leaf.terms)
      if (position == node.depth)
        step += factor * node.step;
    const int64_t last = first + step * (node.trips - 1);
    if (std::min(first, last) < 0 || std::max(first, last) >= leaf.bound)
      return false;
    repeated.back().action.index = static_cast<uint64_t>(first);
  }
  for (int64_t trip = 0; trip < node.trips; ++trip)
    for (Repeated &each : repeated) {
      take(each.op, each.action);
      each.action.index += static_cast<uint64_t>(each.step);
    }
  return true;
}

template <typename Take>
LogicalResult Unroller::execute(size_t begin, size_t end, Take &take) {
  for (size_t i = begin; i < end;) {
    Node &node = nodes[i];
    if (!node.isLoop) {
      Action action = node.action;
      if (node.hasIndex) {
        const int64_t index = indexOf(node);
        if (index < 0 || index >= node.bound) {
          if (failed(checkLeftOut(node, index)))
            return failure();
          ++i;
          continue;
        }
        action.index = static_cast<uint64_t>(index);
      }
      take(node.op, action);
      ++i;
      continue;
    }
    variables[node.depth] = node.lower;
    if (!node.isInnermost || node.trips == 0 || !executeInnermost(i, take))
      for (int64_t trip = 0; trip < node.trips; ++trip) {
        if (failed(execute(i + 1, node.end, take)))
          return failure();
        variables[node.depth] += node.step;
      }
    i = node.end;
  }
  return success();
}

template <typename Take>
LogicalResult Unroller::runAll(Region &body, Take &take) {
  nodes.clear();
  microbatches = plan.getMicrobatches();
  if (failed(read(body, 0)))
    return failure();
  unsigned depth = 0;
  for (const Node &node : nodes)
    depth = std::max(depth, node.depth + 1);
  variables.assign(depth, 0);
  numActions += countActions(0, nodes.size());
  if (numActions > maxActions)
    return body.getParentOp()->emitError()
           << "more than " << maxActions
           << " actions up to here; check the bounds of its loops";
  return execute(0, nodes.size(), take);
}

LogicalResult Unroller::run(Region &body,
                            function_ref<void(Operation *, Action)> take) {
  return runAll(body, take);
}

LogicalResult Unroller::run(Region &body, Schedule &order,
                            std::vector<Operation *> *writers) {
  auto append = [&](Operation *op, Action action) {
    order.append(action);
    if (writers)
      writers->push_back(op);
  };
  return runAll(body, append);
}

void rondo::pipe::reserveLikeFirst(Schedule &order, int32_t numRanks,
                                   int64_t most,
                                   std::vector<Operation *> *writers) {
  const int64_t expected = std::min(order.numActions() * numRanks, most);
  order.reserve(expected);
  if (writers)
    writers->reserve(expected);
}
