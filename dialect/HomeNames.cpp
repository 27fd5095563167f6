//===- HomeNames.cpp - Homes by the names of their stages -----------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "dialect/Loops.h"

#include "kinds/Counts.h"

using namespace mlir;
using namespace rondo;
using namespace rondo::pipe;

HomeNames::HomeNames(PlanOp plan, const Homes &homes) : homes(homes) {
  for (auto [number, stage] : llvm::enumerate(plan.getStages())) {
    names.push_back(FlatSymbolRefAttr::get(stage.getSymNameAttr()));
    numbers[stage.getSymNameAttr()] = static_cast<int32_t>(number);
  }
}

int32_t HomeNames::stage(FlatSymbolRefAttr name) const {
  auto it = numbers.find(name.getAttr());
  return it == numbers.end() ? -1 : it->second;
}

FailureOr<int32_t> HomeNames::home(Operation *op, FlatSymbolRefAttr name,
                                   IntegerAttr replica, int32_t rank) const {
  // The verifier has refused names that are no stage's.
  const int32_t number = std::max(0, stage(name));
  if (!replica)
    return homes.numberOn(number, rank);
  const int64_t count = homes.of(number).size();
  if (replica.getInt() < 0 || replica.getInt() >= count)
    return op->emitError() << "stage " << name << " has no home "
                           << replica.getInt() << "; it has "
                           << countOf(count, "home") << ", numbered from 0";
  return homes.numberOf(number, static_cast<int32_t>(replica.getInt()));
}

IntegerAttr HomeNames::number(int32_t home) const {
  return IntegerAttr::get(IntegerType::get(names.front().getContext(), 64),
                          homes[home].replica);
}

IntegerAttr HomeNames::replicaOf(int32_t home, int32_t rank) const {
  return homes.numberOn(homes[home].stage, rank) == home ? IntegerAttr()
                                                         : number(home);
}

int32_t rondo::pipe::executingRank(Operation *op) {
  for (; op; op = op->getParentOp()) {
    if (auto rank = dyn_cast<RankOp>(op))
      return static_cast<int32_t>(rank.getRank());
    if (auto link = dyn_cast<LinkOrderOp>(op))
      return static_cast<int32_t>(link.getFrom());
  }
  return 0;
}

FailureOr<Action> rondo::pipe::actionOf(Operation *op, const HomeNames &names) {
  if (auto step = dyn_cast<HomeOpInterface>(op)) {
    FailureOr<int32_t> home = names.home(
        op, step.getStageAttr(), step.getReplicaAttr(), executingRank(op));
    if (failed(home))
      return failure();
    return Action(step.getActionKind(), *home, 0);
  }
  auto task = cast<TaskOpInterface>(op);
  FailureOr<int32_t> home = names.home(
      op, task.getStageAttr(), task.getReplicaAttr(), executingRank(op));
  if (failed(home))
    return failure();
  Action action(task.getActionKind(), *home, 0);
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
