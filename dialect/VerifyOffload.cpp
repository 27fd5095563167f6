//===- VerifyOffload.cpp - What of a stage may leave its device -----------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "dialect/OffloadedParts.h"
#include "dialect/SourceRules.h"

#include "runtime/model/saved_part_names.h"

#include "llvm/ADT/STLExtras.h"
#include "llvm/ADT/StringExtras.h"

using namespace mlir;
using namespace rondo::pipe;

namespace runtime = rondo::runtime;

FlatSymbolRefAttr rondo::pipe::layerOfOffload(StageOp stage,
                                              FlatSymbolRefAttr entry) {
  if (llvm::is_contained(stage.getLayers(), entry))
    return entry;
  // Names may have dots themselves.
  FlatSymbolRefAttr longest;
  for (auto layer : stage.getLayers().getAsRange<FlatSymbolRefAttr>())
    if (entry.getValue().starts_with((layer.getValue() + ".").str()) &&
        (!longest || layer.getValue().size() > longest.getValue().size()))
      longest = layer;
  return longest;
}

/// The name of the part; empty if the entry is the layer.
static StringRef partOf(FlatSymbolRefAttr name, FlatSymbolRefAttr layer) {
  return name.getValue().drop_front(layer.getValue().size()).ltrim('.');
}

/// The parts that a layer's entries list.
static uint32_t listedParts(StageOp stage, FlatSymbolRefAttr layer) {
  ArrayAttr names = stage.getOffloadAttr();
  if (!names)
    return 0;
  if (names.empty())
    return runtime::allSavedParts;
  uint32_t parts = 0;
  for (auto name : names.getAsRange<FlatSymbolRefAttr>())
    if (name == layer)
      parts |= runtime::allSavedParts;
    else if (layerOfOffload(stage, name) == layer)
      parts |= runtime::findSavedPart(partOf(name, layer).str().c_str());
  return parts;
}

/// What comes back for W, of what is listed: what I does not read. A custom
/// body may read all in I.
static uint32_t partsUntilWeightGrad(LayerOp layer, uint32_t listed) {
  if (layer.getCustomAttr())
    return 0;
  const uint32_t all = bitOf(runtime::Part::ForWeightGrad);
  uint32_t parts = listed & all;
  if (!layer.getSyntheticAttr())
    parts =
        runtime::onlyForWeightGrad & (parts ? ~uint32_t(0) : listed) &
        runtime::savedPartsOf(static_cast<runtime::LayerKind>(layer.getKind()));
  return parts ? parts | runtime::leavesUntilWeightGrad : 0;
}

uint32_t rondo::pipe::offloadedParts(StageOp stage, LayerOp layer) {
  const auto name = FlatSymbolRefAttr::get(layer.getSymNameAttr());
  const rondo::pipe::LoadBefore before = stage.getBefore();
  if (before == rondo::pipe::LoadBefore::Recompute) {
    // Nothing is kept for a segment's later stages.
    const bool isFed = stage.getAcross() && stage.getLayers()[0] == name;
    return stage.getOffloadAttr() && stage.recomputes(name.getAttr()) && !isFed
               ? runtime::checkpointLeaves
               : 0;
  }
  if (!stage.offloads(name.getAttr()))
    return 0;
  const uint32_t parts = listedParts(stage, name);
  return before == rondo::pipe::LoadBefore::InputGrad
             ? parts
             : partsUntilWeightGrad(layer, parts);
}

bool StageOp::offloads(StringAttr layer) {
  return !recomputes(layer) &&
         listedParts(*this, FlatSymbolRefAttr::get(layer)) != 0;
}

