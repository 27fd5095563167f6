//===- ShapeGroups.cpp - Ranks that plans of other shapes use -------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "plans/ShapeGroups.h"

#include "dialect/OffloadedParts.h"

#include "llvm/ADT/DenseMap.h"
#include "llvm/ADT/STLExtras.h"

#include <algorithm>
#include <numeric>

using namespace mlir;
using namespace rondo;
using namespace rondo::pipe;

static constexpr const char *searchAsWritten =
    ": `rondo search FILE -o found.json` searches for orders of the plan as "
    "written";

double ShapeGroup::partOfWork(size_t replica) const {
  if (!shares)
    return 1.0 / double(ranks.size());
  const ArrayRef<int64_t> parts = shares.asArrayRef();
  return double(parts[replica]) /
         double(std::accumulate(parts.begin(), parts.end(), int64_t(0)));
}

double ShapeGroup::partOfActivations() const {
  // A replica has its own micro-batches whole.
  if (isRoundRobin)
    return 1;
  double most = 0;
  for (size_t replica = 0; replica < ranks.size(); ++replica)
    most = std::max(most, partOfWork(replica));
  return most;
}

static bool areAlike(const ShapeGroup &group, StageOp stage) {
  return llvm::equal(group.ranks, stage.getRanks()) &&
         group.shares == stage.getSharesAttr() &&
         group.isRoundRobin == stage.getRoundRobin() &&
         group.sharded == stage.getShardedAttr();
}

/// Adds the group of each stage of a plan with replicas.
static LogicalResult addGroups(ArrayRef<StageOp> stages,
                               std::vector<ShapeGroup> &groups) {
  // [rank]: its group, and the first stage there.
  DenseMap<int64_t, std::pair<size_t, StageOp>> known;
  for (StageOp stage : stages) {
    const auto found = llvm::find_if(
        stage.getRanks(), [&](int64_t rank) { return known.contains(rank); });
    if (found == stage.getRanks().end()) {
      for (int64_t rank : stage.getRanks())
        known[rank] = {groups.size(), stage};
      groups.push_back({llvm::to_vector(stage.getRanks()),
                        stage.getSharesAttr(), stage.getRoundRobin(),
                        stage.getShardedAttr()});
      continue;
    }
    auto [group, other] = known[*found];
    if (areAlike(groups[group], stage))
      continue;
    InFlightDiagnostic error =
        stage.emitError()
        << "stage @" << stage.getSymName() << " is on " << stage.describeRanks()
        << ", and shares rank " << *found << " with stage @"
        << other.getSymName()
        << (llvm::equal(groups[group].ranks, stage.getRanks())
                ? ", which divides its samples or state in another way"
                : ", which is on " + other.describeRanks())
        << "; a search over placements takes stages that have all of their "
           "ranks in common, in one way, or none"
        << searchAsWritten;
    error.attachNote(other.getLoc())
        << "stage @" << other.getSymName() << " is here";
    return error;
  }
  return success();
}

static bool recomputesAll(StageOp stage) {
  return stage.getRecomputeAttr() &&
         llvm::all_of(stage.getLayers(), [&](Attribute name) {
           return stage.recomputes(cast<FlatSymbolRefAttr>(name).getAttr());
         });
}

/// Sets the layers that run their forward again.
static void addRecomputed(ArrayRef<StageOp> stages, ShapeGroups &groups) {
  for (StageOp stage : stages)
    for (FlatSymbolRefAttr name :
         stage.getLayers().getAsRange<FlatSymbolRefAttr>()) {
      if (stage.getRecomputeAttr() && stage.recomputes(name.getAttr()))
        groups.recomputed.insert(name.getAttr());
    }
}

/// Sets what of each layer may leave.
static LogicalResult addOffloaded(ArrayRef<StageOp> stages,
                                  ShapeGroups &groups) {
  StageOp first;
  for (StageOp stage : stages) {
    if (!stage.getOffloadAttr())
      continue;
    if (!first)
      first = stage;
    if (stage.getBefore() != first.getBefore()) {
      InFlightDiagnostic error =
          stage.emitError()
          << "stage @" << stage.getSymName() << " has before("
          << stringifyLoadBefore(stage.getBefore()) << "), stage @"
          << first.getSymName() << " before("
          << stringifyLoadBefore(first.getBefore())
          << "); a search over placements takes one for all stages that offload"
          << searchAsWritten;
      error.attachNote(first.getLoc())
          << "stage @" << first.getSymName() << " is here";
      return error;
    }
    groups.before = stage.getBefore();
    const ArrayAttr listed = stage.getOffloadAttr();
    for (auto entry : (listed.empty() ? stage.getLayers() : listed)
                          .getAsRange<FlatSymbolRefAttr>()) {
      const StringAttr layer = layerOfOffload(stage, entry).getAttr();
      // Without a list, what is recomputed keeps nothing that could leave.
      if (groups.before == pipe::LoadBefore::Recompute || !listed.empty() ||
          !stage.getRecomputeAttr() || !stage.recomputes(layer))
        groups.offloaded[layer].push_back(entry);
    }
  }
  return success();
}

/// Checks that stages recompute across stages wherever they could, or nowhere.
static LogicalResult addAcross(PlanOp plan, ArrayRef<StageOp> stages,
                               ShapeGroups &groups) {
  const auto across =
      llvm::find_if(stages, [](StageOp stage) { return stage.getAcross(); });
  if (across == stages.end())
    return success();
  groups.isAcross = true;
  for (auto [each, inputs] : llvm::zip_equal(stages, plan.getInputs())) {
    StageOp stage = each;
    const bool mayBe = !inputs.empty() && recomputesAll(stage) &&
                       llvm::all_of(inputs, [&](int32_t input) {
                         return recomputesAll(stages[input]);
                       });
    if (!mayBe || stage.getAcross())
      continue;
    InFlightDiagnostic error =
        stage.emitError()
        << "stage @" << stage.getSymName()
        << " recomputes from its own input, and stage @"
        << StageOp(*across).getSymName()
        << " across stages; a search over placements takes `across` on all "
           "stages whose input is recomputed, or on none"
        << searchAsWritten;
    error.attachNote(StageOp(*across).getLoc())
        << "stage @" << StageOp(*across).getSymName() << " is here";
    return error;
  }
  return success();
}

FailureOr<ShapeGroups> rondo::pipe::shapeGroups(PlanOp plan) {
  ShapeGroups shape;
  const SmallVector<StageOp, 0> stages = plan.getStages();
  const bool isReplicated = llvm::any_of(
      stages, [](StageOp stage) { return stage.getRanks().size() > 1; });
  const size_t ranks = plan.lookupCluster().getDevices().size();
  for (size_t rank = 0; rank < ranks && !isReplicated; ++rank)
    shape.groups.push_back({{static_cast<int64_t>(rank)}, {}, false, {}});
  addRecomputed(stages, shape);
  if ((isReplicated && failed(addGroups(stages, shape.groups))) ||
      failed(addOffloaded(stages, shape)) ||
      failed(addAcross(plan, stages, shape)))
    return failure();
  return shape;
}
