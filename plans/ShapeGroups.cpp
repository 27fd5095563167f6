//===- ShapeGroups.cpp - Ranks that plans of other shapes use -------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "plans/ShapeGroups.h"

#include "llvm/ADT/DenseMap.h"
#include "llvm/ADT/STLExtras.h"

using namespace mlir;
using namespace rondo;
using namespace rondo::pipe;

FailureOr<ShapeGroups> rondo::pipe::shapeGroups(PlanOp plan) {
  ShapeGroups groups;
  SmallVector<StageOp, 0> stages = plan.getStages();
  if (llvm::all_of(
          stages, [](StageOp stage) { return stage.getRanks().size() == 1; })) {
    const size_t ranks = plan.lookupCluster().getDevices().size();
    for (size_t rank = 0; rank < ranks; ++rank)
      groups.ranks.push_back({static_cast<int64_t>(rank)});
    return groups;
  }
  constexpr const char *rule =
      "; a search over placements takes stages on one rank, or stages sharded "
      "in one way over groups of ranks";
  DenseMap<int64_t, size_t> groupOf;
  for (StageOp stage : stages) {
    if (!stage.getShardedAttr() || stage.getShares())
      return stage.emitError()
             << "stage @" << stage.getSymName() << " is on "
             << stage.describeRanks() << rule << searchAsWritten;
    if (!groups.sharded)
      groups.sharded = stage.getShardedAttr();
    if (stage.getShardedAttr() != groups.sharded ||
        stage.getRanks().size() != stages.front().getRanks().size()) {
      InFlightDiagnostic error =
          stage.emitError()
          << "stage @" << stage.getSymName() << " is on "
          << stage.describeRanks() << " and does not shard its state as stage @"
          << stages.front().getSymName() << " does" << rule << searchAsWritten;
      error.attachNote(stages.front().getLoc())
          << "stage @" << stages.front().getSymName() << " is here";
      return error;
    }
    const auto known = groupOf.find(stage.getRanks()[0]);
    if (known != groupOf.end() &&
        llvm::equal(groups.ranks[known->second], stage.getRanks()))
      continue;
    for (int64_t rank : stage.getRanks())
      if (!groupOf.insert({rank, groups.ranks.size()}).second)
        return stage.emitError()
               << "stage @" << stage.getSymName() << " is on "
               << stage.describeRanks() << ", but rank " << rank
               << " shares the state of another stage with other ranks" << rule
               << searchAsWritten;
    groups.ranks.push_back(llvm::to_vector(stage.getRanks()));
  }
  return groups;
}