/// An entry of the list is a layer of the stage that keeps its activations, or
/// a part of these.
static LogicalResult verifyEntry(StageOp stage, FlatSymbolRefAttr name) {
  const FlatSymbolRefAttr layer = layerOfOffload(stage, name);
  if (!layer)
    return stage.emitError()
           << "stage @" << stage.getSymName() << " offloads layer " << name
           << ", which is not one of its layers";
  if (stage.recomputes(layer.getAttr()))
    return stage.emitError()
           << "stage @" << stage.getSymName() << " offloads layer " << layer
           << ", which it recomputes: such a layer keeps nothing that could "
              "leave";
  if (layer != name && llvm::is_contained(stage.getOffloadAttr(), layer))
    return stage.emitError()
           << "stage @" << stage.getSymName() << " offloads layer " << layer
           << " and its part " << name << ": list the layer or its parts";
  return success();
}

LogicalResult rondo::pipe::verifyOffload(StageOp stage) {
  const rondo::pipe::LoadBefore before = stage.getBefore();
  const auto costs = stage.getCosts();
  const bool statesBytes = costs && !costs->getOffloadBytes().empty();
  ArrayAttr names = stage.getOffloadAttr();
  if (!names) {
    if (before != rondo::pipe::LoadBefore::InputGrad)
      return stage.emitError()
             << "stage @" << stage.getSymName() << " has before("
             << stringifyLoadBefore(before) << "), but no offload";
    if (statesBytes)
      return stage.emitError() << "stage @" << stage.getSymName()
                               << " has offload_bytes, but no offload";
    return success();
  }
  if (before == rondo::pipe::LoadBefore::Recompute) {
    if (!stage.getRecomputeAttr())
      return stage.emitError()
             << "stage @" << stage.getSymName()
             << " has before(recompute), but does not recompute";
    if (!names.empty())
      return stage.emitError()
             << "stage @" << stage.getSymName()
             << " has before(recompute): its checkpoints leave, so leave out "
                "the list of layers";
    return success();
  }
  llvm::SmallDenseSet<Attribute> seen;
  for (auto name : names.getAsRange<FlatSymbolRefAttr>()) {
    if (failed(verifyEntry(stage, name)))
      return failure();
    if (!seen.insert(name).second)
      return stage.emitError()
             << "stage @" << stage.getSymName() << " lists "
             << (layerOfOffload(stage, name) == name ? "layer " : "") << name
             << " twice to offload";
  }
  if (llvm::all_of(stage.getLayers(), [&](Attribute name) {
        return stage.recomputes(cast<FlatSymbolRefAttr>(name).getAttr());
      }))
    return stage.emitError()
           << "stage @" << stage.getSymName()
           << " offloads, but recomputes all of its layers, which keep nothing "
              "but checkpoints: write before(recompute) to let these leave";
  if (costs && !names.empty() && !statesBytes)
    return stage.emitError()
           << "stage @" << stage.getSymName()
           << " offloads some layers, and its costs state no offload_bytes";
  return success();
}

static SmallVector<std::string> namesOfEach(uint32_t parts) {
  SmallVector<std::string> names;
  for (int part = 0; part < runtime::numSavedParts; ++part)
    if (parts & (uint32_t(1) << part))
      names.push_back(runtime::savedPartNames[part]);
  return names;
}

bool rondo::pipe::areCheckpoints(uint32_t parts) {
  return (parts & runtime::checkpointLeaves) != 0;
}

SmallVector<std::string> rondo::pipe::namesOfParts(uint32_t parts) {
  if ((parts & runtime::allSavedParts) == runtime::allSavedParts)
    return {""};
  return namesOfEach(parts);
}

/// `qkv, attention`
static std::string listOfParts(uint32_t parts) {
  return llvm::join(namesOfEach(parts), ", ");
}

