//===- PlanShapes.cpp - Other ways to lay a model on a cluster ------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "dialect/Bridge.h"
#include "dialect/OffloadedParts.h"
#include "plans/Layers.h"
#include "plans/PlanFactory.h"
#include "plans/PlanFigures.h"
#include "plans/ShapeGroups.h"
#include "schedule/families/Placement.h"
#include "schedule/partition/Partition.h"

#include <algorithm>

using namespace mlir;
using namespace rondo;
using namespace rondo::pipe;

/// `4 or 8`: divisors of `samples` on both sides of a number that is none.
static std::string nextDivisors(int64_t samples, int64_t number) {
  int64_t below = std::min(number, samples);
  while (samples % below != 0)
    --below;
  const int64_t last = std::min(samples, 16 * number);
  int64_t above = number + 1;
  while (above <= last && samples % above != 0)
    ++above;
  std::string text = std::to_string(below);
  if (above <= last)
    text += " or " + std::to_string(above);
  return text;
}

/// Lets `plan`, a copy of the base, run as many samples in `after`
/// micro-batches; what is wrong, if anything.
static std::optional<Fault>
resizeMicrobatches(PlanOp plan, PlanFactory &factory, int64_t after) {
  const int64_t before = plan.getMicrobatches();
  if (before == after)
    return std::nullopt;
  if (plan.isUneven())
    return makeFault<FaultKind::PlanRefused>(
        "its micro-batches differ, so their number is that of the lists");
  ModelOp model = plan.lookupModel();
  const IntegerAttr ofPlan = plan.getSamplesAttr();
  const int64_t samples =
      (ofPlan ? ofPlan.getInt() : model.getStatedSamples()) * before;
  // Synthetic layers take what they state for all samples. The figures of
  // others follow the plan's samples, if it states them.
  const bool resizesModel =
      !ofPlan || llvm::any_of(model.getLayers(), [](LayerOp layer) {
        return bool(layer.getSyntheticAttr());
      });
  for (int64_t divided :
       {samples, resizesModel ? model.getStatedSamples() * before : 0})
    if (divided % after != 0)
      return makeFault<FaultKind::UnevenSamples>(divided, after,
                                                 nextDivisors(divided, after));
  if (LayerOp layer = model.findLayerWithoutSize(samples / after))
    return makeFault<FaultKind::PlanRefused>(
        ("layer @" + layer.getSymName() + " states its sizes for " +
         layer.getCustomAttr().describeSamples() + ", not for " +
         Twine(samples / after))
            .str());
  for (LayerOp layer : model.getLayers())
    if (CustomAttr custom = layer.getCustomAttr();
        custom && custom.getSamples().empty())
      return makeFault<FaultKind::BodyOfOneSize>(layer.getSymName().str(),
                                                 before);
  if (resizesModel)
    plan.setModelAttr(
        FlatSymbolRefAttr::get(factory.resizedModel(after).getSymNameAttr()));
  if (ofPlan)
    plan.setSamplesAttr(
        Builder(plan.getContext()).getI64IntegerAttr(samples / after));
  plan.setMicrobatches(after);
  return std::nullopt;
}

/// The `recompute` attribute of a stage of these layers: the names of those
/// that are among `listed`, none if all are; null if no layer is.
static ArrayAttr listOf(PlanOp plan, ArrayRef<LayerOp> layers,
                        const llvm::DenseSet<Attribute> &listed) {
  Builder builder(plan.getContext());
  SmallVector<Attribute> names;
  for (LayerOp layer : layers)
    if (listed.contains(layer.getSymNameAttr()))
      names.push_back(FlatSymbolRefAttr::get(layer.getSymNameAttr()));
  if (names.empty())
    return {};
  if (names.size() == layers.size())
    names.clear();
  return builder.getArrayAttr(names);
}

/// Whether something of a layer leaves if `offload` lists this entry: with
/// before(weight_grad) some layers have nothing for W alone. Sets both
/// attributes of the stage.
static bool leavesBy(StageOp stage, LayerOp layer, Attribute entry,
                     pipe::LoadBefore before) {
  stage.setOffloadAttr(Builder(stage.getContext()).getArrayAttr({entry}));
  stage.setBefore(before);
  return pipe::offloadedParts(stage, layer) != 0;
}

