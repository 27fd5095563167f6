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

/// All parts that a layer has.
static uint64_t partsOf(LayerOp layer) {
  uint64_t parts =
      runtime::allSavedParts |
      runtime::savedPartsOf(static_cast<runtime::LayerKind>(layer.getKind()));
  if (CustomAttr custom = layer.getCustomAttr())
    for (size_t k = 0; k < custom.getSaved().size(); ++k)
      parts |= runtime::bitOfListed(static_cast<int32_t>(k));
  return parts;
}

/// The set of the layer's part of this name; 0: it has none.
static uint64_t findPart(LayerOp layer, StringRef name) {
  if (CustomAttr custom = layer.getCustomAttr())
    for (auto [k, part] : llvm::enumerate(custom.getSaved()))
      if (part.getName() == name)
        return runtime::bitOfListed(static_cast<int32_t>(k));
  return runtime::findSavedPart(name.str().c_str()) & partsOf(layer);
}

/// The parts that a layer's entries list.
static uint64_t listedParts(StageOp stage, LayerOp layer) {
  const auto name = FlatSymbolRefAttr::get(layer.getSymNameAttr());
  if (stage.getOffloadAttr().empty())
    return runtime::allSavedParts;
  uint64_t parts = 0;
  for (auto entry : stage.getOffloadAttr().getAsRange<FlatSymbolRefAttr>())
    if (entry == name)
      parts |= runtime::allSavedParts;
    else if (layerOfOffload(stage, entry) == name)
      parts |= findPart(layer, partOf(entry, name));
  return parts;
}

/// The parts that only W reads. A custom body may read in I whatever its layer
/// does not list otherwise.
static uint64_t partsOfWeightGrad(LayerOp layer) {
  if (layer.getSyntheticAttr())
    return bitOf(runtime::Part::ForWeightGrad);
  CustomAttr custom = layer.getCustomAttr();
  if (!custom)
    return runtime::onlyForWeightGrad & partsOf(layer);
  uint64_t parts = 0;
  for (auto [k, part] : llvm::enumerate(custom.getSaved()))
    if (part.getReadBy() == ReadBy::WeightGrad)
      parts |= runtime::bitOfListed(static_cast<int32_t>(k));
  return parts;
}

/// The parts among `listed` that I does not read, so that they may come back as
/// late as before W.
static uint64_t partsUntilWeightGrad(LayerOp layer, uint64_t listed) {
  const bool hasAll = listed & bitOf(runtime::Part::ForWeightGrad);
  const uint64_t parts =
      partsOfWeightGrad(layer) & (hasAll ? ~uint64_t(0) : listed);
  return parts ? parts | runtime::leavesUntilWeightGrad : 0;
}

uint64_t rondo::pipe::offloadedParts(StageOp stage, LayerOp layer) {
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
  const uint64_t parts = listedParts(stage, layer);
  return before == rondo::pipe::LoadBefore::InputGrad
             ? parts
             : partsUntilWeightGrad(layer, parts);
}

bool StageOp::offloads(StringAttr layer) {
  const ArrayAttr names = getOffloadAttr();
  return names && !recomputes(layer) &&
         (names.empty() || llvm::any_of(names.getAsRange<FlatSymbolRefAttr>(),
                                        [&](FlatSymbolRefAttr entry) {
                                          const FlatSymbolRefAttr of =
                                              layerOfOffload(*this, entry);
                                          return of && of.getAttr() == layer;
                                        }));
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

static SmallVector<std::string> namesOfEach(LayerOp layer, uint64_t parts) {
  SmallVector<std::string> names;
  for (int part = 0; part < runtime::numSavedParts; ++part)
    if (parts & (uint64_t(1) << part))
      names.push_back(runtime::savedPartNames[part]);
  if (CustomAttr custom = layer.getCustomAttr())
    for (auto [k, part] : llvm::enumerate(custom.getSaved()))
      if (parts & runtime::bitOfListed(static_cast<int32_t>(k)))
        names.push_back(part.getName().str());
  return names;
}

bool rondo::pipe::areCheckpoints(uint64_t parts) {
  return (parts & runtime::checkpointLeaves) != 0;
}

SmallVector<std::string> rondo::pipe::namesOfParts(LayerOp layer,
                                                   uint64_t parts) {
  if ((parts & runtime::allSavedParts) == runtime::allSavedParts)
    return {""};
  return namesOfEach(layer, parts);
}

/// `qkv, attention`
static std::string listOfParts(LayerOp layer, uint64_t parts) {
  return llvm::join(namesOfEach(layer, parts), ", ");
}

/// An entry names a part that the layer has, and that is not needed before it
/// comes back.
static LogicalResult verifyPart(StageOp stage, LayerOp layer,
                                FlatSymbolRefAttr entry) {
  const auto name = FlatSymbolRefAttr::get(layer.getSymNameAttr());
  const bool isWhole = entry == name;
  const uint64_t part =
      isWhole ? runtime::allSavedParts : findPart(layer, partOf(entry, name));
  const bool isKnown = part != 0;
  if (isKnown && (stage.getBefore() != rondo::pipe::LoadBefore::WeightGrad ||
                  partsUntilWeightGrad(layer, part) != 0))
    return success();
  InFlightDiagnostic error = stage.emitError()
                             << "stage @" << stage.getSymName();
  if (!isKnown) {
    error << " offloads " << entry << ", but layer " << name
          << " saves no such part; its parts are "
          << listOfParts(layer, partsOf(layer));
  } else {
    error << " has before(weight_grad), but the input gradient of layer "
          << name << " reads ";
    if (isWhole)
      error << "what it saves";
    else
      error << entry;
    if (const uint64_t late = partsOfWeightGrad(layer))
      error << "; its weight gradient alone reads " << listOfParts(layer, late);
    else
      error << "; leave it out of the list of `offload`";
  }
  error.attachNote(layer.getLoc()) << "layer " << name << " is here";
  return error;
}

static LogicalResult verifyParts(StageOp stage, ModelOp model) {
  uint64_t all = 0;
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

/// Reports before(recompute) on a stage that keeps no checkpoint. A stage with
/// costs may state a checkpoint of its own.
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
