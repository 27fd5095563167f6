//===- Loops.cpp - Rolled ops to actions and back -------------------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "dialect/Loops.h"
#include "dialect/Bridge.h"
#include "dialect/Roll.h"

#include "mlir/IR/AffineExpr.h"
#include "mlir/IR/AffineMap.h"
#include "mlir/IR/Threading.h"

#include <algorithm>
#include <limits>
#include <numeric>

using namespace mlir;
using namespace rondo;
using namespace rondo::pipe;

//===----------------------------------------------------------------------===//
// Unrolling
//===----------------------------------------------------------------------===//

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

/// Of an index below 0 or not below the bound: an error, or success where the
/// action is left out.
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

LogicalResult Unroller::run(Region &body, Schedule &order) {
  auto append = [&](Operation *, Action action) { order.append(action); };
  return runAll(body, append);
}

//===----------------------------------------------------------------------===//
// Writing loops
//===----------------------------------------------------------------------===//

namespace {

/// A loop around what is being written: its variable is first + step *
/// iteration.
struct OpenLoop {
  Value variable;
  int64_t first = 0, step = 1;
};

class LoopWriter {
public:
  LoopWriter(OpBuilder &builder, Location loc, int32_t rank, ActionWriter write)
      : builder(builder), loc(loc), rank(rank), write(write) {}

  /// Around all of it: the variable of a pipe.repeat, which counts iterations.
  void repeat(Value counts, int64_t microbatches) {
    iteration = counts;
    microbatchesEach = microbatches;
  }

  void writeAll(const std::vector<RollNode> &nodes) {
    for (const RollNode &node : nodes)
      node.count == 0 ? writeLeaf(node) : writeLoop(node);
  }

private:
  void writeLeaf(const RollNode &leaf);
  void writeLoop(const RollNode &node);

  OpBuilder &builder;
  Location loc;
  int32_t rank;
  ActionWriter write;
  SmallVector<OpenLoop> loops;
  Value iteration;
  int64_t microbatchesEach = 0;
};

/// What identifies an action, apart from its index.
uint64_t keyOf(Action action) {
  return action.kindBits | uint64_t(action.count) << 8 |
         uint64_t(action.subject) << 16;
}

Action actionOfKey(uint64_t key) {
  Action action(static_cast<ActionKind>(key & 0xff), key >> 16, 0);
  action.count = key >> 8 & 0xff;
  return action;
}

void LoopWriter::writeLeaf(const RollNode &leaf) {
  AffineExpr sum = builder.getAffineConstantExpr(0);
  int64_t constant = leaf.index;
  SmallVector<Value> operands;
  const Action action = actionOfKey(leaf.key);
  if (iteration) {
    const bool isTask = action.traits().index == IndexMeaning::Microbatch;
    sum = builder.getAffineDimExpr(0) * (isTask ? microbatchesEach : 1);
    operands.push_back(iteration);
  }
  for (auto [loop, stride] : llvm::zip(loops, leaf.strides)) {
    if (stride == 0)
      continue;
    int64_t factor = stride / loop.step;
    constant -= factor * loop.first;
    sum = sum + builder.getAffineDimExpr(operands.size()) * factor;
    operands.push_back(loop.variable);
  }
  AffineMap map = AffineMap::get(operands.size(), 0, sum + constant);
  write(builder, loc, rank, action, AffineMapAttr::get(map), operands);
}

/// Calls `visit` with each leaf under the node.
void forEachLeaf(const RollNode &node,
                 function_ref<void(const RollNode &)> visit) {
  if (node.count == 0)
    return visit(node);
  for (const RollNode &inner : node.body)
    forEachLeaf(inner, visit);
}

/// The variable runs over the micro-batches of the body's first task if
/// possible, so that this task reads `@s0[%i]`.
void LoopWriter::writeLoop(const RollNode &node) {
  size_t depth = loops.size();
  const RollNode *first = nullptr;
  int64_t divisor = 0;
  forEachLeaf(node, [&](const RollNode &leaf) {
    if (!first && leaf.strides[depth] != 0)
      first = &leaf;
    divisor = std::gcd(divisor, leaf.strides[depth]);
  });
  OpenLoop loop;
  if (first && first->strides[depth] > 0 && divisor == first->strides[depth]) {
    loop.step = divisor;
    bool isOutermost =
        std::all_of(first->strides.begin(), first->strides.begin() + depth,
                    [](int64_t stride) { return stride == 0; });
    if (isOutermost)
      loop.first = first->index;
  }
  auto op = ForOp::create(builder, loc, loop.first,
                          loop.first + loop.step * node.count, loop.step);
  loop.variable = op.getVariable();
  loops.push_back(loop);
  OpBuilder::InsertionGuard guard(builder);
  builder.setInsertionPointToEnd(&op.getBody().front());
  writeAll(node.body);
  loops.pop_back();
}

} // namespace