/// The `offload` attribute of a stage of these layers, which has all others.
static ArrayAttr offloadOf(StageOp stage, bool hasInputs,
                           ArrayRef<LayerOp> layers,
                           const ShapeGroups &groups) {
  Builder builder(stage.getContext());
  if (groups.before == pipe::LoadBefore::Recompute)
    return !groups.offloaded.empty() && stage.getRecomputeAttr() &&
                   pipe::keepsCheckpoint(stage, hasInputs)
               ? builder.getArrayAttr({})
               : ArrayAttr();
  SmallVector<Attribute> names;
  size_t whole = 0;
  for (LayerOp layer : layers)
    for (Attribute entry : groups.offloaded.lookup(layer.getSymNameAttr())) {
      if (!leavesBy(stage, layer, entry, groups.before))
        continue;
      names.push_back(entry);
      whole += entry == FlatSymbolRefAttr::get(layer.getSymNameAttr());
    }
  if (names.empty())
    return {};
  if (whole == layers.size())
    names.clear();
  return builder.getArrayAttr(names);
}

/// Puts stages of `begins` in place of the plan's own.
static void writeStages(PlanOp plan, const ShapeGroups &groups,
                        const std::vector<int32_t> &groupOfStage,
                        const std::vector<int32_t> &begins) {
  plan.getBody().front().clear();
  SmallVector<LayerOp> layers = plan.lookupModel().getLayers();
  bool isFedAgain = false;
  for (size_t s = 0; s < groupOfStage.size(); ++s) {
    const ShapeGroup &group = groups.groups[groupOfStage[s]];
    const auto own =
        ArrayRef<LayerOp>(layers).slice(begins[s], begins[s + 1] - begins[s]);
    StageOp stage = addStage(plan, own, group.ranks);
    if (group.shares)
      stage.setSharesAttr(group.shares);
    stage.setRoundRobin(group.isRoundRobin);
    stage.setShardedAttr(group.sharded);
    const ArrayAttr recompute = listOf(plan, own, groups.recomputed);
    if (recompute)
      stage.setRecomputeAttr(recompute);
    const bool isWhole = recompute && recompute.empty();
    stage.setAcross(groups.isAcross && isWhole && isFedAgain);
    isFedAgain = isWhole;
    const SmallVector<DeviceOp, 0> devices = plan.lookupCluster().getDevices();
    if (llvm::all_of(group.ranks, [&](int64_t rank) {
          return bool(DeviceOp(devices[rank]).getHostLink());
        }))
      stage.setOffloadAttr(offloadOf(stage, s > 0, own, groups));
    stage.setBefore(stage.getOffloadAttr() ? groups.before
                                           : pipe::LoadBefore::InputGrad);
  }
}

/// Returns the rank of each stage, for `ranks` ranks.
static std::vector<int32_t> ranksOfStages(const PlanShape &shape,
                                          size_t ranks) {
  const Chunks chunks{static_cast<int32_t>(ranks), shape.chunks,
                      shape.placing == Placing::V ||
                          shape.placing == Placing::Wave};
  std::vector<int32_t> rankOfStage(chunks.ranks * chunks.count);
  for (int32_t c = 0; c < chunks.count; ++c)
    for (int32_t r = 0; r < chunks.ranks; ++r)
      rankOfStage[chunks.stage(c, r)] = r;
  return rankOfStage;
}

/// Whether the stages of `plan` lie on the groups as `shape` says, however its
/// layers are cut.
static bool hasPlacing(PlanOp plan, const ShapeGroups &groups,
                       const PlanShape &shape) {
  if (shape.placing == Placing::AsWritten)
    return true;
  return llvm::equal(
      plan.getStages(), ranksOfStages(shape, groups.groups.size()),
      [&](StageOp stage, int32_t group) {
        return llvm::equal(stage.getRanks(), groups.groups[group].ranks);
      });
}

/// Appends a group with the time of all samples there, by layer, and makes
/// `bytes` of each layer at least what it takes there. `isEven`: all groups
/// have the same part of the work in each replica, so times are those of one
/// device.
static void addGroup(PlanOp plan, const ShapeGroups &groups,
                     const ShapeGroup &group, int64_t held, bool isEven,
                     PartitionInput &input) {
  SmallVector<DeviceOp> devices = plan.lookupCluster().getDevices();
  SmallVector<LayerOp> layers = plan.lookupModel().getLayers();
  int64_t cap = noMemoryCap;
  std::vector<int64_t> &work = input.workNs.emplace_back(layers.size(), 0);
  input.bytes.resize(layers.size(), 0);
  for (auto [replica, rank] : llvm::enumerate(group.ranks)) {
    cap = std::min<int64_t>(cap, devices[rank].getMemoryBytes());
    const double part = isEven ? 1 : group.partOfWork(replica);
    for (auto [l, load] : llvm::enumerate(layerLoads(plan, rank))) {
      const bool isAgain =
          groups.recomputed.contains(layers[l].getSymNameAttr());
      const int64_t ns = load.workNs + (isAgain ? load.forwardNs : 0);
      work[l] = std::max(work[l], isEven ? ns : int64_t(double(ns) * part));
      // Recomputed activations are held for one micro-batch at a time. Sizes
      // are checked to have room for all micro-batches.
      const int64_t activations = (isAgain ? 1 : held) * load.activationBytes;
      input.bytes[l] =
          std::max(input.bytes[l], load.stateBytes / group.shards() +
                                       int64_t(double(activations) *
                                               group.partOfActivations()));
    }
  }
  input.memoryCaps.push_back(cap);
}

