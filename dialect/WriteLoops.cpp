//===- WriteLoops.cpp - Actions to rolled ops -----------------------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "dialect/Loops.h"
#include "dialect/Origins.h"
#include "dialect/Roll.h"

#include "mlir/IR/AffineExpr.h"
#include "mlir/IR/AffineMap.h"
#include "mlir/IR/Threading.h"
#include "llvm/ADT/SetVector.h"

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

using Nodes = std::vector<RollNode>;
using OpSet = llvm::SmallSetVector<Operation *, 4>;

class LoopWriter {
public:
  LoopWriter(OpBuilder &builder, const Origins &origins, int32_t rank,
             ActionWriter write)
      : builder(builder), origins(origins), rank(rank), write(write) {}

  /// Around all of it: the variable of a pipe.repeat, which counts iterations.
  void repeat(Value counts, int64_t microbatches) {
    iteration = counts;
    microbatchesEach = microbatches;
  }

  /// Rolls the actions and writes them.
  void writeRolled(ActionRange actions);

private:
  Nodes rollActions(ActionRange actions);
  const OpSet &collect(const RollNode &node);
  Location locationOf(const Nodes &siblings, size_t position) const;
  Location locationOf(const RollNode &loop) const;
  Location fuse(const OpSet &ops) const;
  void writeAll(const Nodes &nodes) {
    for (size_t i = 0; i < nodes.size(); ++i)
      nodes[i].count == 0 ? writeLeaf(nodes, i) : writeLoop(nodes[i]);
  }
  void writeLeaf(const Nodes &siblings, size_t position);
  void writeLoop(const RollNode &node);

  OpBuilder &builder;
  const Origins &origins;
  int32_t rank;
  ActionWriter write;
  SmallVector<OpenLoop> loops;
  Value iteration;
  int64_t microbatchesEach = 0;
  /// The ops whose actions a node has; empty if there are none to keep.
  llvm::DenseMap<const RollNode *, OpSet> sources;
  /// Trips of the loops around the node that collect() is at.
  SmallVector<int64_t> trips;
  /// Number of equal actions before a leaf, indexed by the bits of its key from
  /// firstAttributeBit on. Empty: no action is repeated.
  SmallVector<int32_t> repeatOf;
};

/// Identifies an action, apart from its index. The bits from
/// firstAttributeBit on distinguish what has other attributes.
constexpr int firstSubjectBit = 16,
              firstAttributeBit = firstSubjectBit + action_layout::subjectBits;

uint64_t keyOf(Action action) {
  return action.kindBits | uint64_t(action.count) << 8 |
         uint64_t(action.subject) << firstSubjectBit;
}

Action actionOfKey(uint64_t key) {
  constexpr uint64_t subjects = (uint64_t(1) << action_layout::subjectBits) - 1;
  Action action(static_cast<ActionKind>(key & 0xff),
                key >> firstSubjectBit & subjects, 0);
  action.count = key >> 8 & 0xff;
  return action;
}

/// The indices of a leaf in `trips` of the loops around it.
void forEachIndex(int64_t index, ArrayRef<int64_t> trips,
                  ArrayRef<int64_t> strides,
                  function_ref<void(int64_t)> visit) {
  if (trips.empty())
    return visit(index);
  for (int64_t i = 0; i < trips.front(); ++i, index += strides.front())
    forEachIndex(index, trips.drop_front(), strides.drop_front(), visit);
}

const OpSet &LoopWriter::collect(const RollNode &node) {
  OpSet ops;
  if (node.count == 0) {
    Action action = actionOfKey(node.key);
    const int32_t repeat =
        repeatOf.empty() ? 0 : repeatOf[node.key >> firstAttributeBit];
    forEachIndex(node.index, trips, node.strides, [&](int64_t index) {
      action.index = static_cast<uint64_t>(index);
      if (Operation *op = origins.find(rank, action, repeat))
        ops.insert(op);
    });
  } else {
    trips.push_back(node.count);
    for (const RollNode &inner : node.body)
      ops.insert_range(collect(inner));
    trips.pop_back();
  }
  return sources[&node] = std::move(ops);
}