static std::vector<RollNode> rollActions(ActionRange actions) {
  std::vector<RollLeaf> leaves;
  leaves.reserve(actions.size());
  for (Action action : actions)
    leaves.push_back({keyOf(action), static_cast<int64_t>(action.index)});
  return roll(leaves);
}

void rondo::pipe::writeRolled(OpBuilder &builder, Location loc, int32_t rank,
                              ActionRange actions, ActionWriter write) {
  LoopWriter(builder, loc, rank, write).writeAll(rollActions(actions));
}

/// Makes an op for each rank, with a body by `writeBody`, apart from all others
/// until it is there.
static void
writeRanks(OpBuilder &builder, Location loc, int32_t count,
           function_ref<void(OpBuilder &, int32_t rank)> writeBody) {
  MLIRContext *context = builder.getContext();
  std::vector<Operation *> ranks(count);
  parallelFor(context, 0, ranks.size(), [&](size_t r) {
    const auto rank = static_cast<int32_t>(r);
    OpBuilder own(context);
    auto op = RankOp::create(own, loc, rank);
    enterBody(own, op);
    writeBody(own, rank);
    ranks[r] = op;
  });
  for (Operation *rank : ranks)
    builder.insert(rank);
}

void rondo::pipe::writeRanks(OpBuilder &builder, Location loc,
                             const Schedule &order, ActionWriter write) {
  ::writeRanks(builder, loc, order.numRanks(),
               [&](OpBuilder &own, int32_t rank) {
                 writeRolled(own, loc, rank, order.rank(rank), write);
               });
}

void rondo::pipe::writeRepeatingRanks(OpBuilder &builder, Location loc,
                                      const Repeating &order,
                                      int64_t microbatchesEach,
                                      ActionWriter write) {
  auto writeBody = [&](OpBuilder &own, int32_t rank) {
    writeRolled(own, loc, rank, order.opening.rank(rank), write);
    const ActionRange repeated = order.repeated.rank(rank);
    if (repeated.empty())
      return;
    auto op = RepeatOp::create(own, loc, int64_t(order.iterations));
    own.setInsertionPointToEnd(&op.getBody().front());
    LoopWriter writer(own, loc, rank, write);
    writer.repeat(op.getVariable(), microbatchesEach);
    writer.writeAll(rollActions(repeated));
  };
  ::writeRanks(builder, loc, order.opening.numRanks(), writeBody);
}

bool rondo::pipe::writeTask(OpBuilder &builder, Location loc, Action action,
                            FlatSymbolRefAttr stage, IntegerAttr replica,
                            AffineMapAttr map, ValueRange indices) {
  switch (action.kind()) {
  case ActionKind::Forward:
    ForwardOp::create(builder, loc, stage, map, indices, replica);
    return true;
  case ActionKind::InputGrad:
    InputGradOp::create(builder, loc, stage, map, indices, replica);
    return true;
  case ActionKind::WeightGrad:
    WeightGradOp::create(builder, loc, stage, map, indices, replica);
    return true;
  case ActionKind::Backward:
    BackwardOp::create(builder, loc, stage, map, indices, replica,
                       int64_t(action.count));
    return true;
  case ActionKind::Recompute:
    RecomputeOp::create(builder, loc, stage, map, indices, replica);
    return true;
  case ActionKind::Step:
    StepOp::create(builder, loc, stage, map, indices, replica);
    return true;
  case ActionKind::Unshard:
    UnshardOp::create(builder, loc, stage, map, indices, replica);
    return true;
  case ActionKind::Reshard:
    ReshardOp::create(builder, loc, stage, map, indices, replica);
    return true;
  case ActionKind::ReduceGrad:
    ReduceGradOp::create(builder, loc, stage, map, indices, replica);
    return true;
  default:
    return false;
  }
}