/// An entry names a part that the layer has, and that is not needed before it
/// comes back.
static LogicalResult verifyPart(StageOp stage, LayerOp layer,
                                FlatSymbolRefAttr entry) {
  const auto name = FlatSymbolRefAttr::get(layer.getSymNameAttr());
  const uint32_t known =
      runtime::allSavedParts |
      runtime::savedPartsOf(static_cast<runtime::LayerKind>(layer.getKind()));
  const bool isWhole = entry == name;
  const uint32_t part =
      isWhole ? runtime::allSavedParts
              : runtime::findSavedPart(partOf(entry, name).str().c_str());
  const bool isKnown = (part & known) != 0;
  if (isKnown && (stage.getBefore() != rondo::pipe::LoadBefore::WeightGrad ||
                  partsUntilWeightGrad(layer, part) != 0))
    return success();
  InFlightDiagnostic error = stage.emitError()
                             << "stage @" << stage.getSymName();
  if (!isKnown) {
    error << " offloads " << entry << ", but layer " << name
          << " saves no such part; its parts are " << listOfParts(known);
  } else {
    error << " has before(weight_grad), but the input gradient of layer "
          << name << " reads ";
    if (isWhole)
      error << "what it saves";
    else
      error << entry;
    const uint32_t late =
        partsUntilWeightGrad(layer, runtime::allSavedParts) & known;
    if (late)
      error << "; its weight gradient alone reads " << listOfParts(late);
    else
      error << "; leave it out of the list of `offload`";
  }
  error.attachNote(layer.getLoc()) << "layer " << name << " is here";
  return error;
}

static LogicalResult verifyParts(StageOp stage, ModelOp model) {
  uint32_t all = 0;
  for (LayerOp layer : model.getLayers()) {
    const auto name = FlatSymbolRefAttr::get(layer.getSymNameAttr());
    if (!llvm::is_contained(stage.getLayers(), name))
      continue;
    for (auto entry : stage.getOffloadAttr().getAsRange<FlatSymbolRefAttr>())
      if (layerOfOffload(stage, entry) == name &&
          failed(verifyPart(stage, layer, entry)))
        return failure();
    all |= offloadedParts(stage, layer);
  }
  if (all)
    return success();
  return stage.emitError()
         << "stage @" << stage.getSymName() << " has before("
         << stringifyLoadBefore(stage.getBefore())
         << "), but the input gradients of its layers read all that these "
            "save: write before(input_grad)";
}

bool rondo::pipe::keepsCheckpoint(StageOp stage, bool hasInputs) {
  bool isFirst = true, wasRecomputed = false;
  for (auto name : stage.getLayers().getAsRange<FlatSymbolRefAttr>()) {
    const bool isRecomputed = stage.recomputes(name.getAttr());
    if (isRecomputed && !wasRecomputed &&
        (!isFirst || (hasInputs && !stage.getAcross())))
      return true;
    isFirst = false;
    wasRecomputed = isRecomputed;
  }
  return false;
}

/// What costs state may be anything.
static LogicalResult verifyCheckpoints(StageOp stage, bool hasInputs) {
  if (keepsCheckpoint(stage, hasInputs) || stage.getCosts())
    return success();
  return stage.emitError()
         << "stage @" << stage.getSymName()
         << " has before(recompute), but keeps no checkpoint that could leave: "
            "its R begins with "
         << (hasInputs ? "what the stages that feed it recompute"
                       : "the data of the model")
         << "; leave out offload";
}

LogicalResult rondo::pipe::verifyOffload(PlanOp plan, ModelOp model,
                                         ClusterOp cluster) {
  const SmallVector<DeviceOp, 0> devices = cluster.getDevices();
  SmallVector<StageOp, 0> stages = plan.getStages();
  for (auto [each, inputs] : llvm::zip_equal(stages, plan.getInputs())) {
    StageOp stage = each;
    if (!stage.getOffloadAttr())
      continue;
    if (failed(stage.getBefore() == rondo::pipe::LoadBefore::Recompute
                   ? verifyCheckpoints(stage, !inputs.empty())
                   : verifyParts(stage, model)))
      return failure();
    for (int64_t rank : stage.getRanks()) {
      DeviceOp device = devices[rank];
      if (device.getHostLink())
        continue;
      InFlightDiagnostic error =
          stage.emitError()
          << "stage @" << stage.getSymName() << " offloads, but device @"
          << device.getSymName() << " of rank " << rank << " has no host_link";
      error.attachNote(device.getLoc())
          << "add host_link = <latency_ns = ..., bytes_per_us = ...> here";
      return error;
    }
  }
  return success();
}