/// Cuts the layers of `plan`, a copy of `base`; what is wrong, if anything.
static std::optional<Fault> cutLayers(PlanOp plan, PlanOp base,
                                      const ShapeGroups &groups,
                                      const PlanShape &shape, double &gap) {
  if (!plan.isChain())
    return makeFault<FaultKind::NotAChain>(base.getSymName().str());
  PartitionInput input;
  input.rankOfStage = ranksOfStages(shape, groups.groups.size());
  const ShapeGroup &first = groups.groups.front();
  const bool isEven = llvm::all_of(groups.groups, [&](const ShapeGroup &group) {
    return !group.shares && group.ranks.size() == first.ranks.size();
  });
  for (const ShapeGroup &group : groups.groups)
    addGroup(plan, groups, group, shape.held, isEven, input);
  const Result<Partition> partition = partitionLayers(input, shape.maxLabels);
  if (!partition)
    return partition.fault();
  const auto &cut = *partition;
  writeStages(plan, groups, input.rankOfStage, cut.begins);
  gap = double(cut.busiestNs - cut.leastNs) /
        double(std::max<int64_t>(cut.leastNs, 1));
  return std::nullopt;
}

/// Lets the first stages recompute all their layers. Of these, only checkpoints
/// could leave, which stay.
static void recomputeFirst(PlanOp plan, int32_t count) {
  const ArrayAttr all = Builder(plan.getContext()).getArrayAttr({});
  for (StageOp stage : plan.getStages()) {
    if (count-- <= 0)
      return;
    stage.setRecomputeAttr(all);
    stage.removeOffloadAttr();
    stage.setBefore(pipe::LoadBefore::InputGrad);
    // resolveStages() sets them again.
    stage.removeCostsAttr();
    stage.removeBuffersAttr();
  }
}

/// The plan of a shape, or why there is none.
static Result<ShapedPlan> makeShaped(PlanFactory &factory,
                                     const ShapeGroups &groups,
                                     const PlanShape &shape) {
  OwningOpRef<PlanOp> owned = factory.copyOfBase();
  PlanOp plan = *owned;
  if (std::optional<Fault> fault =
          resizeMicrobatches(plan, factory, shape.microbatches))
    return std::move(*fault);
  if (std::optional<UnsoundSize> size =
          findUnsoundSize(plan.lookupModel(), plan))
    return std::move(size->fault);
  ShapedPlan shaped;
  if (shape.placing != Placing::AsWritten)
    if (std::optional<Fault> fault =
            cutLayers(plan, factory.base(), groups, shape, shaped.cutGap))
      return std::move(*fault);
  recomputeFirst(plan, shape.recomputed);
  // Replicas need samples of each micro-batch.
  if (std::optional<Fault> fault = factory.check(plan))
    return std::move(*fault);
  resolveStages(plan);
  Result<size_t> id = factory.keep(std::move(owned), shaped.problem);
  if (!id)
    return std::move(id.fault());
  shaped.id = *id;
  // A chosen plan is one that compiles, so what weights are not declared is 0.
  takeState(plan, shaped.problem);
  shaped.figures = figuresOf(plan);
  shaped.begins.push_back(0);
  for (StageOp stage : plan.getStages()) {
    shaped.ranks.push_back(stage.getRanks()[0]);
    shaped.begins.push_back(shaped.begins.back() + stage.getLayers().size());
  }
  return shaped;
}

PlanSpace rondo::pipe::shapeSpace(PlanFactory &factory) {
  PlanOp base = factory.base();
  const ShapeGroups groups = *shapeGroups(base);
  PlanSpace space;
  space.name = base.getSymName().str();
  space.ranks = groups.groups.size();
  space.layers = base.lookupModel().getLayers().size();
  space.make = [&factory, groups](const PlanShape &shape) {
    return makeShaped(factory, groups, shape);
  };
  space.isWrittenAs = [base, groups](const PlanShape &shape) {
    return hasPlacing(base, groups, shape);
  };
  return space;
}