Location LoopWriter::fuse(const OpSet &ops) const {
  SmallVector<Location> locations;
  for (Operation *op : ops)
    locations.push_back(op->getLoc());
  return FusedLoc::get(builder.getContext(), locations);
}

/// The location of the ops whose actions a leaf has. An action without one,
/// such as a message, takes that of the task that it serves: the next one if it
/// prepares the task, else the one before.
Location LoopWriter::locationOf(const Nodes &siblings, size_t position) const {
  if (origins.isEmpty())
    return origins.getLoc();
  const auto size = static_cast<int64_t>(siblings.size());
  const ActionKind kind = actionOfKey(siblings[position].key).kind();
  const int64_t step =
      kind == ActionKind::Recv || kind == ActionKind::Unshard ? 1 : -1;
  for (int64_t direction : {step, -step})
    for (int64_t i = position; i >= 0 && i < size; i += direction) {
      auto found = sources.find(&siblings[i]);
      if (found != sources.end() && !found->second.empty())
        return fuse(found->second);
    }
  return origins.getLoc();
}

/// The location of the earlier loops at the same depth, else of the ops in it.
Location LoopWriter::locationOf(const RollNode &loop) const {
  if (origins.isEmpty())
    return origins.getLoc();
  OpSet replaced;
  for (Operation *op : sources.find(&loop)->second) {
    SmallVector<Operation *> around;
    for (Operation *parent = op->getParentOp(); isa_and_nonnull<ForOp>(parent);
         parent = parent->getParentOp())
      around.push_back(parent);
    replaced.insert(loops.size() < around.size()
                        ? around[around.size() - 1 - loops.size()]
                        : op);
  }
  return replaced.empty() ? origins.getLoc() : fuse(replaced);
}

void LoopWriter::writeLeaf(const Nodes &siblings, size_t position) {
  const RollNode &leaf = siblings[position];
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
  Operation *op = write(builder, locationOf(siblings, position), rank, action,
                        AffineMapAttr::get(map), operands);
  if (!origins.haveAttributes())
    return;
  if (const OpSet &from = sources.find(&leaf)->second; !from.empty())
    op->setDiscardableAttrs(from.front()->getDiscardableAttrDictionary());
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
  auto op = ForOp::create(builder, locationOf(node), loop.first,
                          loop.first + loop.step * node.count, loop.step);
  loop.variable = op.getVariable();
  loops.push_back(loop);
  OpBuilder::InsertionGuard guard(builder);
  builder.setInsertionPointToEnd(&op.getBody().front());
  writeAll(node.body);
  loops.pop_back();
}

Nodes LoopWriter::rollActions(ActionRange actions) {
  std::vector<RollLeaf> leaves;
  leaves.reserve(actions.size());
  for (Action action : actions)
    leaves.push_back({keyOf(action), static_cast<int64_t>(action.index)});
  if (!origins.haveAttributes() && !origins.haveRepeats())
    return roll(leaves);
  // Only ops with the same attributes roll into one, and of equal actions each
  // its own.
  llvm::SmallDenseMap<std::pair<DictionaryAttr, int32_t>, uint64_t> numbers;
  llvm::DenseMap<uint64_t, int32_t> seen;
  repeatOf.assign(1, 0);
  numbers.try_emplace({DictionaryAttr::get(builder.getContext()), 0}, 0);
  for (size_t i = 0; i < leaves.size(); ++i) {
    const int32_t repeat =
        origins.haveRepeats() ? seen[Origins::keyOf(actions[i])]++ : 0;
    Operation *op = origins.find(rank, actions[i], repeat);
    if (!op)
      continue;
    const auto [number, isNew] = numbers.try_emplace(
        {op->getDiscardableAttrDictionary(), repeat}, numbers.size());
    if (isNew)
      repeatOf.push_back(repeat);
    leaves[i].key |= number->second << firstAttributeBit;
  }
  return roll(leaves);
}

void LoopWriter::writeRolled(ActionRange actions) {
  const Nodes nodes = rollActions(actions);
  for (size_t i = 0; !origins.isEmpty() && i < nodes.size(); ++i)
    collect(nodes[i]);
  writeAll(nodes);
}

} // namespace

