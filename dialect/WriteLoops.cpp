//===- WriteLoops.cpp - Actions to rolled ops -----------------------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "dialect/Loops.h"
#include "dialect/Roll.h"

#include "mlir/IR/AffineExpr.h"
#include "mlir/IR/AffineMap.h"
#include "mlir/IR/Threading.h"

#include <algorithm>
#include <numeric>

using namespace mlir;
using namespace rondo;
using namespace rondo::pipe;

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
                            FlatSymbolRefAttr stage, IntegerAttr replicaIndex,
                            AffineMapAttr map, ValueRange indices) {
  switch (action.kind()) {
  case ActionKind::Forward:
    ForwardOp::create(builder, loc, stage, map, indices, replicaIndex);
    return true;
  case ActionKind::InputGrad:
    InputGradOp::create(builder, loc, stage, map, indices, replicaIndex);
    return true;
  case ActionKind::WeightGrad:
    WeightGradOp::create(builder, loc, stage, map, indices, replicaIndex);
    return true;
  case ActionKind::Backward:
    BackwardOp::create(builder, loc, stage, map, indices, replicaIndex,
                       int64_t(action.count));
    return true;
  case ActionKind::Recompute:
    RecomputeOp::create(builder, loc, stage, map, indices, replicaIndex);
    return true;
  case ActionKind::Step:
    StepOp::create(builder, loc, stage, map, indices, replicaIndex);
    return true;
  case ActionKind::Unshard:
    UnshardOp::create(builder, loc, stage, map, indices, replicaIndex);
    return true;
  case ActionKind::Reshard:
    ReshardOp::create(builder, loc, stage, map, indices, replicaIndex);
    return true;
  case ActionKind::ReduceGrad:
    ReduceGradOp::create(builder, loc, stage, map, indices, replicaIndex);
    return true;
  default:
    return false;
  }
}
