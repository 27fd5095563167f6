//===- ReplicaNames.cpp - Replicas by the names of their stages -----------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "dialect/Loops.h"

#include "kinds/Counts.h"

using namespace mlir;
using namespace rondo;
using namespace rondo::pipe;

ReplicaNames::ReplicaNames(PlanOp plan, const Replicas &replicas)
    : replicas(replicas) {
  for (auto [number, stage] : llvm::enumerate(plan.getStages())) {
    names.push_back(FlatSymbolRefAttr::get(stage.getSymNameAttr()));
    numbers[stage.getSymNameAttr()] = static_cast<int32_t>(number);
  }
}

int32_t ReplicaNames::stage(FlatSymbolRefAttr name) const {
  auto it = numbers.find(name.getAttr());
  return it == numbers.end() ? -1 : it->second;
}

FailureOr<int32_t> ReplicaNames::replica(Operation *op, FlatSymbolRefAttr name,
                                         IntegerAttr replicaIndex,
                                         int32_t rank) const {
  // The verifier has refused names that are no stage's.
  const int32_t number = std::max(0, stage(name));
  if (!replicaIndex)
    return replicas.numberOn(number, rank);
  const int64_t count = replicas.of(number).size();
  if (replicaIndex.getInt() < 0 || replicaIndex.getInt() >= count)
    return op->emitError() << "stage " << name << " has no replica "
                           << replicaIndex.getInt() << "; it has "
                           << countOf(count, "replica") << ", numbered from 0";
  return replicas.numberOf(number, static_cast<int32_t>(replicaIndex.getInt()));
}

IntegerAttr ReplicaNames::number(int32_t replica) const {
  return IntegerAttr::get(IntegerType::get(names.front().getContext(), 64),
                          replicas[replica].index);
}

IntegerAttr ReplicaNames::indexOf(int32_t replica, int32_t rank) const {
  return replicas.numberOn(replicas[replica].stage, rank) == replica
             ? IntegerAttr()
             : number(replica);
}

int32_t rondo::pipe::executingRank(Operation *op) {
  for (; op; op = op->getParentOp()) {
    if (auto rank = dyn_cast<RankOp>(op))
      return static_cast<int32_t>(rank.getRank());
    if (auto link = dyn_cast<LinkOrderOp>(op))
      return static_cast<int32_t>(link.getFrom());
    if (isa<CopyOrderOp>(op))
      return -1;
  }
  return 0;
}

FailureOr<Action> rondo::pipe::actionOf(Operation *op,
                                        const ReplicaNames &names) {
  auto task = cast<ReplicaOpInterface>(op);
  FailureOr<int32_t> replica = names.replica(
      op, task.getStageAttr(), task.getReplicaAttr(), executingRank(op));
  if (failed(replica))
    return failure();
  Action action(task.getActionKind(), *replica, 0);
  if (auto backward = dyn_cast<BackwardOp>(op))
    action.count = static_cast<uint64_t>(backward.getCount());
  return action;
}

FailureOr<std::vector<RankOp>>
rondo::pipe::ranksByNumber(ArrayRef<RankOp> ranks, int32_t numRanks,
                           Operation *owner) {
  std::vector<RankOp> result(numRanks);
  for (RankOp rank : ranks) {
    if (rank.getRank() >= numRanks)
      return rank.emitError()
                 .append("rank ", rank.getRank(), " does not exist")
                 .attachNote(owner->getLoc())
             << "there " << (numRanks == 1 ? "is " : "are ")
             << countOf(numRanks, "rank") << ", numbered from 0";
    result[rank.getRank()] = rank;
  }
  return result;
}