void rondo::pipe::writeRolled(OpBuilder &builder, const Origins &origins,
                              int32_t rank, ActionRange actions,
                              ActionWriter write) {
  LoopWriter(builder, origins, rank, write).writeRolled(actions);
}

/// Makes an op for each rank, with a body by `writeBody`, apart from all others
/// until it is there.
static void
writeRanks(OpBuilder &builder, const Origins &origins, int32_t count,
           function_ref<void(OpBuilder &, int32_t rank)> writeBody) {
  MLIRContext *context = builder.getContext();
  std::vector<Operation *> ranks(count);
  parallelFor(context, 0, ranks.size(), [&](size_t r) {
    const auto rank = static_cast<int32_t>(r);
    OpBuilder own(context);
    auto op = RankOp::create(own, origins.getLoc(), rank);
    if (RankOp before = origins.findRank(rank))
      keepPlace(before, op);
    enterBody(own, op);
    writeBody(own, rank);
    ranks[r] = op;
  });
  for (Operation *rank : ranks)
    builder.insert(rank);
}

void rondo::pipe::writeRanks(OpBuilder &builder, const Origins &origins,
                             const Schedule &order, ActionWriter write) {
  ::writeRanks(builder, origins, order.numRanks(),
               [&](OpBuilder &own, int32_t rank) {
                 writeRolled(own, origins, rank, order.rank(rank), write);
               });
}

void rondo::pipe::writeRepeatingRanks(OpBuilder &builder,
                                      const Origins &origins,
                                      const Repeating &order,
                                      int64_t microbatchesEach,
                                      ActionWriter write) {
  auto writeBody = [&](OpBuilder &own, int32_t rank) {
    writeRolled(own, origins, rank, order.opening.rank(rank), write);
    const ActionRange repeated = order.repeated.rank(rank);
    if (repeated.empty())
      return;
    auto op =
        RepeatOp::create(own, origins.getLoc(), int64_t(order.iterations));
    if (RankOp before = origins.findRank(rank))
      for (RepeatOp repeat : before.getBody().getOps<RepeatOp>())
        keepPlace(repeat, op);
    own.setInsertionPointToEnd(&op.getBody().front());
    LoopWriter writer(own, origins, rank, write);
    writer.repeat(op.getVariable(), microbatchesEach);
    writer.writeRolled(repeated);
  };
  ::writeRanks(builder, origins, order.opening.numRanks(), writeBody);
}

Operation *rondo::pipe::writeTask(OpBuilder &builder, Location loc,
                                  Action action, FlatSymbolRefAttr stage,
                                  IntegerAttr replicaIndex, AffineMapAttr map,
                                  ValueRange indices) {
  switch (action.kind()) {
  case ActionKind::Forward:
    return ForwardOp::create(builder, loc, stage, map, indices, replicaIndex);
  case ActionKind::InputGrad:
    return InputGradOp::create(builder, loc, stage, map, indices, replicaIndex);
  case ActionKind::WeightGrad:
    return WeightGradOp::create(builder, loc, stage, map, indices,
                                replicaIndex);
  case ActionKind::Backward:
    return BackwardOp::create(builder, loc, stage, map, indices, replicaIndex,
                              int64_t(action.count));
  case ActionKind::Recompute:
    return RecomputeOp::create(builder, loc, stage, map, indices, replicaIndex);
  case ActionKind::Save:
    return SaveOp::create(builder, loc, stage, map, indices, replicaIndex);
  case ActionKind::Load:
    return LoadOp::create(builder, loc, stage, map, indices, replicaIndex);
  case ActionKind::Step:
    return StepOp::create(builder, loc, stage, map, indices, replicaIndex);
  case ActionKind::Unshard:
    return UnshardOp::create(builder, loc, stage, map, indices, replicaIndex);
  case ActionKind::Reshard:
    return ReshardOp::create(builder, loc, stage, map, indices, replicaIndex);
  case ActionKind::ReduceGrad:
    return ReduceGradOp::create(builder, loc, stage, map, indices,
                                replicaIndex);
  default:
    return nullptr;
  }
}
